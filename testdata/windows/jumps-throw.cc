// Functions whose calls are counted by a jump and that exceptions pass through: each
// call is counted once, the unwinder finds its way, destructors run, and handlers in
// the function itself catch. With a third argument says how each begins.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int destroyed;
struct Guard {
	~Guard() { destroyed++; }
};

__attribute__((noinline)) static void fails(int n) {
	if (n % 3 == 0) throw n;
}

extern "C" __attribute__((noinline)) int through(int n, int m) {
	Guard g;
	fails(n);
	return n ^ m;
}

extern "C" __attribute__((noinline)) int catching(int n, int m) {
	try {
		return through(n, m);
	} catch (int thrown) {
		if (thrown % 2 == 0) throw thrown + 1L;
		return -thrown;
	}
}

static void say(const char *name, void *f) {
	const unsigned char *p = static_cast<unsigned char *>(f);
	if (memcmp(p, "\xf3\x0f\x1e\xfa", 4) == 0) p += 4;
	if (*p == 0xe9) fprintf(stderr, "%s: jump\n", name);
	else if (*p == 0xcc) fprintf(stderr, "%s: int3\n", name);
}

int main(int argc, char **argv) {
	int calls = argc > 1 ? atoi(argv[1]) : 0, caught = 0;
	long sum = 0;
	for (int i = 1; i <= calls; i++) {
		try {
			sum += catching(i, 5);
		} catch (long thrown) {
			sum -= thrown;
			caught++;
		}
	}
	printf("%ld %d %d\n", sum, caught, destroyed);
	if (argc > 2) {
		say("through", reinterpret_cast<void *>(through));
		say("catching", reinterpret_cast<void *>(catching));
	}
	return 0;
}
