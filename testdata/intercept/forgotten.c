/* expect stdout: 42
   GCC 12 leaves the dimension of its own vector type out of debug information here. */
#include <immintrin.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

union loose { __m512 v; float first; };

/* VALUE: loose(u={v={2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2}, first=2}, x=2.5) = 2.5 */
NOINLINE float loose(union loose u, float x) { return x; }

int main(void)
{
	union loose u;
	u.v = _mm512_set1_ps(2);
	loose(u, 2.5f);
	puts("42");
	return 0;
}
