//go:build cgo

// References to lines that are not recent, with AVX-512: their distances, and new times of the lines that the list has put out. Lines that were not met before, and what
// needs more room, are left to Go. The same in Go is Counter.far and Counter.tick.
#include "near_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2,popcnt,lzcnt")))

// found is where a line's entry is, or a free one.
TARGET static inline struct entry *found(struct entry *table, uint64_t mask, uint64_t key, uint64_t hash)
{
	for (uint64_t i = home(hash, mask);; i = (i + 1) & mask)
		if (table[i].line == key || table[i].line == 0)
			return &table[i];
}

// before is how many times are less than t.
TARGET static inline uint64_t before(const struct far *f, const uint64_t *bits, const uint32_t *sums, uint32_t t)
{
	__m512i all = _mm512_setzero_si512();
	uint32_t i = t >> GROUP_SHIFT;
	const __m512i group = _mm512_loadu_si512(bits + i * (GROUP_BITS / 64));
	for (uint64_t l = 0; l < f->levels; l++, i >>= FAN_SHIFT) {
		const __mmask16 less = (1u << (i % FAN)) - 1;
		all = _mm512_mask_add_epi32(all, less, all, _mm512_loadu_si512(sums + f->level[l] + i / FAN * FAN));
	}
	// Of each word of the group the bits below t's: none, some or all. A shift by 64 leaves nothing.
	const __m512i from = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);
	const __m512i below = _mm512_max_epi64(_mm512_sub_epi64(_mm512_set1_epi64(t % GROUP_BITS), from), _mm512_setzero_si512());
	const __m512i ones = _mm512_set1_epi64(-1);
	uint64_t w[8], n = (uint32_t)_mm512_reduce_add_epi32(all);
	_mm512_storeu_si512(w, _mm512_andnot_si512(_mm512_sllv_epi64(ones, below), group));
#pragma GCC unroll 8
	for (int k = 0; k < 8; k++)
		n += _mm_popcnt_u64(w[k]);
	return n;
}

// change takes a time in or out.
static inline void change(const struct far *f, uint64_t *bits, uint32_t *sums, uint32_t t, uint32_t by)
{
	bits[t / 64] ^= 1ull << (t % 64);
	uint32_t i = t >> GROUP_SHIFT;
	for (uint64_t l = 0; l < f->levels; l++, i >>= FAN_SHIFT)
		sums[f->level[l] + i] += by;
}

// bucket is Go's bucket.
TARGET static inline uint64_t bucket(uint64_t d)
{
	if (d < 1 << SUB_BITS)
		return d;
	const unsigned octave = 63 - _lzcnt_u64(d) - SUB_BITS;
	return ((octave + 1) << SUB_BITS) + (d >> octave & ((1 << SUB_BITS) - 1));
}

enum { AHEAD = 4, FAR_AHEAD = 12 };

TARGET void far_pass(struct far *f, const struct missed *missed, struct entry *table, uint64_t *bits, uint32_t *sums, double *hist, uint32_t *stale)
{
	const uint64_t mask = f->mask;
	const double weight = f->weight;
	uint64_t stales = 0, at = f->at;
	for (; at < f->count; at++) {
		const struct missed *m = &missed[at];
		if (m->out == 0 || f->time + 1 >= f->room)
			break;
		if (at + FAR_AHEAD < f->count) // where near_pass was on another processor
			__builtin_prefetch(&table[home(m[FAR_AHEAD].hash, mask)]);
		if (at + AHEAD < f->count) // the entry is there since near_pass, the bits of its time are not; another's entry does no harm
			__builtin_prefetch(&bits[table[home(m[AHEAD].hash, mask)].time / GROUP_BITS * (GROUP_BITS / 64)]);
		struct entry *e = found(table, mask, m->key, m->hash);
		if (e->line == 0)
			break;
		uint64_t d = f->recent + f->in - before(f, bits, sums, e->time) - 1;
		if (weight != 0)
			d = (uint64_t)((double)d * weight);
		const uint64_t b = bucket(d);
		if (b >= f->buckets)
			break;
		hist[b]++;
		change(f, bits, sums, e->time, -1);
		e->time = 0;
		stale[stales] = e->epoch;
		stales += e->epoch != f->now;
		struct entry *o = found(table, mask, m->out, mix(m->out - 1));
		o->time = ++f->time;
		o->epoch = m->epoch;
		change(f, bits, sums, o->time, 1);
	}
	f->at = at;
	f->stale = stales;
}
