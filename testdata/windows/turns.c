/* Two functions that are called in turn as often as the second argument says: one after the
   other, or ("nested") one within the other.
   build: -O1 */
#include <stdio.h>
#include <stdlib.h>

static volatile long sink;
__attribute__((noinline)) long second(long n) { return sink -= n / 2; }
__attribute__((noinline)) long first(long n) { return sink += n; }
__attribute__((noinline)) long outer(long n) {
	long s = second(n);
	return sink += s;
}

int main(int argc, char **argv) {
	long n = atol(argv[2]), s = 0;
	for (long i = 0; i < n; i++) {
		if (argv[1][0] == 'n') s += outer(i);
		else {
			s += first(i);
			s += second(i);
		}
	}
	printf("%ld\n", s);
	return 0;
}
