/* Prints its process id and goes on until somebody ends it; not run by itself.
 * Argument: compute, wait, threads, catch (a SIGINT handler that exits 3), or tick (an xlat
 * and a line, each few milliseconds). */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile long n;
static void *spin(void *p) { for (;;) n++; return p; }
static void h(int s) { (void)s; write(1, "caught\n", 7); _exit(3); }
int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "wait";
	pthread_t t;
	if (strcmp(how, "catch") == 0) signal(SIGINT, h);
	if (strcmp(how, "threads") == 0) for (int i = 0; i < 3; i++) pthread_create(&t, 0, spin, 0);
	printf("%d\n", getpid());
	fflush(stdout);
	if (strcmp(how, "wait") == 0) for (;;) pause();
	static char table[256];
	if (strcmp(how, "tick") == 0) for (long i = 0;; usleep(5000)) {
		__asm__ volatile("xlatb" : "+a"(i) : "b"(table) : "memory");
		write(1, "tick\n", 5);
	}
	spin(0);
}
