/* A program with a second thread that makes code at an address that it chooses: in pages that it protects and in one that may be
 * written all the time. What the code does is said by the argument, so that each run has other code where the last had its own.
 * A library of its own code calls what was made, and is called by it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define PLACE ((unsigned char *)0x7e0000000000)
enum { PAGE = 4096, PAGES = 8 };
static int value;
__attribute__((noinline)) static int twice(int n) { return 2 * n; }
/* mov eax, value; ret, or: mov edi, value; sub rsp, 8; call twice; add rsp, 8; ret */
static int emit(unsigned char *p, int v, int calls) {
	if (!calls) {
		p[0] = 0xb8, memcpy(p + 1, &v, 4), p[5] = 0xc3;
		return 6;
	}
	unsigned char c[] = {0xbf, 0, 0, 0, 0, 0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
	uint64_t to = (uint64_t)twice;
	memcpy(c + 1, &v, 4), memcpy(c + 11, &to, 8);
	memcpy(p, c, sizeof c);
	return sizeof c;
}
static long sum;
static void *work(void *arg) {
	unsigned char *p = arg;
	for (int i = 0; i < PAGES; i++) {
		int rwx = i == PAGES - 1, prot = PROT_READ | PROT_WRITE | (rwx ? PROT_EXEC : 0);
		if (mprotect(p + i * PAGE, PAGE, prot)) exit(2);
		for (int k = 0; k < 40; k++) emit(p + i * PAGE + 64 * k, value + k, k % 2);
		if (!rwx && mprotect(p, PAGE * (i + 1), PROT_READ | PROT_EXEC)) exit(3);
		for (int k = 0; k < 40; k++) sum += ((int (*)(void))(p + i * PAGE + 64 * k))();
		if (rwx) { /* written once more where it is */
			emit(p + i * PAGE, value + 5, 0);
			sum += ((int (*)(void))(p + i * PAGE))();
		}
	}
	return 0;
}
int main(int argc, char **argv) {
	value = argc > 1 ? atoi(argv[1]) : 1;
	unsigned char *p = mmap(PLACE, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != PLACE) return 1;
	pthread_t th;
	if (pthread_create(&th, 0, work, p) || pthread_join(th, 0)) return 4;
	printf("%ld\n", sum);
	return 0;
}
