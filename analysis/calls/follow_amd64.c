//go:build cgo

// The loop over whole executions: those that stay in their function, calls, returns and jumps as nearly all of them are. Whatever is
// not, is left to Go as it is: nothing has been changed for it. The same in Go is Tracker.whole and what it calls.
#include "follow_amd64.h"
#include <emmintrin.h>

// give gives a node what it is due: two times four numbers of 32 bits.
static inline void add64(uint64_t *to, __m128i n)
{
	_mm_storeu_si128((__m128i *)to, _mm_add_epi64(_mm_loadu_si128((__m128i *)to), n));
}

static inline void give(struct follow *f, struct node *n, __m128i a, __m128i b)
{
	const __m128i zero = _mm_setzero_si128();
	add64(n->own, _mm_unpacklo_epi32(a, zero));
	add64(n->own + 2, _mm_unpackhi_epi32(a, zero));
	add64(n->own + 4, _mm_unpacklo_epi32(b, zero));
	f->executed += (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(b, 8));
}

static inline __m128i counts(const uint32_t *c)
{
	return _mm_loadu_si128((const __m128i *)c);
}

// child is the number of a child of a node, 0 if there is none yet.
static inline int32_t child(const struct follow *f, const struct node *nodes, const int32_t *table, int32_t parent, int32_t fn, uint64_t site)
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

// find is child behind a look at the one that was found by the same instruction last.
static inline int32_t find(const struct follow *f, const struct node *nodes, const int32_t *table, int32_t *latest, int32_t parent, int32_t fn, uint64_t site)
{
	int32_t n = *latest;
	if ((uint64_t)n < f->nodes && nodes[n].parent == parent && nodes[n].fn == fn && nodes[n].site == site)
		return n;
	if ((n = child(f, nodes, table, parent, fn, site)) != 0)
		*latest = n;
	return n;
}

// push pushes a frame; 0: there is no room, or no node.
static inline int push(struct follow *f, struct node *nodes, struct frame *frames, int32_t n, int32_t fn, const struct step *s, uint8_t tail, uint64_t slot, uint64_t ret)
{
	if (n == 0 || f->frames == f->room)
		return 0;
	nodes[n].calls++;
	frames[f->frames++] = (struct frame){.node = n, .fn = fn, .match = s->fn, .tail = tail, .slot = slot, .ret = ret};
	return 1;
}

// call goes on in a function that was called.
static inline int call(struct follow *f, const struct step *s, struct node *nodes, struct frame *frames, const int32_t *table, int32_t *latest)
{
	int32_t parent = ROOT;
	if (f->frames > 0) {
		const struct frame *top = &frames[f->frames - 1];
		parent = top->node;
		if (f->slot && top->slot && top->slot <= f->slot)
			return 0;
	}
	if ((f->target && f->target != s->addr) || f->ret == s->addr || s->named < 0)
		return 0;
	int32_t n = find(f, nodes, table, latest + f->from, parent, s->named, f->site);
	return push(f, nodes, frames, n, s->named, s, 0, f->slot, f->ret);
}

// ret goes on behind the call that a return goes back to.
static inline int ret(struct follow *f, const struct step *s, const struct frame *frames)
{
	uint64_t n = f->frames, least = n > MOST_FRAMES ? n - MOST_FRAMES : 0;
	if (f->slot == 0)
		return 0;
	for (uint64_t i = n; i-- > least;) {
		if (frames[i].slot == f->slot && !frames[i].tail) {
			if (i == 0 || frames[i - 1].match != s->fn)
				return 0;
			f->frames = i;
			return 1;
		}
		if (frames[i].base)
			return 0;
	}
	return 0;
}

