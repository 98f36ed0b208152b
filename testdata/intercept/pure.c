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
int main(void)
{
	int a[] = {1, 2, 3, 4};
	struct node two = {2, NULL}, one = {1, &two};
	printf("%d %d %g %d %d\n", sum(a, 4), list(&one), mixed(1.5, 1, 2, 3, 4, 5, 6, 7), impure(5), impure(5));
	qsort(a, 4, sizeof *a, by_size);
	printf("%zu\n", strlen(getenv("HOME") ? "some text" : ""));
	char *p = malloc(10); strcpy(p, "dynamic"); volatile size_t n = strlen(p); printf("%zu\n", n);
	return 0;
}
