#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>

#define REPORTS 1024

/* What the kernel reported of one thread. */
struct report {
	int tid, status;
	struct rusage used;
};

/* error is 0 while there is something to wait for. news changes with each report; asleep
 * says that somebody sleeps on it. bell is another such word, guarded by lock. */
struct waiter {
	_Atomic uint32_t head, tail, news, asleep, error;
	pthread_mutex_t lock;
	_Atomic uint32_t *bell, *bell_asleep;
	pthread_t thread;
	struct report ring[REPORTS];
};

struct waiter *alleria_wait_start(int stop_signals);
void alleria_wait_bell(struct waiter *w, void *bell, void *asleep);
void alleria_wait_end(struct waiter *w);
