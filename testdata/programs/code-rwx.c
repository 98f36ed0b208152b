/* Code that is rewritten in place, without a system call. */
/* expect stdout: ok */
#include "check.h"
typedef int fn(int);
static void emit(volatile unsigned char *p, int add) {
	p[0] = 0x8d, p[1] = 0x87, p[2] = (unsigned char)add, p[3] = (unsigned char)(add >> 8), p[4] = 0, p[5] = 0, p[6] = 0xc3;
}
static volatile int stop;
static fn *other;
static void *f(void *q) {
	while (!stop) CHECK(other(1) == 43);
	return q;
}
int main(void) {
	unsigned char *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 200; i++) {
		emit(p + 4092, i);
		emit(p, i * 2);
		for (int k = 0; k < 2; k++) CHECK(((fn *)(p + 4092))(k) == i + k && ((fn *)p)(k) == 2 * i + k);
	}
	/* by a system call, which writes where the program may */
	int fd[2];
	CHECK(pipe(fd) == 0);
	for (int i = 0; i < 20; i++) {
		unsigned char c[7];
		emit(c, 3000 + i);
		CHECK(write(fd[1], c, 7) == 7 && read(fd[0], p, 7) == 7);
		CHECK(((fn *)p)(5) == 3005 + i);
	}
	/* while another thread runs code on the same page */
	emit(p + 512, 42);
	other = (fn *)(p + 512);
	pthread_t t;
	pthread_create(&t, 0, f, 0);
	for (int i = 0; i < 300; i++) {
		emit(p, i);
		CHECK(((fn *)p)(7) == i + 7);
	}
	stop = 1;
	pthread_join(t, 0);
	return OK();
}