// jump goes on in another function without a call or a return.
static inline int jump(struct follow *f, const struct step *s, struct node *nodes, struct frame *frames, const int32_t *table, int32_t *latest)
{
	uint64_t n = f->frames;
	if (n == 0)
		return 0;
	const struct frame *top = &frames[n - 1];
	if (top->match == s->fn)
		return 1;
	if (!s->entry) {
		for (uint64_t i = n, least = n > MOST_FRAMES ? n - MOST_FRAMES : 0; i-- > least && !(i + 1 < n && frames[i + 1].base);) {
			if (frames[i].match == s->fn) {
				f->frames = i + 1;
				return 1;
			}
		}
		return 0;
	}
	for (uint64_t i = n - 1, least = n > MOST_TAILS ? n - MOST_TAILS : 0; i > least && frames[i].tail; i--) {
		if (frames[i].match == s->fn && frames[i - 1].match == top->match) {
			f->frames = i + 1;
			nodes[frames[i].node].calls++;
			return 1;
		}
	}
	int32_t c = find(f, nodes, table, latest + s->self, top->node, s->fn, 0);
	return push(f, nodes, frames, c, s->fn, s, 1, top->slot, 0);
}

// arrive makes the top frame that of the function of a step; 0: that is left to Go.
static inline int arrive(struct follow *f, const struct step *s, struct node *nodes, struct frame *frames, const int32_t *table, int32_t *latest)
{
	int ok;
	switch (f->op) {
	case OP_CALL:
		ok = call(f, s, nodes, frames, table, latest);
		break;
	case OP_RET:
		ok = ret(f, s, frames);
		break;
	default:
		ok = jump(f, s, nodes, frames, table, latest);
	}
	if (!ok)
		return 0;
	f->op = OP_NONE;
	f->match = s->fn;
	f->cur = frames[f->frames - 1].node;
	return 1;
}

// other follows an execution that calls, returns or does not stay in its function; 0: the rest of it, from f->step on, is left to Go.
static __attribute__((noinline)) int other(struct follow *f, const uint64_t *words, const struct plan *p, uint32_t head, const struct step *steps,
	struct node *nodes, struct frame *frames, const int32_t *table, int32_t *latest)
{
	uint64_t last = p->at + (head >> STEPS_SHIFT & 0xff);
	if (last > f->steps)
		return 0;
	const struct step *s = &steps[p->at], *end = &steps[last];
	for (; s < end; s++) {
		if (s->fn != f->match && !arrive(f, s, nodes, frames, table, latest)) {
			f->step = s - &steps[p->at];
			return 0;
		}
		give(f, &nodes[f->cur], counts(s->counts), counts(s->counts + 4));
		if (s->op != OP_NONE) {
			f->op = s->op;
			f->site = s->site;
			f->ret = s->ret;
			f->target = s->target;
			f->slot = s->slot < 0 ? 0 : words[1 + s->slot] + s->offset;
			f->from = s->self;
			f->match = -1;
		}
	}
	return 1;
}

void follow_run(struct follow *f, const uint64_t *words, const struct plan *plans, const struct step *steps, uint64_t *runs,
	struct node *nodes, struct frame *frames, const int32_t *table, int32_t *latest)
{
	uint64_t at = f->at, blocks = f->blocks, most = f->words, limit = f->limit;
	f->step = 0;
	while (at < limit) {
		__m128i a = _mm_setzero_si128(), b = a;
		int32_t match = f->match;
		uint32_t head;
		uint64_t id, n;
		const struct plan *p;
		do { // as long as it stays in the function
			id = words[at];
			head = 0;
			if (id >= blocks)
				break;
			p = &plans[id];
			head = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);
			n = head & WORDS_MASK;
			if (!(head & SIMPLE) || p->fn != match || n > most - at)
				break;
			a = _mm_add_epi32(a, counts(p->counts));
			b = _mm_add_epi32(b, counts(p->counts + 4));
			runs[id]++;
			head = 0;
			// Predicted: where the next one begins would be waited for. The compiler is not to choose a conditional move.
			if (n == 1) {
				at++;
				__asm__ volatile("" : "+r"(at));
			} else {
				at += n;
			}
		} while (at < limit);
		give(f, &nodes[f->cur], a, b);
		if (head == 0) {
			if (at < limit)
				break;
			continue;
		}
		if (n > most - at || !other(f, words + at, p, head, steps, nodes, frames, table, latest))
			break;
		runs[id]++;
		at += n;
	}
	f->at = at;
}
