#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#define REPORTS 1024

/* What the kernel reported of one thread. */
struct report {
	int tid, status;
	struct rusage used;
};

/* error is 0 while there is something to wait for. news changes with each report; asleep
 * says that somebody sleeps on it. bell is another such word, guarded by lock. wish is that the other side waits by itself;
 * parked, that it does and the thread does not: the thread sets it, with a report, and the other side clears it. */
struct waiter {
	_Atomic uint32_t head, tail, news, asleep, error, wish, parked;
	pthread_mutex_t lock;
	_Atomic uint32_t *bell, *bell_asleep;
	pthread_t thread;
	timer_t ticks;
	int has_ticks;
	struct sigaction former; /* what SIGCHLD did, if it is quiet now */
	int quiet;
	struct report ring[REPORTS];
};

struct waiter *alleria_wait_start(int stop_signals);
void alleria_wait_bell(struct waiter *w, void *bell, void *asleep);
void alleria_wait_ticks(struct waiter *w, long every);
void alleria_wait_signals(struct waiter *w);
void alleria_wait_end(struct waiter *w);
