//go:build cgo

// The loop over whole executions: those that stay in their function, calls, returns and jumps as nearly all of them are. Whatever is
// not, is left to Go as it is: nothing has been changed for it. The same in Go is Tracker.whole and what it calls.
#include "follow_amd64.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define RARELY(c) __builtin_expect(!!(c), 0)

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));
typedef uint64_t wide __attribute__((vector_size(8 * LANES)));

INLINE lanes counts(const uint32_t *c)
{
	lanes l;
	memcpy(&l, c, sizeof l);
	return l;
}

// give gives a node what it is due.
INLINE void give(struct node *n, lanes due)
{
	wide sum;
	memcpy(&sum, n->own, sizeof sum);
	sum += __builtin_convertvector(due, wide);
	memcpy(n->own, &sum, sizeof sum);
}

// by_words gives a node what words say.
static void by_words(struct follow *f, const struct access *a, uint32_t n, const uint64_t *words, struct node *to)
{
	for (; n; n--, a++) {
		uint64_t aux = words[a->aux], times, bytes;
		switch (a->kind) {
		case STRING:
			times = aux - words[a->word];
			if ((int64_t)times < 0)
				times = -times;
			times /= a->size;
			bytes = times * a->size;
			break;
		case SIZED:
			times = aux != 0;
			bytes = aux;
			break;
		default:
			times = __builtin_popcountll(aux & a->lanes);
			bytes = times * a->size;
			if (a->kind == PACKED)
				times = times != 0;
		}
		if (times == 0)
			continue;
		int at = 2 + a->store;
		to->own[at] += times;
		to->own[at + 2] += bytes;
		f->dyn[at] += times;
		f->dyn[at + 2] += bytes;
	}
}

// child is the number of a child of a node, 0 if there is none yet.
static int32_t child(const struct follow *f, const struct node *nodes, const int32_t *table, int32_t parent, int32_t fn, uint64_t site)
{
	if (nodes[parent].depth >= MOST_DEPTH)
		return 0;
	uint64_t h = ((uint64_t)(uint32_t)parent << 32 ^ (uint64_t)(uint32_t)fn ^ site * 0x9E3779B97F4A7C15u) * 0xff51afd7ed558ccdu;
	for (uint64_t i = h >> f->shift;; i = (i + 1) & f->mask) {
		int32_t n = table[i] - 1;
		if (n < 0)
			return 0;
		if (nodes[n].parent == parent && nodes[n].fn == fn && nodes[n].site == site)
			return n;
	}
}

// called is the node of a function that was called, 0 if that is left to Go.
static __attribute__((noinline)) int32_t called(const struct follow *f, const struct step *from, const struct step *to, const struct node *nodes, const int32_t *table, int32_t parent)
{
	if ((from->target && from->target != to->addr) || from->ret == to->addr || to->named < 0)
		return 0;
	return child(f, nodes, table, parent, to->named, from->site);
}

// returned is how many frames there are behind a return that does not leave the top one, 0 if that is left to Go.
static __attribute__((noinline)) uint64_t returned(const struct frame *frames, uint64_t n, uint64_t slot, int32_t match)
{
	if (slot == 0)
		return 0;
	for (uint64_t i = n, least = n > MOST_FRAMES ? n - MOST_FRAMES : 0; i-- > least;) {
		if (frames[i].slot == slot && !frames[i].tail)
			return i > 0 && frames[i - 1].match == match ? i : 0;
		if (frames[i].base)
			return 0;
	}
	return 0;
}

// within is how many frames there are behind a jump into the middle of a function, 0 if that is left to Go.
static __attribute__((noinline)) uint64_t within(const struct frame *frames, uint64_t n, int32_t match)
{
	for (uint64_t i = n, least = n > MOST_FRAMES ? n - MOST_FRAMES : 0; i-- > least;) {
		if (frames[i].match == match)
			return i + 1;
		if (frames[i].base)
			return 0;
	}
	return 0;
}

// again is how many frames there are behind a jump to a function that goes on in others and these in it, 0 if it is no such.
INLINE uint64_t again(const struct frame *frames, uint64_t n, int32_t match)
{
	for (uint64_t i = n - 1, least = n > MOST_SEARCH ? n - MOST_SEARCH : 0; i > least && frames[i].tail; i--)
		if (frames[i].match == match && frames[i - 1].match == frames[n - 1].match)
			return i + 1;
	return 0;
}

// place fills a frame.
INLINE void place(struct frame *to, int32_t node, int32_t fn, int32_t match, uint8_t tail, uint64_t slot, uint64_t ret)
{
	to->node = node;
	to->fn = fn;
	to->match = match;
	to->tail = tail;
	to->base = 0;
	to->slot = slot;
	to->ret = ret;
	to->state[0] = to->state[1] = 0;
}

