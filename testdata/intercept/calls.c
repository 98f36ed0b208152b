// Functions whose calls tests capture, each called in a few ways. What it prints is the same however it runs.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((noinline, noclone, noipa))

struct node {
	struct node *next;
	long value;
};

API long add2(long a, long b) { return a + 2 * b; }
API unsigned long text(const char *s) { return strlen(s); }
API long recurse(long n)
{
	if (n == 0)
		return 0;
	long r = recurse(n - 1);
	__asm__ volatile("" : "+r"(r)); // no loop of it
	return 1 + r;
}
API double scale(double x, double y) { return x * y + 1; }
API long double wide(long double x) { return x / 3; }
API long many(long a, long b, long c, long d, long e, long f, long g, short h) { return a + b + c + d + e + f + g + h; }
API long list(const struct node *n)
{
	long sum = 0;
	for (; n; n = n->next)
		sum += n->value;
	return sum;
}
API void fill(char *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i] = 'a' + i % 26;
	to[n] = 0;
}
API const char *badly(const char *s) { return s; }

static jmp_buf back;
API void leaves(int how)
{
	if (how)
		longjmp(back, how);
}
API long inner(long x) { return x * 3; }
API long outer(long x) { return inner(x + 1); } // its last call is a jump
API long loops(long n) // whose loop begins with the function
{
	long sum = 0;
	do {
		sum += n & 3;
	} while (--n > 0);
	return sum;
}

static volatile long handled;
static void handler(int sig)
{
	(void)sig;
	handled += add2(100, 200);
}
API long interrupted(long x)
{
	raise(SIGUSR1);
	return x + handled;
}

// The smallest of functions: no room for anything.
__asm__(".text\n.globl tiny\n.type tiny,@function\ntiny: ret\n.size tiny,.-tiny\n"
	".p2align 4\n.globl seven\n.type seven,@function\nseven: mov $7,%eax\nret\n.size seven,.-seven\n");
long tiny(long);
int seven(void);

static void *thread(void *arg)
{
	long sum = 0;
	for (long i = 0; i < 1000; i++)
		sum += add2(i, (long)arg);
	return (void *)sum;
}

static long threads(void)
{
	pthread_t t[4];
	long sum = 0;
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, thread, (void *)i);
	for (int i = 0; i < 4; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	return sum;
}

int main(void)
{
	long sum = 0;
	char buf[64];
	for (long i = 0; i < 300; i++) {
		sum += add2(i, -i);
		sum += text(i % 3 ? "a string of some length, with more than a word" : "short");
		sum += recurse(i % 7);
		sum += (long)scale(i, .5);
		sum += (long)wide(i);
		sum += many(i, 2, 3, 4, 5, 6, 7, (short)-i);
		struct node c = {0, i}, b = {&c, 2}, a = {&b, 3};
		sum += list(i % 5 ? &a : 0);
		fill(buf, i % 40);
		sum += buf[0];
		sum += outer(i) + loops(i % 9 + 1) + seven();
		tiny(i);
		if (setjmp(back) == 0)
			leaves(i % 4 == 3);
	}
	char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page, 'x', 4096);
	mprotect(page + 4096, 4096, PROT_NONE);
	page[4095] = 'y';
	for (int i = 0; i < 5; i++) {
		badly((char *)1);
		badly(page + 4090);
		badly((char *)0x8000000000000000);
		badly(0);
		badly("good");
	}
	signal(SIGUSR1, handler);
	for (int i = 0; i < 20; i++)
		sum += interrupted(i);
	sum += threads();
	printf("%ld\n", sum);
	return 0;
}
