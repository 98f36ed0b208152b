/* expect stdout: 3 -2 one 2.50 c
   Calls of the C library with all that is known of its functions without debug information, and functions that
   only a declaration describes (types-decl.h). */
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "types-decl.h"

#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE int move_to(struct place *p, enum where w, size_t n) { p->at[0] += (double)n; return w; }
NOINLINE double scale(double x, float y, const char *text) { return x * y + (double)strlen(text); }
NOINLINE static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void)
{
	char b[64];
	int v[3] = {3, 1, 2};
	int fds[2];
	if (pipe(fds)) return 1;
	write(fds[1], "through\n", 8);
	int n = read(fds[0], b, sizeof b);
	qsort(v, 3, sizeof v[0], compare);
	struct addrinfo *found;
	getaddrinfo("127.0.0.1", "80", 0, &found);
	struct place p = {-1, 2, {0.5, 1.5}, 0};
	move_to(&p, OUT, 3);
	scale(1.5, 2.0f, "abc");
	memcpy(b, "abc", 4);
	printf("%d %d %s %.2f %c\n", v[2], -2, "one", 2.5, 'c');
	printf("%3$s%2$*1$d %5$.1f %4$lu\n", 4, -7, "two", 1ul << 40, 0.5);
	return n != 8;
}
