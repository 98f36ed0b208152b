/* The thread that waits for tracees: see waiter_cgo.go, which says what it is for.
 * It is the only writer of head, Go's side the only one of tail. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <sys/ptrace.h>

#include "waiter.h"

/* Programs that import ptrace are taken for tracers, whose children are left to them: a tracer of this kind in a tree that
 * another one follows is to be recognized like others. Go makes the call by itself. */
__attribute__((used)) static long (*const tracer)(enum __ptrace_request, ...) = ptrace;

static void wake(_Atomic uint32_t *word, int private) {
	syscall(SYS_futex, word, private ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* Tells who sleeps that there is something. The word is changed before it is looked at
 * whether somebody sleeps, who does it the other way round. */
static void tell(struct waiter *w) {
	atomic_fetch_add(&w->news, 1);
	if (atomic_load(&w->asleep)) wake(&w->news, 1);
	pthread_mutex_lock(&w->lock);
	if (w->bell) {
		atomic_fetch_add(w->bell, 1);
		if (atomic_load(w->bell_asleep)) wake(w->bell, 0);
	}
	pthread_mutex_unlock(&w->lock);
}

static void *run(void *arg) {
	struct waiter *w = arg;
	for (;;) {
		struct report r;
		r.tid = wait4(-1, &r.status, __WALL, &r.used);
		if (r.tid < 0 && errno == EINTR) continue;
		if (r.tid < 0) break;
		int park = atomic_load(&w->wish);
		uint32_t head = atomic_load_explicit(&w->head, memory_order_relaxed);
		/* A full ring only delays the kernel's reports: stopped threads stay stopped. */
		while (head - atomic_load(&w->tail) >= REPORTS) usleep(200);
		w->ring[head % REPORTS] = r;
		/* In front of the report: who takes that has to know who waits for the next. */
		if (park) atomic_store(&w->parked, 1);
		atomic_store(&w->head, head + 1);
		tell(w);
		while (atomic_load(&w->parked)) syscall(SYS_futex, &w->parked, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0);
	}
	atomic_store(&w->error, errno);
	tell(w);
	return 0;
}

/* Has the kernel send no SIGCHLD for stops and ends, which wait4 tells of anyway: it interrupts the thread that the tracee is traced by, in whatever it does, for the
 * runtime's handler to find that nobody asked for it. What is neither handled nor ignored by name, as by default, is not sent, and children are still waited for. Whoever installs a handler
 * again has what there was before. */
static void no_child_signals(struct waiter *w) {
	struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
	if (sigaction(SIGCHLD, 0, &w->former) || w->former.sa_handler == SIG_IGN || w->former.sa_handler == SIG_DFL) return;
	w->quiet = !sigaction(SIGCHLD, &a, 0);
}

/* A signal of the tracer's own, to its own thread. */
#define TICK (SIGRTMAX - 5)

/* Has the wait for reports end, which the kernel is about to begin again, as it does with all calls that signals interrupt: other calls of
 * the thread are not made to be interrupted. A tick in front of the wait's last instruction is lost, and another one comes. */
static void ticked(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)info;
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)r[REG_RIP];
	if (r[REG_RAX] != SYS_wait4 || r[REG_RDI] != -1 || r[REG_RDX] != __WALL || at[0] != 0x0f || at[1] != 0x05) return;
	r[REG_RIP] += 2;
	r[REG_RAX] = -EINTR;
}

/* Makes the timer that interrupts the calling thread. */
static int make_ticks(struct waiter *w) {
	struct sigaction a = {.sa_sigaction = ticked, .sa_flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO};
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK};
	e._sigev_un._tid = syscall(SYS_gettid);
	return !sigaction(TICK, &a, 0) && !timer_create(CLOCK_MONOTONIC, &e, &w->ticks);
}

void alleria_wait_ticks(struct waiter *w, long every) {
	struct itimerspec t = {{0, every}, {0, every}};
	timer_settime(w->ticks, 0, &t, 0);
}

void alleria_wait_signals(struct waiter *w) {
	struct sigaction now;
	if (!w->quiet || sigaction(SIGCHLD, 0, &now)) return;
	if (now.sa_handler == SIG_DFL) sigaction(SIGCHLD, &w->former, 0);
	w->quiet = 0;
}

struct waiter *alleria_wait_start(int stop_signals) {
	struct waiter *w = calloc(1, sizeof *w);
	if (!w) return 0;
	if (!stop_signals) no_child_signals(w);
	pthread_mutex_init(&w->lock, 0);
	w->has_ticks = make_ticks(w);
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN + 65536);
	/* Signals are for the runtime's threads. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&w->thread, &a, run, w);
	pthread_sigmask(SIG_SETMASK, &old, 0);
	pthread_attr_destroy(&a);
	if (e) {
		alleria_wait_signals(w);
		if (w->has_ticks) timer_delete(w->ticks);
		free(w);
		errno = e;
		return 0;
	}
	return w;
}

void alleria_wait_bell(struct waiter *w, void *bell, void *asleep) {
	pthread_mutex_lock(&w->lock);
	w->bell = bell;
	w->bell_asleep = asleep;
	pthread_mutex_unlock(&w->lock);
}

/* Only after the thread has said that it ends. */
void alleria_wait_end(struct waiter *w) {
	pthread_join(w->thread, 0);
	if (w->has_ticks) timer_delete(w->ticks);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
