//go:build cgo

// The loop over whole executions, with AVX-512: addresses of eight accesses at a time, and the sets of the first
// levels. What the first levels miss, or in lists all that is not to the latest line of its set, is listed for Go, which goes on behind them; whatever is not an execution of
// a block with a plan is left to Go altogether. The same in Go is Simulator.whole and Simulator.run.
#include "filter_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2")))

int filter_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

// use refers to a line of a set with LRU: those in front of it move back by one place.
TARGET static inline int use(uint64_t *set, uint64_t ways, uint64_t tag)
{
	if (ways == 8) {
		__m512i old = _mm512_loadu_si512(set), t = _mm512_set1_epi64(tag);
		__mmask8 hit = _mm512_cmpeq_epi64_mask(old, t);
		unsigned p = _tzcnt_u32(hit | 0x80); // without a hit the last one
		_mm512_storeu_si512(set, _mm512_mask_blend_epi64((__mmask8)((2u << p) - 1), old, _mm512_alignr_epi64(old, t, 7)));
		return !hit;
	}
	uint64_t front = tag;
	for (uint64_t i = 0; i < ways; i++) {
		uint64_t old = set[i];
		set[i] = front;
		if (old == tag)
			return 0;
		front = old;
	}
	return 1;
}

static inline void event(struct filter *f, uint64_t *events, uint64_t addr, uint64_t id, uint64_t op, uint64_t pos)
{
	events[f->events++] = addr;
	events[f->events++] = id << 32 | op;
	events[f->events++] = pos;
}

// code refers to a block's lines of code.
TARGET static void code(struct filter *f, struct plan *p, const uint64_t *fetches, uint64_t id, uint64_t pos, uint64_t *tags, uint64_t *latest, uint64_t *events)
{
	unsigned same = 1;
	for (unsigned k = 0; k < p->fetches; k++) {
		uint64_t line = fetches[k * FETCH_WORDS], set = line & f->i_mask;
		if (latest[set] == line + 1)
			continue;
		same = 0;
		latest[set] = line + 1;
		if (f->list || use(tags + set * f->i_ways, f->i_ways, line + 1)) {
			uint64_t op = id << 32 | fetches[k * FETCH_WORDS + 1];
			// One miss, however many lines.
			if (f->events == 0 || events[f->events - 2] != op || events[f->events - 1] != pos)
				event(f, events, 0, id, fetches[k * FETCH_WORDS + 1], pos);
		}
	}
	if (same)
		p->latest = f->moved;
	else
		f->moved++;
}

// data refers to the data of one access.
TARGET __attribute__((always_inline)) static inline void data(struct filter *f, const struct filter *c, uint64_t addr, uint64_t last, uint64_t id, uint64_t op, uint64_t pos, uint64_t *tags, uint64_t *latest, uint64_t *events)
{
	int miss = c->list;
	for (uint64_t l = addr >> c->d_shift, end = (addr + last) >> c->d_shift;; l++) {
		uint64_t set = l & c->d_mask;
		latest[set] = l + 1;
		if (!c->list)
			miss |= use(tags + set * c->d_ways, c->d_ways, l + 1);
		if (l == end)
			break;
	}
	if (miss)
		event(f, events, addr, id, op, pos);
}

// order puts the events of one execution in the order of its operations: those of code came first.
static void order(uint64_t *from, uint64_t *to)
{
	for (uint64_t *e = from + EVENT_WORDS; e < to; e += EVENT_WORDS) {
		uint64_t addr = e[0], key = e[1], *k = e; // all have the same position
		for (; k > from && k[-2] > key; k -= EVENT_WORDS) {
			k[0] = k[-3];
			k[1] = k[-2];
		}
		k[0] = addr;
		k[1] = key;
	}
}

enum { FEW = 3 }; // lanes, as a mask: two

TARGET void filter_run(struct filter *f, const uint64_t *words, struct plan *plans, const uint64_t *arena, uint64_t *runs, uint64_t *execs,
	uint64_t *d_tags, uint64_t *d_latest, uint64_t *i_tags, uint64_t *i_latest, uint64_t *events)
{
	const __m128i shift = _mm_cvtsi64_si128(f->d_shift);
	const __m512i mask = _mm512_set1_epi64(f->d_mask), one = _mm512_set1_epi64(1);
	const struct filter c = *f; // of which nothing changes that is looked at; what is written through pointers may be f's
	while (f->at < c.words && f->events + EVENT_WORDS * (MOST_OPS + 1) <= c.room) {
		uint64_t id = words[f->at];
		if (id >= c.blocks)
			return;
		struct plan *p = &plans[id];
		if (p->words == 0 || p->words > c.words - f->at)
			return;
		const uint64_t *w = words + f->at + 1, *g = arena + p->at + p->fetches * FETCH_WORDS;
		uint64_t before = f->events, pos = c.pos + f->at;
		runs[id]++;
		if (execs)
			execs[id]++;
		f->at += p->words;
		if (p->latest != f->moved && c.i_ways)
			code(f, p, arena + p->at, id, pos, i_tags, i_latest, events);
		uint64_t fetched = f->events;
		for (unsigned n = p->groups; n; n--, g += GROUP_WORDS) {
			__mmask8 lanes = g[GROUP_MASKS], with = g[GROUP_MASKS] >> 8;
			if (lanes <= FEW) { // a gather takes as long as some loads
				for (unsigned k = 0; lanes >> k; k++) {
					uint64_t addr = g[GROUP_OFFSET + k];
					if (with >> k & 1)
						addr += w[g[GROUP_INDEX + k]];
					uint64_t line = addr >> c.d_shift;
					if (d_latest[line & c.d_mask] == line + 1 && (addr + g[GROUP_LAST + k]) >> c.d_shift == line)
						continue;
					data(f, &c, addr, g[GROUP_LAST + k], id, (uint16_t)(g[GROUP_OPS + k / 4] >> k % 4 * 16), pos, d_tags, d_latest, events);
				}
				continue;
			}
			__m512i index = _mm512_loadu_si512(g + GROUP_INDEX), in;
			if (p->words <= LANES + 1) // _bzhi: as many as there are
				in = _mm512_maskz_permutexvar_epi64(with, index, _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, p->words - 1), w));
			else
				in = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), with, index, w, 8);
			__m512i addr = _mm512_add_epi64(in, _mm512_loadu_si512(g + GROUP_OFFSET));
			__m512i line = _mm512_srl_epi64(addr, shift);
			__m512i end = _mm512_srl_epi64(_mm512_add_epi64(addr, _mm512_loadu_si512(g + GROUP_LAST)), shift);
			__m512i was = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, _mm512_and_epi64(line, mask), d_latest, 8);
			__mmask8 other = _mm512_mask_cmpneq_epi64_mask(lanes, was, _mm512_add_epi64(line, one)) |
				_mm512_mask_cmpneq_epi64_mask(lanes, line, end);
			if (!other)
				continue;
			// One by one from the first that other something: later ones may find their sets changed.
			uint64_t at[LANES], tag[LANES];
			_mm512_storeu_si512(at, addr);
			_mm512_storeu_si512(tag, line);
			for (unsigned k = _tzcnt_u32(other); lanes >> k; k++) {
				if (!(other >> k & 1) && d_latest[tag[k] & c.d_mask] == tag[k] + 1)
					continue;
				uint16_t op = (uint16_t)(g[GROUP_OPS + k / 4] >> k % 4 * 16);
				data(f, &c, at[k], g[GROUP_LAST + k], id, op, pos, d_tags, d_latest, events);
			}
		}
		if (fetched > before && f->events > fetched)
			order(events + before, events + f->events);
	}
}
