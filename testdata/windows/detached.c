/* Does some work, then waits to be detached, and ends by the signal that is named, or by
   itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
__attribute__((noinline)) int work(int n) { return n * 2 + 1; }
int main(int argc, char **argv) {
	int s = work(1);
	for (int i = 0; i < 50; i++) { /* until it is detached */
		char b[4096];
		int tracer = -1;
		FILE *f = fopen("/proc/self/status", "r");
		while (fgets(b, sizeof b, f)) sscanf(b, "TracerPid: %d", &tracer);
		fclose(f);
		if (!tracer) {
			printf("detached\n");
			fflush(stdout);
			if (argc > 1) raise(atoi(argv[1]));
			return s + 4;
		}
		usleep(20000);
	}
	printf("still traced\n");
	return s;
}
