/* Queues of 64-bit records between two threads on two processors, each as tight as its idea allows. They are
 * templates of one another: the producer's loop is what recording code would do for each record, the
 * consumer adds up what it takes and compares the sum.
 *
 * Whoever waits spins with a pause, and gives its processor away every so often, since both may be on one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "rings.h"

#define LINE 64
#define CLEAR 0ull
#define MAGIC (~0ull)
#define acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* one load or store each, which the compiler may not merge */
#define peek(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define poke(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
/* the compiler must not keep several records back and store them as a vector: recorded code comes one by one */
#define step() __asm__ volatile("" ::: "memory")

typedef unsigned long long word;

struct ring {
	word *buf;
	size_t words, chunk, chunks; /* in words; powers of two */
	word n;                      /* records to hand over */
	word sum; /* what the consumer took */
	int cpu[2];
	pthread_barrier_t start;
	_Alignas(LINE) word head; /* the producer's counter, and what it remembers */
	word ended;
	_Alignas(LINE) word tail; /* the consumer's */
	_Alignas(LINE) word full[1024 * 8]; /* a flag a buffer, each in its line */
};

static inline void relax(unsigned *spins)
{
	__builtin_ia32_pause();
	if (++*spins % 4096 == 0)
		sched_yield();
}

/* CAB as the engine has it: counters of chunks, and one comparison with the chunk's end a record, or for every
 * eighth: a block's record has a check, not each of its words. */
#define CAB(name, each)                                                                                   \
	static void name(struct ring *r)                                                                  \
	{                                                                                                 \
		word *p = r->buf, *end = p + r->chunk, head = 0, v = 1;                                   \
		unsigned spins = 0;                                                                       \
		for (word left = r->n; left > 0; left -= each) {                                          \
			if (__builtin_expect(p == end, 0)) {                                              \
				release(&r->head, ++head);                                                \
				while (head - acquire(&r->tail) >= r->chunks)                             \
					relax(&spins);                                                    \
				p = r->buf + (head & (r->chunks - 1)) * r->chunk;                         \
				end = p + r->chunk;                                                       \
			}                                                                                 \
			for (int i = 0; i < each; i++) {                                                  \
				p[i] = v++;                                                               \
				step();                                                                   \
			}                                                                                 \
			p += each;                                                                        \
		}                                                                                         \
		release(&r->head, head + 1);                                                              \
		release(&r->ended, 1);                                                                    \
	}
CAB(cab_producer, 1)
CAB(cab8_producer, 8)

static word sum_of(const word *p, size_t n)
{
	word s = 0;
	for (size_t i = 0; i < n; i++) {
		s += p[i];
		step(); /* an analysis looks at them one by one */
	}
	return s;
}

/* A consumer that stays so many chunks behind leaves alone what may still be in the producer's first cache. Where the producer
 * waits for room, or has ended, what is there is taken all the same. */
static inline void consume_behind(struct ring *r, word behind)
{
	unsigned spins = 0;
	word left = r->n;
	for (word tail = 0; left > 0;) {
		word head;
		while ((head = acquire(&r->head)) == tail || (head - tail <= behind && head - tail < r->chunks && !acquire(&r->ended)))
			relax(&spins);
		size_t n = left < r->chunk ? left : r->chunk;
		r->sum += sum_of(r->buf + (tail & (r->chunks - 1)) * r->chunk, n);
		left -= n;
		release(&r->tail, ++tail);
	}
}

static void cab_consumer(struct ring *r) { consume_behind(r, 0); }
static void behind1_consumer(struct ring *r) { consume_behind(r, 1); }
static void behind2_consumer(struct ring *r) { consume_behind(r, 2); }

/* CAB as published: MAGIC behind the ring, CLEAR in what is free, one comparison a record for both; the consumer
 * stays two chunks behind and clears what it has taken. */
static void published_producer(struct ring *r)
{
	word *p = r->buf, *end = p + r->words;
	unsigned spins = 0;
	for (word v = 1; v <= r->n; v++) {
		while (__builtin_expect(peek(p) != CLEAR, 0)) {
			if (peek(p) == MAGIC) {
				p = r->buf;
				continue;
			}
			word *ahead = p + 2 * r->chunk; /* back off until there are two chunks of room */
			if (ahead >= end)
				ahead -= r->words;
			while (peek(ahead) != CLEAR)
				relax(&spins);
			while (peek(p) != CLEAR && peek(p) != MAGIC)
				relax(&spins);
		}
		poke(p, v);
		p++;
	}
	release(&r->head, 1); /* flush */
}

