/* The launcher stage. Our own binary is started again under the name below; this
 * constructor then runs before the Go runtime does, so the process that the
 * tracer seizes has one thread and the signal dispositions, limits and
 * descriptors that its parent gave it. It waits for the tracer's word and
 * executes the target.
 *
 * argv: name, descriptor to wait on, descriptor for an errno, flags ("r": no
 * address space randomisation), ignored and blocked signals and closed
 * descriptors as in the variables below, path, argv of the target.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

static void fail(int fd) {
	int e = errno;
	if (write(fd, &e, sizeof e) < 0) _exit(126);
	_exit(127);
}

/* What the Go runtime hides from us by handling and unblocking signals and
 * opening the first three descriptors: which signals we were started with
 * ignored or blocked, bit n-1 for signal n, and which of the descriptors
 * closed, bit n for n. The launcher gives them to the target. */
unsigned long long alleria_ignored, alleria_blocked, alleria_closed;

static void inherited(void) {
	for (int s = 1; s < 65; s++) {
		struct sigaction a;
		if (sigaction(s, 0, &a) == 0 && a.sa_handler == SIG_IGN) alleria_ignored |= 1ull << (s - 1);
	}
	sigset_t set;
	if (sigprocmask(SIG_BLOCK, 0, &set) == 0)
		for (int s = 1; s < 65; s++)
			if (sigismember(&set, s) == 1) alleria_blocked |= 1ull << (s - 1);
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0) alleria_closed |= 1ull << fd;
}

__attribute__((constructor)) static void launch(int argc, char **argv, char **envp) {
	if (argc < 9 || strcmp(argv[0], "alleria: launching") != 0) {
		inherited();
		return;
	}
	int wait = atoi(argv[1]), report = atoi(argv[2]);
	fcntl(wait, F_SETFD, FD_CLOEXEC);
	fcntl(report, F_SETFD, FD_CLOEXEC);
	/* The tracer attaches after this byte: until here the kernel may still have
	 * had our own execve to report. */
	char c = 1;
	if (write(report, &c, 1) != 1 || read(wait, &c, 1) != 1) _exit(125); /* the tracer is gone */
	close(wait);
	if (strchr(argv[3], 'r')) personality(ADDR_NO_RANDOMIZE | personality(0xffffffff));
	unsigned long long ignored = strtoull(argv[4], 0, 16), blocked = strtoull(argv[5], 0, 16), closed = strtoull(argv[6], 0, 16);
	sigset_t set;
	sigemptyset(&set);
	for (int s = 1; s < 65; s++) {
		if (ignored >> (s - 1) & 1) signal(s, SIG_IGN);
		if (blocked >> (s - 1) & 1) sigaddset(&set, s);
	}
	sigprocmask(SIG_SETMASK, &set, 0);
	for (int fd = 0; fd < 3; fd++)
		if (closed >> fd & 1) close(fd);
	execve(argv[7], argv + 8, envp);
	fail(report);
}
