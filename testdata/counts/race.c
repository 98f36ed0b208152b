/* Two threads write the same words, and a third adds up what it reads of them: what
 * each instruction finds is decided by chance. Prints the words' addresses and the
 * sums; internal/acceptance compares them with the recorded values. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
enum { TIMES = 20000 };
static struct { long xadd, inc, adc, store; __attribute__((aligned(16))) long pair[2]; } w;
static volatile int ready;

__attribute__((noinline)) static void race(void) {
	for (int i = 0; i < TIMES; i++) {
		long one = 1;
		asm volatile("lock xaddq %0, %1" : "+r"(one), "+m"(w.xadd) : : "cc");
		asm volatile("lock incq %0" : "+m"(w.inc) : : "cc");
		asm volatile("stc; lock adcq $0, %0" : "+m"(w.adc) : : "cc");
		asm volatile("movq %1, %0" : "=m"(w.pair[0]) : "r"((long)i));
	}
}

__attribute__((noinline)) static void reads(long sums[2]) {
	long sum = 0, vector[2] __attribute__((aligned(16))) = {0, 0};
	for (int i = 0; i < TIMES; i++) {
		if (i % 16 == 0)
			sched_yield();
		asm volatile("addq %1, %0" : "+r"(sum) : "m"(w.inc) : "cc");
		asm volatile("movdqa %0, %%xmm1; paddq %1, %%xmm1; movdqa %%xmm1, %0"
			: "+m"(vector) : "m"(w.pair) : "xmm1");
	}
	sums[0] = sum;
	sums[1] = vector[0];
}

static void *writer(void *p) {
	__sync_fetch_and_add(&ready, 1);
	while (ready < 3)
		;
	race();
	return p;
}

static void *reader(void *p) {
	__sync_fetch_and_add(&ready, 1);
	while (ready < 3)
		;
	reads(p);
	return p;
}

int main(void) {
	pthread_t t[3];
	long sums[2];
	pthread_create(&t[0], 0, writer, 0);
	pthread_create(&t[1], 0, writer, 0);
	pthread_create(&t[2], 0, reader, sums);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf("%lx %lx %lx %lx %ld %ld\n", (long)&w.xadd, (long)&w.inc, (long)&w.adc, (long)w.pair, sums[0], sums[1]);
	return w.xadd != 2 * TIMES || w.inc != 2 * TIMES || w.adc != 2 * TIMES;
}
