// A program whose calls, lines and accesses are known: main calls outer 7 times, which calls
// leaf 3 times each and fib(10) once in all; twice is inlined into leaf.
#include <string.h>

static volatile long sink;
static long table[64];

static inline __attribute__((always_inline)) long twice(long x)
{
	return x + x;
}

__attribute__((noinline)) long leaf(long n)
{
	long sum = 0;
	for (long i = 0; i < 64; i++)
		table[i] = twice(i + n);
	for (long i = 0; i < 64; i += 8)
		sum += table[i];
	return sum;
}

__attribute__((noinline)) long fib(long n)
{
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) long outer(long n)
{
	long sum = 0;
	for (long i = 0; i < 3; i++)
		sum += leaf(i);
	if (n == 99)
		sum = -1;
	return sum;
}

int main(void)
{
	char copy[sizeof table];
	for (long i = 0; i < 7; i++)
		sink += outer(i);
	sink += fib(10);
	memcpy(copy, table, sizeof copy);
	sink += copy[8];
	return 0;
}
