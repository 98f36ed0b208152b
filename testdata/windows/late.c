/* A library that comes late: its function is called three times after dlopen, and
   reads the stack protector's word through fs. Compiled twice, as the library
   with -DLIBRARY and as the program that loads it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY
int late_work(const char *s) {
	char copy[64];
	strncpy(copy, s, sizeof copy - 1);
	copy[sizeof copy - 1] = 0;
	return (int)strlen(copy);
}
#else
int main(int argc, char **argv) {
	(void)argc;
	void *lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) return puts(dlerror()), 1;
	int (*work)(const char *) = (int (*)(const char *))dlsym(lib, "late_work");
	if (!work) return 2;
	for (int i = 0; i < 3; i++) printf("%d\n", work("three"));
	unsigned long tls;
	__asm__("mov %%fs:0, %0" : "=r"(tls));
	printf("canary %#lx\n", tls + 0x28);
	return 0;
}
#endif
