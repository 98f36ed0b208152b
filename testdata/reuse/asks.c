// asks: prints what the library named by its argument answers. Expectation: the library's VALUE, also where the same path
// held another version when the program ran last.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	int (*answer)(void) = lib ? (int (*)(void))dlsym(lib, "answer") : 0;
	if (!answer) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	printf("%d\n", answer());
	return 0;
}
