/* Four coroutines, each on a stack of its own mapping, wait for each other in work, 400 calls in all; a handler on an alternate stack, above the thread's with an argument, calls leaf within sig.
 * Threads take turns with coroutines in moved.
 *
 * 400 calls of work, 500 of leaf, 100 of sig and 40 of moved: all return. */
/* flags: -pthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define N __attribute__((noinline))

static ucontext_t back, c[4];
static int cur;

N int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }

N int work(int n) {
	int k = cur;
	swapcontext(&c[k], &back);
	return n + leaf(0);
}

static void body(int k) {
	int s = 0;
	for (int i = 0; i < 100; i++) s += work(1000 * k + i);
	printf("%d\n", s);
}

static void *stack(void) {
	char *p = mmap(0, 3 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p + (1 << 16), 1 << 16, PROT_READ | PROT_WRITE);
	return p + (1 << 16);
}

static void make(ucontext_t *u, void (*f)(void), int k, ucontext_t *then) {
	getcontext(u);
	u->uc_stack.ss_sp = stack();
	u->uc_stack.ss_size = 1 << 16;
	u->uc_link = then;
	makecontext(u, f, 1, k);
}

static void handler(int s) { leaf(s); }

N int sig(int n) {
	raise(SIGUSR1);
	return n + 1;
}

/* A coroutine that goes on in another thread. */
static ucontext_t mover, here;

N int moved(int n) {
	swapcontext(&mover, &here);
	return n + 1;
}

static void moving(int k) {
	for (int i = 0; i < 40; i++) k += moved(i);
	printf("%d\n", k);
}

static void *resume(void *p) {
	swapcontext(&here, &mover);
	return p;
}

int main(int argc, char **argv) {
	void *at = argc > 1 ? (void *)0x7fffe0000000 : (void *)0x10000000;
	stack_t st = {.ss_sp = mmap(at, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = 1 << 20};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaltstack(&st, 0);
	sigaction(SIGUSR1, &sa, 0);
	for (int i = 0; i < 50; i++) sig(i);
	for (int k = 0; k < 4; k++) make(&c[k], (void (*)(void))body, k, &back);
	for (int r = 0; r < 101; r++)
		for (int k = 0; k < 4; k++) {
			cur = k;
			swapcontext(&back, &c[k]);
		}
	for (int i = 0; i < 50; i++) sig(i);
	make(&mover, (void (*)(void))moving, 0, &here);
	for (int i = 0; i < 41; i++) {
		pthread_t t;
		if (i % 2) {
			resume(0);
		} else {
			pthread_create(&t, 0, resume, 0);
			pthread_join(t, 0);
		}
	}
	puts("done");
}
