/* See monitor_cgo.go. */
#include <string.h>
#include <sys/prctl.h>

/* How much later than it asks for the kernel may wake a thread, in nanoseconds. */
#define SLACK 500000

#ifdef __GLIBC__ /* others give constructors no arguments */
/* Behind sys, which notes what the program was started with. */
__attribute__((constructor)) static void slacken(int argc, char **argv) {
	for (int i = 1; i < argc; i++)
		if (strstr(argv[i], "punctual-monitor")) return;
	if (prctl(PR_GET_TIMERSLACK) < SLACK) prctl(PR_SET_TIMERSLACK, SLACK);
}
#endif