static void published_consumer(struct ring *r)
{
	unsigned spins = 0;
	word left = r->n;
	for (word tail = 0; left > 0; tail++) {
		word *p = r->buf + (tail & (r->chunks - 1)) * r->chunk;
		word *ahead = r->buf + ((tail + 2) & (r->chunks - 1)) * r->chunk;
		while (peek(ahead) == CLEAR && acquire(&r->head) == 0)
			relax(&spins);
		size_t n = left < r->chunk ? left : r->chunk;
		for (size_t i = 0; i < n; i++) {
			r->sum += peek(p + i);
			poke(p + i, CLEAR);
		}
		left -= n;
	}
}

/* N-way: buffers with a flag each, which both sides look at when they change buffers. */
static void nway_producer(struct ring *r)
{
	word *p = r->buf, b = 0, v = 1, mask = r->chunk - 1;
	unsigned spins = 0;
	for (; v <= r->n; v++) {
		*p++ = v;
		step();
		if (__builtin_expect(((p - r->buf) & mask) == 0, 0)) {
			release(&r->full[b * 8], 1);
			b = (b + 1) & (r->chunks - 1);
			while (acquire(&r->full[b * 8]))
				relax(&spins);
			p = r->buf + b * r->chunk;
		}
	}
	release(&r->full[b * 8], 1);
}

static void nway_consumer(struct ring *r)
{
	unsigned spins = 0;
	word left = r->n;
	for (word b = 0; left > 0; b = (b + 1) & (r->chunks - 1)) {
		while (!acquire(&r->full[b * 8]))
			relax(&spins);
		size_t n = left < r->chunk ? left : r->chunk;
		r->sum += sum_of(r->buf + b * r->chunk, n);
		left -= n;
		release(&r->full[b * 8], 0);
	}
}

/* FastForward: each slot is its own flag. The consumer lets the producer get six lines ahead when it has come as near as
 * two. */
#define DANGER (2 * LINE / 8)
#define SAFE (6 * LINE / 8)

static void slots_producer(struct ring *r)
{
	word *p = r->buf, *end = p + r->words;
	unsigned spins = 0;
	for (word v = 1; v <= r->n; v++) {
		while (__builtin_expect(peek(p) != CLEAR, 0))
			relax(&spins);
		poke(p, v);
		if (++p == end)
			p = r->buf;
	}
	release(&r->head, 1);
}

static void slots_consumer(struct ring *r)
{
	word mask = r->words - 1;
	unsigned spins = 0;
	for (word at = 0; at < r->n; at++) {
		if ((at & (DANGER - 1)) == 0 && peek(&r->buf[(at + DANGER) & mask]) == CLEAR)
			while (peek(&r->buf[(at + SAFE) & mask]) == CLEAR && acquire(&r->head) == 0)
				relax(&spins);
		word *p = &r->buf[at & mask], v;
		while ((v = peek(p)) == CLEAR)
			relax(&spins);
		r->sum += v;
		poke(p, CLEAR);
	}
}

/* Slots looked at by batches, in the manner of B-Queue: a slot a batch ahead that is free says that all in front of it are;
 * the batch is halved where it is not. */
#define BATCH 2048

/* Back off before going nearer to the other side. */
static word smaller(word batch, unsigned *spins)
{
	relax(spins);
	if (*spins % 64)
		return batch;
	return batch > 1 ? batch / 2 : BATCH;
}

static void batched_producer(struct ring *r)
{
	word at = 0, limit = 0, mask = r->words - 1;
	unsigned spins = 0;
	for (word v = 1; v <= r->n; v++) {
		if (__builtin_expect(at == limit, 0)) {
			word batch = BATCH;
			while (peek(&r->buf[(at + batch - 1) & mask]) != CLEAR)
				batch = smaller(batch, &spins);
			limit = at + batch;
		}
		poke(&r->buf[at++ & mask], v);
	}
	release(&r->head, 1);
}

