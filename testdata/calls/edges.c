// edges.c enters functions in every way that there is, each a number of times that is the same in every run: by direct and indirect calls and jumps, by
// jumps under a condition, by falling into them, by signals, from several threads, in a child and in another program.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// many targets of one indirect call, so that entries of a table are taken from others
#define F(n) __attribute__((noinline)) static int f##n(int x) { return x * n + 1; }
#define TEN(m, d) m(d##0) m(d##1) m(d##2) m(d##3) m(d##4) m(d##5) m(d##6) m(d##7) m(d##8) m(d##9)
#define ALL(m) TEN(m, 1) TEN(m, 2) TEN(m, 3) TEN(m, 4) TEN(m, 5) TEN(m, 6) TEN(m, 7) TEN(m, 8)
ALL(F)
#define P(n) f##n,
static int (*volatile many[])(int) = {ALL(P)};
#define MANY (int)(sizeof many / sizeof many[0])

// way tells by flags, and gives back what its callees were entered with: code that counts must change none.
long tails(long n, void *to);
long falls(long n);
long flags(void *to);
long loops(long n);
long target(long n);
__asm__(
	".text\n"
	".type tails, @function\ntails:\n"	// a conditional jump into another function, a direct one, an indirect one
	"	mov %rdi, %rax\n	test $3, %rdi\n	jz target\n"
	"	test $1, %rdi\n	jz 1f\n	jmp target2\n"
	"1:	jmp *%rsi\n"
	".size tails, .-tails\n"
	".type target, @function\ntarget:\n	add $1, %rax\n	ret\n.size target, .-target\n"
	".type target2, @function\ntarget2:\n	add $2, %rax\n	ret\n.size target2, .-target2\n"
	".type falls, @function\nfalls:\n	mov %rdi, %rax\n	test $1, %rdi\n	jnz 1f\n	add $5, %rax\n"
	"	jmp into\n1:	add $7, %rax\n"
	".size falls, .-falls\n"
	".type into, @function\ninto:\n	add $9, %rax\n	ret\n.size into, .-into\n"
	".type flags, @function\nflags:\n	xor %eax, %eax\n	mov $0x123456789, %rcx\n	mov $0x987654321, %rdx\n	stc\n	call *%rdi\n"
	"	adc $0, %rax\n	add %rcx, %rax\n	add %rdx, %rax\n	ret\n.size flags, .-flags\n"
	".type carry, @function\ncarry:\n	adc $0, %rax\n	stc\n	ret\n.size carry, .-carry\n"
	".type loops, @function\nloops:\n	lea loops(%rip), %rdx\n	dec %rdi\n	jz 1f\n	jmp *%rdx\n" // jumps to its own beginning enter nothing
	"1:	mov $1, %eax\n	ret\n.size loops, .-loops\n");
extern char carry[];

static volatile int signalled;
static void handler(int sig) { signalled += many[signalled % MANY](sig); }

static jmp_buf env;
__attribute__((noinline)) static void throw(int n) {
	if (n == 0)
		longjmp(env, 1);
	throw(n - 1);
	signalled++;
}

__attribute__((noinline)) static long calls(int n) {
	long s = 0;
	for (int i = 0; i < n; i++) {
		s += many[i * i % MANY](i);
		s += tails(i, i % 8 == 2 ? (void *)target : (void *)falls);
		s += falls(i);
		if (i % 16 == 0)
			s += flags(carry) + loops(3);
	}
	return s;
}

static void *thread(void *n) { return (void *)calls((int)(intptr_t)n); }

// made is code in no image, which is written anew for each call.
__attribute__((noinline)) static long made(int n) {
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long s = 0;
	for (int i = 0; i < n; i++) {
		unsigned char code[] = {0xbf, (unsigned char)i, 0, 0, 0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; // mov edi, i; mov rax, f; jmp rax
		void *f = (void *)many[i % MANY];
		memcpy(code + 7, &f, 8);
		memcpy(p, code, sizeof code);
		s += ((int (*)(int))p)(0);
	}
	munmap(p, 4096);
	return s;
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "again")) {
		printf("%ld\n", calls(150));
		return 4;
	}
	pthread_t t[3];
	long s = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, thread, (void *)(intptr_t)(2000 + 100 * i));
	for (int i = 0; i < 3; i++) {
		void *r;
		pthread_join(t[i], &r);
		s += (long)r;
	}
	signal(SIGUSR1, handler);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 20; i++)
		if (!setjmp(env))
			throw(i);
	printf("%ld %ld %ld %d\n", s, calls(5000), made(100), signalled);
	fflush(stdout);
	int status = 0;
	if (fork() == 0) {
		printf("%ld\n", calls(300));
		fflush(stdout);
		execl("/proc/self/exe", argv[0], "again", (char *)0);
		return 5;
	}
	wait(&status);
	return WEXITSTATUS(status);
}
