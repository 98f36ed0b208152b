/* Loads the library named by its argument twice and calls a function of it.
 * The functions between show which part of the run a window saw. */
#include <dlfcn.h>
#include <stdio.h>

volatile int seen;
#define STAGE(name) __attribute__((noinline)) void name(void) { seen++; }
STAGE(before) STAGE(loaded) STAGE(unloaded) STAGE(loaded_again) STAGE(unloaded_again)

static int use(const char *path, void (*then)(void))
{
	void *h = dlopen(path, RTLD_NOW);
	if (!h)
		return -1;
	then();
	int (*run)(int) = (int (*)(int))dlsym(h, "plugin_run");
	int r = run(seen);
	return dlclose(h) == 0 ? r : -1;
}

int main(int argc, char **argv)
{
	before();
	int a = use(argv[1], loaded);
	unloaded();
	int b = use(argv[1], loaded_again);
	unloaded_again();
	printf("%d %d\n", a, b);
	return 0;
}
