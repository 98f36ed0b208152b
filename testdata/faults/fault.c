/* Runs a command (alleria with its options) and makes something die at one of its system calls.
 *
 *     fault KIND POINT RESULT COMMAND...
 *
 * The calls that matter (ptrace, foreign memory, shared memory, files) are held up by a seccomp filter that asks us,
 * so that the command is the one that users have, with no hook in it. The command's own calls of these are its points,
 * numbered from 1. At POINT, before the call is made,
 *
 *     thread   the tracee is killed that the call names, or the last ptrace request did
 *     tree     everything below the command is killed
 *     tracer   the command is killed
 *     count    nothing happens
 *
 * POINT 0 is the first ptrace request. There and at odd points the killed are waited for, at even ones the call goes on at once: the kernel may then see it first.
 * Orphans come to us. RESULT gets one line: what was reached, the command's wait status, and whoever was left.
 * The exit status is 0 unless this program itself failed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 60 /* seconds that the command may take on a busy machine */
#define LEAVES 5   /* seconds that whoever was followed may live on */

static const int points[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pread64, SYS_pwrite64, SYS_write,
	SYS_writev, SYS_pwritev, SYS_memfd_create, SYS_ftruncate, SYS_fallocate, SYS_mmap, SYS_munmap, SYS_madvise, SYS_tgkill, SYS_kill,
	SYS_mkdirat, SYS_renameat, SYS_unlinkat, SYS_pidfd_open};
enum { N = sizeof points / sizeof *points };

/* What is to happen, and what was seen. */
static int listener, at = -1;
static pid_t command, tracee; /* the latter: whom the latest request named */
static char kind;
static long point, seen, first; /* first: the number of the first ptrace request */

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* filtered installs the filter and returns its listener. */
static int filtered(void)
{
	struct sock_filter f[N + 4];
	int n = 0;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < N; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, points[i], N - i, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog prog = {n, f};
	/* Without the privilege the kernel wants this; both are inputs to the command. */
	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
}

/* start runs the command under the filter and returns its id; the listener comes back through a socket, by
 * calls that are not among the points. */
static pid_t start(char **argv)
{
	int s[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		fail("socketpair");
	char room[CMSG_SPACE(sizeof(int))] = {0}, c = 0;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	pid_t pid = fork();
	if (pid == 0) {
		int fd = filtered();
		if (fd < 0) {
			perror("seccomp");
			_exit(125);
		}
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);
		*h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(h), &fd, sizeof fd);
		if (sendmsg(s[1], &m, 0) != 1)
			_exit(125);
		close(fd);
		execv(argv[0], argv);
		_exit(126);
	}
	close(s[1]);
	if (pid < 0 || recvmsg(s[0], &m, MSG_CMSG_CLOEXEC) != 1)
		fail("no listener");
	memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof listener);
	close(s[0]);
	return pid;
}

/* field reads a line of /proc/PID/status; "" where there is none. */
static char *field(pid_t pid, const char *name)
{
	static char line[256];
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	size_t n = strlen(name);
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, n) && line[n] == ':') {
			fclose(f);
			line[strcspn(line, "\n")] = 0;
			return line + n + 2;
		}
	if (f)
		fclose(f);
	return "";
}

/* below calls what with each process under root, children first. */
static int below(pid_t root, void (*what)(pid_t))
{
	pid_t all[4096], parent[4096];
	int n = 0, found = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && n < 4096 && (e = readdir(d));)
		if ((all[n] = atoi(e->d_name)) > 0) {
			parent[n] = atoi(field(all[n], "PPid"));
			n++;
		}
	if (d)
		closedir(d);
	for (int i = n; i-- > 0;)
		for (pid_t p = parent[i]; p > 1;) {
			if (p == root) {
				found++;
				what(all[i]);
				break;
			}
			pid_t next = 0;
			for (int j = 0; j < n; j++)
				if (all[j] == p)
					next = parent[j];
			p = next;
		}
	return found;
}

static void ends(pid_t p) { kill(p, SIGKILL); }

/* gone waits for a thread that was killed to have left its stop. */
static void gone(pid_t tid)
{
	for (double until = now() + 0.1; now() < until; usleep(200)) {
		char *s = field(tid, "State");
		if (!*s || *s == 'Z' || *s == 'X')
			return;
	}
}

static FILE *out;

/* tell writes who is left, with its state. */
static void tell(pid_t p)
{
	char state = *field(p, "State");
	if (state && state != 'Z' && state != 'X')
		fprintf(out, " left=%d/%c/%s", p, state, field(p, "Name"));
}

/* happen does what the kind says. */
static void happen(void)
{
	pid_t tgid;
	if (kind == 'c')
		return;
	if (kind == 'r') {
		kill(command, SIGKILL);
		return;
	}
	if (kind == 'e')
		below(command, ends);
	else if (tracee > 0 && (tgid = atoi(field(tracee, "Tgid"))) > 0 && tgid != command)
		kill(tgid, SIGKILL);
	if ((!point || point % 2) && tracee > 0)
		gone(tracee);
}

/* answer lets a call go on that the filter holds up, if there is one within 20 ms; 0 when nobody is left to ask. */
static int answer(void)
{
	struct pollfd p = {listener, POLLIN, 0};
	struct seccomp_notif q = {0};
	if (poll(&p, 1, 20) <= 0)
		return 1;
	if (!(p.revents & POLLIN))
		return 0;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q))
		return 1;
	if (q.pid == (unsigned)command || atoi(field(q.pid, "Tgid")) == command) {
		if (q.data.nr == SYS_ptrace)
			tracee = q.data.args[1];
		if (q.data.nr == SYS_process_vm_readv || q.data.nr == SYS_process_vm_writev)
			tracee = q.data.args[0];
		seen++;
		if (q.data.nr == SYS_ptrace && !first)
			first = seen;
		if (point ? seen == point : seen == first) {
			at = q.data.nr;
			happen();
		}
	}
	struct seccomp_notif_resp a = {.id = q.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
	return 1;
}

/* tidy waits for whoever the command left; those that stay are told and ended. */
static void tidy(void)
{
	int s, told = 0;
	for (double until = now() + LEAVES;;) {
		pid_t p = waitpid(-1, &s, WNOHANG | __WALL);
		if (p < 0 && errno == ECHILD)
			return;
		if (p == 0 && now() > until) {
			if (!told++)
				below(getpid(), tell);
			below(getpid(), ends);
		}
		if (p == 0 && !answer())
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	int status = 0, over = 0;
	if (argc < 5)
		return 2;
	kind = !strcmp(argv[1], "thread") ? 'h' : !strcmp(argv[1], "tree") ? 'e' : !strcmp(argv[1], "tracer") ? 'r' : 'c';
	point = atol(argv[2]);
	if (!(out = fopen(argv[3], "we")))
		fail(argv[3]);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	command = start(argv + 4);
	double began = now();
	while (!over) {
		over = !answer() || waitpid(command, &status, WNOHANG) == command;
		if (now() - began > LONGEST) {
			fprintf(out, "hang=1");
			below(getpid(), tell);
			below(getpid(), ends);
			over = 1;
		}
	}
	if (waitpid(command, &status, 0) < 0 && errno != ECHILD)
		fail("wait");
	fprintf(out, " points=%ld call=%d status=%d took=%.1f", seen, at, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), now() - began);
	tidy();
	fprintf(out, "\n");
	return fclose(out) ? 2 : 0;
}
