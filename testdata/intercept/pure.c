/* Functions that depend on nothing but their arguments, and one that does not, for calls that are made again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { int value; struct node *next; };
static int counter;
__attribute__((noinline)) int sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
__attribute__((noinline)) int list(struct node *l) { int s = 0; for (; l; l = l->next) s += l->value; return s; }
__attribute__((noinline)) double mixed(double x, int a, int b, int c, int d, int e, int f, int g) { return x * (a + b + c + d + e + f + g); }
__attribute__((noinline)) int impure(int n) { return n + ++counter; }
__attribute__((noinline)) int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
/* These call themselves, the second by way of another: the outermost's return ends the call that is made again. */
__attribute__((noinline, noclone, noipa)) int depth(struct node *l) { return l ? 1 + depth(l->next) : 0; }
int is_odd(int n);
__attribute__((noinline, noclone, noipa)) int is_even(int n) { int r = n == 0 ? 1 : is_odd(n - 1); __asm__ volatile("" : "+r"(r)); return r; }
__attribute__((noinline, noclone, noipa)) int is_odd(int n) { int r = n == 0 ? 0 : is_even(n - 1); __asm__ volatile("" : "+r"(r)); return r; }
int main(void)
{
	int a[] = {1, 2, 3, 4};
	struct node two = {2, NULL}, one = {1, &two};
	printf("%d %d %g %d %d\n", sum(a, 4), list(&one), mixed(1.5, 1, 2, 3, 4, 5, 6, 7), impure(5), impure(5));
	printf("%d %d\n", depth(&one), is_even(7));
	qsort(a, 4, sizeof *a, by_size);
	printf("%zu\n", strlen(getenv("HOME") ? "some text" : ""));
	char *p = malloc(10); strcpy(p, "dynamic"); volatile size_t n = strlen(p); printf("%zu\n", n);
	return 0;
}