INLINE void run(struct follow *f, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const int32_t *table, struct found *found)
{
	const uint64_t blocks = f->blocks, most = f->words, limit = f->limit, room = f->room, tree = f->tree;
	const struct step before = {.op = f->op, .self = 0, .site = f->site, .ret = f->ret, .target = f->target};
	const struct step *left = f->op ? &before : NULL; // what comes next was called by it, or returned to
	uint64_t at = f->at, n = f->frames, slot = f->slot;
	int32_t match = f->match, cur = f->cur;
	lanes due = {0};
	f->step = 0;
	found[0].key = ~0ul; // who that was is not told by its number
	while (at < limit) {
		const uint64_t *w = words + at;
		uint64_t id = *w;
		if (RARELY(id >= blocks))
			break;
		const struct plan *p = &plans[id];
		uint32_t head = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);
		uint64_t length = head & WORDS_MASK;
		if (RARELY(length == 0 || length > most - at))
			break;
		if (head & SIMPLE && p->fn == match) {
			due += counts(p->counts);
		} else {
			const struct step *s = &steps[p->at], *end = s + (head >> STEPS_SHIFT & 0xff);
			if (RARELY(end > steps + f->steps))
				break;
			do {
				if (s->fn != match) {
					const struct frame *top = &frames[n - 1];
					int32_t to;
					uint64_t behind = 0, calls = 1;
					if (RARELY(n == 0))
						goto out;
					if (left == NULL) {
						if (top->match == s->fn)
							behind = n, calls = 0;
						else if (!s->entry)
							behind = within(frames, n, s->fn), calls = 0;
						else
							behind = again(frames, n, s->fn);
						if (behind == 0) {
							struct found *was = &found[2 * s->self + 1];
							uint64_t key = tree | (uint32_t)top->node;
							if (was->key != key) {
								to = s->entry ? child(f, nodes, table, top->node, s->fn, 0) : 0;
								if (to == 0)
									goto out;
								*was = (struct found){.key = key, .child = to};
							}
							if (RARELY(n == room || !s->entry))
								goto out;
							place(&frames[n++], was->child, s->fn, s->fn, 1, top->slot, 0);
						} else {
							n = behind;
						}
					} else if (left->op == OP_CALL) {
						struct found *was = &found[2 * left->self];
						uint64_t key = tree | (uint32_t)top->node;
						if (RARELY(n == room || (top->slot <= slot && slot && top->slot)))
							goto out;
						if (was->key != key || was->callee != s->self) {
							to = called(f, left, s, nodes, table, top->node);
							if (to == 0)
								goto out;
							*was = (struct found){.key = key, .callee = s->self, .child = to};
						}
						place(&frames[n++], was->child, s->named, s->fn, 0, slot, left->ret);
					} else {
						if (slot && top->slot == slot && !top->tail && n > 1 && top[-1].match == s->fn) {
							n--;
						} else {
							behind = returned(frames, n, slot, s->fn);
							if (behind == 0)
								goto out;
							n = behind;
						}
						calls = 0;
					}
					give(&nodes[cur], due);
					due = (lanes){0, 0, 0, 0, 0, 0, 0, calls};
					cur = frames[n - 1].node;
					match = s->fn;
					left = NULL;
				}
				due += counts(s->counts);
				if (s->words)
					by_words(f, accesses + s->words_at, s->words, w + 1, &nodes[cur]);
				if (s->op != OP_NONE) {
					left = s;
					slot = s->slot < 0 ? 0 : w[1 + s->slot] + s->offset;
					match = -1;
				}
				s++;
				f->step++;
			} while (s < end);
			f->step = 0;
		}
		runs[id]++;
		// Predicted: where the next one begins would be waited for. The compiler is not to choose a conditional move.
		if (length == 1) {
			at++;
			__asm__ volatile("" : "+r"(at));
		} else if (length == 2) {
			at += 2;
			__asm__ volatile("" : "+r"(at));
		} else {
			at += length;
		}
	}
out:
	give(&nodes[cur], due);
	f->at = at;
	f->frames = n;
	f->match = match;
	f->cur = cur;
	f->op = OP_NONE;
	if (left) {
		f->op = left->op;
		f->site = left->site;
		f->ret = left->ret;
		f->target = left->target;
		f->slot = slot;
	}
}

#define TARGET __attribute__((target("avx512f,avx512vl,popcnt")))

int follow_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("popcnt");
}

TARGET static void run_vector(struct follow *f, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const int32_t *table, struct found *found)
{
	run(f, words, plans, steps, accesses, runs, nodes, frames, table, found);
}

void follow_run(struct follow *f, int vector, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const int32_t *table, struct found *found)
{
	if (vector)
		run_vector(f, words, plans, steps, accesses, runs, nodes, frames, table, found);
	else
		run(f, words, plans, steps, accesses, runs, nodes, frames, table, found);
}
