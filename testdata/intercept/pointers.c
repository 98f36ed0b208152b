// Functions that get records full of pointers: to records, strings, nothing, and what is no memory.
#include <stdio.h>
#include <string.h>

#define TAKE(n) __attribute__((noinline, noclone, noipa)) struct all *take##n(struct all *a, long i, long *p, const char *s, struct all **q) \
	{ __asm__ volatile("" : : "r"(a), "r"(i), "r"(p), "r"(s), "r"(q) : "memory"); return i & 1 ? a : a->next; }

struct all {
	struct all *next;
	const char *name;
	struct all *other;
	const char *none;
	long numbers[4];
};

TAKE(0)
TAKE(1)
TAKE(2)
TAKE(3)
TAKE(4)
TAKE(5)
TAKE(6)
TAKE(7)

int main(void)
{
	static struct all c = {0, "the third, whose name is longer than those of the others are", 0, "", {3, 0, 1, 1L << 40}};
	static struct all b = {&c, "second", &c, (char *)1, {2, 2, 2, 2}};
	static struct all a = {&b, "first of all", 0, "x", {-1, 0, 0, 7}};
	static struct all *all[] = {&a, &b, &c, 0};
	c.other = &a;
	long sum = 0;
	for (long i = 0; i < 12; i++) {
		struct all *r = all[i % 3];
		long n = i % 5 - 1;
#define CALL(k) sum += take##k(r, n, r->numbers, r->name, all) == &b;
		CALL(0) CALL(1) CALL(2) CALL(3) CALL(4) CALL(5) CALL(6) CALL(7)
	}
	printf("%ld\n", sum);
	return 0;
}