static void batched_consumer(struct ring *r)
{
	word at = 0, limit = 0, mask = r->words - 1;
	unsigned spins = 0;
	while (at < r->n) {
		word batch = BATCH;
		while (limit = at + batch, limit > r->n || peek(&r->buf[(limit - 1) & mask]) == CLEAR) {
			batch = smaller(batch, &spins);
		}
		for (; at < limit; at++) {
			r->sum += peek(&r->buf[at & mask]);
			poke(&r->buf[at & mask], CLEAR);
		}
	}
}

/* Indices, each side with a copy of the other's that it renews when that says full or empty; the producer tells of
 * its own once in so many records, or when it has to wait (in the manner of MCRingBuffer). */
#define TELL 512

static void cached_producer(struct ring *r)
{
	word at = 0, seen = 0, mask = r->words - 1;
	unsigned spins = 0;
	for (; at < r->n;) {
		while (__builtin_expect(at - seen == r->words, 0)) {
			release(&r->head, at);
			seen = acquire(&r->tail);
			if (at - seen == r->words)
				relax(&spins);
		}
		r->buf[at & mask] = at + 1;
		step();
		if (__builtin_expect((++at & (TELL - 1)) == 0, 0))
			release(&r->head, at);
	}
	release(&r->head, at);
}

static void cached_consumer(struct ring *r)
{
	word seen = 0, sum = 0, mask = r->words - 1;
	unsigned spins = 0;
	for (word at = 0; at < r->n;) {
		while (__builtin_expect(at == seen, 0)) {
			release(&r->tail, at);
			seen = acquire(&r->head);
			if (at == seen)
				relax(&spins);
		}
		sum += r->buf[at & mask];
		step();
		if (__builtin_expect((++at & (TELL - 1)) == 0, 0))
			release(&r->tail, at);
	}
	r->sum = sum;
}

static const struct {
	void (*produce)(struct ring *), (*consume)(struct ring *);
} kinds[] = {
	{cab_producer, cab_consumer},         {cab8_producer, cab_consumer},
	{published_producer, published_consumer}, {nway_producer, nway_consumer},
	{slots_producer, slots_consumer},     {batched_producer, batched_consumer},
	{cached_producer, cached_consumer},   {cab8_producer, behind1_consumer},
	{cab8_producer, behind2_consumer},
};

struct side {
	struct ring *ring;
	int which;
	void (*run)(struct ring *);
	double at[2]; /* when it began and ended */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *run(void *arg)
{
	struct side *s = arg;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(s->ring->cpu[s->which], &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
	pthread_barrier_wait(&s->ring->start);
	s->at[0] = now(); /* by the threads themselves: who waits for them may get no processor */
	s->run(s->ring);
	s->at[1] = now();
	return NULL;
}

/* Hands n records over; the seconds that it took, or less than 0: what came is not what was sent, or there is no memory. */
double alleria_bench_ring(int kind, size_t words, size_t chunk, unsigned long long n, int producer, int consumer)
{
	struct ring *r;
	pthread_t t[2];
	if (posix_memalign((void **)&r, LINE, sizeof *r))
		return -1;
	memset(r, 0, sizeof *r);
	if (posix_memalign((void **)&r->buf, 4096, (words + 1) * sizeof(word))) {
		free(r);
		return -1;
	}
	memset(r->buf, 0, words * sizeof(word)); /* CLEAR, and there: page faults are not measured */
	r->buf[words] = MAGIC;
	r->words = words, r->chunk = chunk, r->chunks = words / chunk, r->n = n;
	r->cpu[0] = producer, r->cpu[1] = consumer;
	pthread_barrier_init(&r->start, NULL, 3);
	struct side s[2] = {{r, 0, kinds[kind].produce, {0}}, {r, 1, kinds[kind].consume, {0}}};
	int made = 0;
	double took = -1;
	for (; made < 2; made++)
		if (pthread_create(&t[made], NULL, run, &s[made]))
			abort();
	pthread_barrier_wait(&r->start);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	took = s[1].at[1] - s[0].at[0];
	if (r->sum != n * (n + 1) / 2)
		took = -1;
	pthread_barrier_destroy(&r->start);
	free(r->buf);
	free(r);
	return took;
}
