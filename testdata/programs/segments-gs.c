/* Programs that use gs themselves, by every way to set it. */
/* expect stdout: ok */
#include "check.h"
#include <sys/auxv.h>
static uint64_t area[2][8];
static inline uint64_t at(void) { uint64_t v; __asm__ volatile("mov %%gs:16, %0" : "=r"(v)); return v; }
static void *f(void *p) {
	CHECK(syscall(SYS_arch_prctl, 0x1001, area[1]) == 0); /* ARCH_SET_GS; 0x1004 gets it */
	for (int i = 0; i < 100; i++) CHECK(at() == 222);
	return p;
}
int main(void) {
	area[0][2] = 111, area[1][2] = 222;
	CHECK(syscall(SYS_arch_prctl, 0x1001, area[0]) == 0);
	uint64_t base = 0;
	CHECK(syscall(SYS_arch_prctl, 0x1004, &base) == 0 && base == (uint64_t)area[0]);
	for (int i = 0; i < 100; i++) CHECK(at() == 111);
	pthread_t t;
	pthread_create(&t, 0, f, 0);
	pthread_join(t, 0);
	CHECK(at() == 111);
	/* stores and read-modify-writes by way of gs, one of them locked */
	__asm__ volatile("movq $5, %%gs:24; addq $2, %%gs:24; lock incl %%gs:24" : : : "memory");
	CHECK(area[0][3] == 8);
	/* the flags live across an access by gs: jz must not jump, je must */
	uint64_t v = 0;
	__asm__ volatile("xor %%eax, %%eax; add $1, %%eax; mov %%gs:(%1), %0; jz 1f; cmp $1, %%eax; je 2f; 1: ud2; 2:" : "=&r"(v) : "r"(16l) : "rax", "cc");
	CHECK(v == 111);
	if (getauxval(AT_HWCAP2) & 2) { /* FSGSBASE */
		uint64_t was;
		__asm__ volatile("rdgsbase %0" : "=r"(was));
		CHECK(was == (uint64_t)area[0]);
		__asm__ volatile("wrgsbase %0" : : "r"(area[1]));
		CHECK(at() == 222);
		__asm__ volatile("rdgsbase %0" : "=r"(v));
		CHECK(v == (uint64_t)area[1]);
		uint64_t fs, x;
		__asm__ volatile("rdfsbase %0" : "=r"(fs));
		__asm__ volatile("mov %%fs:0, %0" : "=r"(x));
		CHECK(fs == x);
		__asm__ volatile("wrfsbase %1; mov %%fs:16, %0; wrfsbase %2" : "=&r"(x) : "r"(area[0]), "r"(fs) : "memory");
		CHECK(x == 111);
	}
	/* a child is detached with the base that its parent had */
	pid_t c = fork();
	if (c == 0) _exit(at() != area[0][2] && at() != area[1][2]);
	int st;
	CHECK(wait(&st) == c && st == 0);
	return OK();
}
