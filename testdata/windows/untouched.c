/* A child that is not followed finds nothing of the tracer's in its address space, and no tracer; natively so does
 * the program itself. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int clean(void) {
	char line[512];
	int ours = 0;
	FILE *m = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, m)) ours |= strstr(line, "memfd:") != 0;
	fclose(m);
	m = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, m)) ours |= strncmp(line, "TracerPid:", 10) == 0 && strcmp(line, "TracerPid:\t0\n") != 0;
	fclose(m);
	return ours;
}
int main(void) {
	int st;
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) _exit(clean());
		if (wait(&st) < 0 || st != 0) return puts("not clean"), 1;
	}
	return puts("clean"), 0;
}
