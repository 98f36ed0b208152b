/* expect stdout: 42
   Without debug information: what the calls are declared.h says. */
#include <stdio.h>
#include "declared.h"

#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE double _Complex complexes(int k, double _Complex z, _Complex float w, double y) { return z; }
NOINLINE _Complex int integers(_Complex int z, int k) { return z; }
NOINLINE twice vectors(twice v, double y, int k) { return v; }
NOINLINE int packs(struct before a, struct behind b, struct pushed c, struct two *d, struct plain *e, int k) { return k; }
NOINLINE int holes(struct rooms *r, int k) { return k; }
NOINLINE int unknown(int a, struct unsaid b, int k) { return k; }
NOINLINE struct unsaid made(int a) { struct unsaid u = {1, 2, 3}; return u; }

int main(void)
{
	struct two d = {'n', 80};
	struct plain e = {'o', 81};
	struct rooms r = {5, 17, -9, -7, 1ul << 39};
	complexes(6, 1 + 2i, 3 + 4i, 5.5);
	integers(3 + 4i, 5);
	vectors((twice){1, 2}, 4.5, 6);
	packs((struct before){'k', 77}, (struct behind){'l', 78}, (struct pushed){'m', 79}, &d, &e, 7);
	holes(&r, 8);
	unknown(1, (struct unsaid){1, 2, 3}, 9);
	made(9);
	puts("42");
	return 0;
}
