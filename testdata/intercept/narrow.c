/* expect stdout: 42
   Wide vectors of a program that was not compiled for processors that have them: they travel in memory. The comments spell calls
   as alleria intercepts prints them. */
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

typedef int wide __attribute__((vector_size(32)));
typedef int widest __attribute__((vector_size(64)));
struct wraps { wide v; };

/* VALUE: one(a=1, v={1,2,3,4,5,6,7,8}, b=2) = {1,2,3,4,5,6,7,8} */
NOINLINE wide one(int a, wide v, int b) { return v; }
/* VALUE: two(v={v={1,2,3,4,5,6,7,8}}, w={16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1}, x=1.5) = 3 */
NOINLINE int two(struct wraps v, widest w, double x) { return 3; }

int main(void)
{
	wide v = {1, 2, 3, 4, 5, 6, 7, 8};
	widest w = {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
	one(1, v, 2);
	two((struct wraps){v}, w, 1.5);
	puts("42");
	return 0;
}
