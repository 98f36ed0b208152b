/* Functions with parameters of different types; which are selected by a type the test says. */
#include <stdio.h>

struct foo {
	int n;
};
typedef struct foo foo_t;
union either {
	int i;
	float f;
};

__attribute__((noinline)) int plain(struct foo *f) { return f->n; }
__attribute__((noinline)) int constant(int k, const struct foo *f) { return f->n + k; }
__attribute__((noinline)) int named(foo_t *f) { return f->n + 2; }
__attribute__((noinline)) int value(struct foo f) { return f.n + 3; }
__attribute__((noinline)) int twice(struct foo **f) { return (*f)->n + 4; }
__attribute__((noinline)) unsigned long number(unsigned long a, union either *e) { return a + e->i; }
__attribute__((noinline)) int callback(int (*f)(struct foo *), struct foo g) { return f(&g); }

int main(void)
{
	struct foo f = {1}, *p = &f;
	union either e = {.i = 1};
	int sum = plain(p) + constant(1, p) + named(p) + value(f) + twice(&p) + (int)number(5, &e) + callback(named, f);
	printf("%d\n", sum);
	return 0;
}
