// Calls in a loop, to be timed: what each call takes, in picoseconds, goes to standard output.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((noinline, noclone, noipa))

API long two(long a, long b)
{
	__asm__ volatile("" : "+r"(a));
	return a ^ b;
}
API long text(const char *s)
{
	__asm__ volatile("" : "+r"(s));
	return (long)s;
}
struct one {
	long value;
};
struct two {
	struct one *one;
	long value;
};
struct three {
	struct two *two;
	long value;
};
API long levels(const struct three *t)
{
	__asm__ volatile("" : "+r"(t));
	return t->value;
}
API long never(long a) { return a + 1; }

static long times;

static void *work(void *what)
{
	static const char string[] = "a string of thirty-one letters.";
	long sum = 0;
	struct one one = {1};
	struct two two_ = {&one, 2};
	struct three three = {&two_, 3};
	if (*(const char *)what == 'l')
		for (long i = 0; i < times; i++)
			sum += levels(&three);
	else if (*(const char *)what == 's')
		for (long i = 0; i < times; i++)
			sum += text(string);
	else
		for (long i = 0; i < times; i++)
			sum += two(i, sum);
	return (void *)sum;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(void)
{
	const char *what = getenv("WHAT") ? getenv("WHAT") : "i1";
	int threads = what[1] - '0';
	pthread_t t[8];
	times = 1000;
	work((void *)what); // what happens once
	times = getenv("TIMES") ? atol(getenv("TIMES")) : 3000000;
	double from = now();
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], 0, work, (void *)what);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
	printf("%.0f\n", (now() - from) / times * 1e12);
	return never(-1) != 0;
}
