/* A process creates children one after the other, and some side by side. Some change code that the others have as it was: a function of
   the program, under its private mapping; code that the program has made, before and between them. Each line is a child's: its kind,
   what the function answers and what the made code answers, 0 where it is not asked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, aligned(4096))) static int answer(void)
{
	__asm__ volatile("");
	return 1;
}
__attribute__((noinline, aligned(4096))) static void behind(void) { __asm__ volatile(""); }

static unsigned char *made;

/* make has the made code answer v. */
static void make(int v)
{
	unsigned char code[] = {0xb8, (unsigned char)v, 0, 0, 0, 0xc3};
	mprotect(made, 4096, PROT_READ | PROT_WRITE);
	memcpy(made, code, sizeof code);
	mprotect(made, 4096, PROT_READ | PROT_EXEC);
}

/* patch has answer answer v. */
static void patch(int v)
{
	unsigned char code[] = {0xb8, (unsigned char)v, 0, 0, 0, 0xc3};
	void *page = (void *)((unsigned long)answer & ~4095UL);
	mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy((void *)answer, code, sizeof code);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int (*volatile ask)(void) = answer;

static void say(const char *kind, int asks)
{
	char line[64];
	int n = snprintf(line, sizeof line, "%s %d %d\n", kind, ask(), asks ? ((int (*)(void))made)() : 0);
	if (write(1, line, n) != n)
		_exit(9);
}

static pid_t child(char kind)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	switch (kind) {
	case 'p':
		patch(2);
		break;
	case 'm':
		make(7);
		break;
	case 'n': { /* a grandchild, whose creator has patched itself */
		int status;
		patch(3);
		if (fork() == 0) {
			say("grandchild", 1);
			_exit(0);
		}
		wait(&status);
		break;
	}
	case 'w': { /* by its memory as a file */
		unsigned char code[] = {0xb8, 4, 0, 0, 0, 0xc3};
		int fd = open("/proc/self/mem", O_RDWR);
		say("before", 0);
		if (fd < 0 || pwrite(fd, code, sizeof code, (long)answer) != sizeof code)
			_exit(8);
		close(fd);
		break;
	}
	case 'f': /* over what is mapped */
		mmap(made, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		make(8);
	}
	char name[] = {kind, 0};
	say(name, strchr("mfnb", kind) != NULL);
	exit(kind == 'x' ? 5 : 0);
}

int main(void)
{
	int status;
	setvbuf(stdout, NULL, _IONBF, 0);
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make(1);
	behind();
	for (const char *k = "aapamabanawafaxa"; *k; k++) {
		pid_t pid = child(*k);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 1;
		printf("%d\n", WEXITSTATUS(status));
		if (k[1] == 'm')
			make(9); /* the creator's own, between two children */
	}
	say("creator", 0);
	int go[2]; /* a child from before a change that ends after it */
	if (pipe(go))
		return 1;
	if (fork() == 0) {
		char c;
		if (read(go[0], &c, 1) == 1)
			say("late", 0);
		_exit(0);
	}
	patch(6);
	if (write(go[1], "", 1) != 1)
		return 1;
	wait(&status);
	for (int i = 0; i < 4; i++)
		waitpid(child("aamp"[i]), &status, 0);
	int ends = 0;
	for (int i = 0; i < 6; i++)
		if (fork() == 0)
			_exit(ask() == 6 ? 0 : 1);
	while (wait(&status) > 0)
		ends += status == 0;
	printf("%d\n", ends);
	return 0;
}
