/* Functions that are left otherwise than by a return: by an exception, by longjmp,
   by the end of the process. */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

static volatile long sink;
static jmp_buf out;

extern "C" {
__attribute__((noinline)) void thrower(long n) {
	sink += n;
	if (n >= 0) throw n;
}
__attribute__((noinline)) void jumper(long n) {
	sink += n;
	if (n >= 0) longjmp(out, 1);
}
__attribute__((noinline)) void quitter(long n) {
	sink += n;
	if (n >= 0) exit(3);
}
__attribute__((noinline)) long returner(long n) { return sink += n; }
}

static __attribute__((noinline)) void jumped(long n) {
	if (!setjmp(out)) jumper(n);
}

int main() {
	long caught = 0;
	for (long i = 0; i < 5; i++) {
		try {
			thrower(i);
		} catch (long n) {
			caught += n;
		}
		jumped(i);
		jumped(i + 1);
		returner(i);
	}
	std::printf("%ld %ld\n", caught, (long)sink);
	quitter(1);
}
