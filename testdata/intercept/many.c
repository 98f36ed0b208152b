/* A function with more pointers than words are kept until it returns. */
#include <stdio.h>

/* Called as it is. */
__attribute__((noinline, noipa)) int many(int *a, int *b, int *c, int *d, int *e, int *f, int *g, int *h, int *i, int *j)
{
	*a += 10, *b += 10, *c += 10, *d += 10, *e += 10, *f += 10, *g += 10, *h += 10, *i += 10, *j += 10;
	return *a + *j;
}

int main(void)
{
	int v[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

	printf("%d\n", many(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9));
	return 0;
}
