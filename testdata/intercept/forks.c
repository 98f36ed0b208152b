// Creates children one after the other that call functions of the program's and the C library's: each is armed as its creator was.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int twice(int n) { return 2 * n; }

int main(void)
{
	volatile int sum = 0;
	for (int i = 0; i < 6; i++) {
		if (!fork()) {
			char name[32];
			snprintf(name, sizeof name, "child %d", i);
			_exit((int)strlen(name) + twice(i));
		}
		int status;
		wait(&status);
		sum += WEXITSTATUS(status);
	}
	printf("%d\n", sum);
	return 0;
}
