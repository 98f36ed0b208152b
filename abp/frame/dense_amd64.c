//go:build cgo

// The loop of denseOf (dense.go) with AVX-512: eight words at a time, without a branch for
// what they hold. Whatever is not an execution of a known block is left to denseOf.
#include "dense_amd64.h"
#include <immintrin.h>
#include <string.h>

// Processors with VBMI2 have the other sets, but a hypervisor may hide them one by one.
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))

int dense_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi2") &&
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

// symbol ends a run of predicted blocks.
static inline void symbol(struct dense *s, uint8_t *runs, uint8_t *symbols, uint8_t sym)
{
	s->items += s->id_hits + 1;
	for (; s->id_hits >= ID_RUN; s->id_hits -= ID_RUN)
		runs[s->runs++] = ID_RUN;
	runs[s->runs++] = s->id_hits;
	symbols[s->symbols++] = sym;
	s->id_hits = 0;
}

// number writes the LEB128 of the zigzag of a difference.
static inline void number(struct dense *s, uint8_t *numbers, int64_t d)
{
	uint64_t z = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
	for (; z >= 0x80; z >>= 7)
		numbers[s->numbers++] = z | 0x80;
	numbers[s->numbers++] = z;
}

// unpredicted writes which block comes instead of the predicted one. The caller has
// looked whether it is a known one.
static inline void unpredicted(struct dense *s, uint32_t id, uint32_t *entry, struct block *b, struct past *past,
	uint64_t *lasts, uint8_t *runs, uint8_t *symbols, uint8_t *numbers, uint32_t *touched)
{
	struct past *p = past + id, *l = past + s->last;
	if (p->gen != s->gen) {
		memset(lasts + b->base, 0, 8 * (size_t)b->words);
		b->execs = 0;
		*p = (struct past){s->gen, 0, 0};
		touched[s->touched++] = id;
		symbol(s, runs, symbols, SYM_NEW);
	} else if (l->next == id) {
		symbol(s, runs, symbols, SYM_NEXT);
	} else if (l->next2 == id) {
		symbol(s, runs, symbols, SYM_NEXT2);
	} else {
		symbol(s, runs, symbols, SYM_NUMBER);
		number(s, numbers, (int64_t)id - (int64_t)s->last);
	}
	if (l->next != id) {
		l->next2 = l->next;
		l->next = id;
	}
	*entry = id;
}

TARGET void dense_run(struct dense *s, const uint64_t *words, uint32_t *ids, struct block *blocks, struct past *past,
	uint64_t *lasts, uint8_t *ctl, uint8_t *pay, uint8_t *runs, uint8_t *symbols, uint8_t *numbers,
	uint32_t *touched, uint64_t *dynamic)
{
	const __m512i places = _mm512_set1_epi64(0x0706050403020100);
	const __m512i first = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0));
	const __m512i eight = _mm512_set1_epi64(8);
	const uint64_t end = s->words;
	uint64_t at = s->at, hits = s->id_hits, weight = s->weight, time = s->time;
	uint32_t hist = s->hist;
	uint8_t *c = ctl + s->ctl, *p = pay + s->pay;

	while (at < end) {
		uint64_t w = words[at];
		uint32_t *entry = ids + (hist * 0x9E3779B1u >> (32 - ID_BITS));
		struct block *b = blocks + w;
		if (*entry == w) {
			// An empty entry predicts block 0, which has no words but is none.
			if (b->words >= end - at || w == 0)
				break;
			hits++;
		} else {
			if (w >= s->blocks || b->base == 0 || b->words >= end - at)
				break;
			s->id_hits = hits;
			unpredicted(s, w, entry, b, past, lasts, runs, symbols, numbers, touched);
			hits = 0;
		}
		hist = hist << 4 ^ (uint32_t)w;
		s->last = w;
		b->execs++;
		weight += b->weight;
		if (b->flags & FLAG_DYNAMIC)
			dynamic[s->dynamic++] = at;
		at++;
		const uint64_t *v = words + at;
		uint64_t *l = lasts + b->base;
		int32_t left = b->words, stamp = b->stack == NO_STACK ? -1 : b->stack;
		uint64_t now = stamp >= 0 ? v[stamp] : time;
		at += left;
		for (; left > 0; left -= 8, v += 8, l += 8, stamp -= 8) {
			__mmask8 k = _bzhi_u32(0xff, left < 8 ? left : 8);
			__mmask8 t = (uint32_t)stamp < 8 ? 1u << stamp : 0;
			__m512i cur = _mm512_maskz_loadu_epi64(k, v);
			__m512i old = _mm512_loadu_si512(l);
			_mm512_storeu_si512(l, cur);
			old = _mm512_mask_set1_epi64(old, t & k, time);
			__m512i d = _mm512_sub_epi64(cur, old);
			__m512i z = _mm512_xor_si512(_mm512_slli_epi64(d, 1), _mm512_srai_epi64(d, 63));
			__mmask8 changed = _mm512_test_epi64_mask(z, z);
			__m512i size = _mm512_sub_epi64(eight, _mm512_srli_epi64(_mm512_lzcnt_epi64(z), 3));
			// The bytes that count of each word, one behind the other.
			__mmask64 some = _mm512_cmplt_epu8_mask(places, _mm512_shuffle_epi8(size, first));
			_mm512_storeu_si512(p, _mm512_maskz_compress_epi8(some, z));
			p += _mm_popcnt_u64(some);
			// Their numbers, without those of words that have none, four bits each.
			uint64_t sizes = _mm_cvtsi128_si64(_mm512_cvtepi64_epi8(_mm512_maskz_compress_epi64(changed, size)));
			uint64_t bytes = changed | _pext_u64(sizes, 0x0f0f0f0f0f0f0f0f) << 8;
			memcpy(c, &bytes, 8);
			c += 1 + (_mm_popcnt_u32(changed) + 1) / 2;
		}
		time = now;
	}
	s->at = at, s->id_hits = hits, s->weight = weight, s->time = time, s->hist = hist;
	s->ctl = c - ctl, s->pay = p - pay;
}
