/* A library that is loaded natively, and loaded anew at the same place, attaches to a child each time by a call of its own. With -DLIBRARY this is that library;
 * else the program, whose argument is where the library lies. It prints what each attachment returns. */
#ifdef LIBRARY
__attribute__((naked)) long attach(long request, long pid, long addr, long data)
{
	__asm__("mov %rcx, %r10; mov $101, %eax; syscall; ret");
}
#else
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long attaching(long request, long pid, long addr, long data);

__attribute__((noinline)) int number(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int main(int argc, char **argv)
{
	if (argc < 2 || number(1) != 2)
		return 2;
	for (int i = 0; i < 3; i++) {
		int status;
		void *lib = dlopen(argv[1], RTLD_NOW);
		attaching *attach = lib ? (attaching *)dlsym(lib, "attach") : NULL;
		if (!attach)
			return 3;
		pid_t p = fork();
		if (p == 0)
			for (;;)
				pause();
		printf("%ld\n", attach(PTRACE_ATTACH, p, 0, 0));
		fflush(stdout);
		kill(p, SIGKILL);
		waitpid(p, &status, 0);
		dlclose(lib);
	}
	return 0;
}
#endif
