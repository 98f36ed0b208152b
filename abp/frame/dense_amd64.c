//go:build cgo

// The loop over executions of version 4 (dense.go), with AVX-512: see there for what it writes, and
// model.go for what is what. Whatever is not an execution of a known block is left to denseOf.
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

// lists is what is written to when a block was not predicted, or has to be listed.
struct lists {
	struct dense *s;
	struct past *past;
	uint64_t *lasts;
	uint8_t *runs, *symbols, *numbers;
	uint32_t *touched;
	uint64_t *dynamic;
};

// symbol ends a run of predicted blocks.
static inline void symbol(struct lists *o, uint64_t hits, uint8_t sym)
{
	struct dense *s = o->s;
	s->items += hits + 1;
	for (; hits >= ID_RUN; hits -= ID_RUN)
		o->runs[s->runs++] = ID_RUN;
	o->runs[s->runs++] = hits;
	o->symbols[s->symbols++] = sym;
}

// number writes the LEB128 of the zigzag of a difference.
static inline void number(struct lists *o, int64_t d)
{
	struct dense *s = o->s;
	uint64_t z = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
	for (; z >= 0x80; z >>= 7)
		o->numbers[s->numbers++] = z | 0x80;
	o->numbers[s->numbers++] = z;
}

// unpredicted writes which block comes instead of the predicted one, after so many that were. The
// caller has looked whether it is a known one. It is no part of the loop, which has more to keep in
// registers than there are.
__attribute__((noinline)) static void unpredicted(struct lists *o, uint64_t hits, uint32_t id, uint32_t last, uint32_t *entry, struct block *b)
{
	struct dense *s = o->s;
	struct past *p = o->past + id, *l = o->past + last;
	if (p->gen != s->gen) {
		memset(o->lasts + b->base, 0, 8 * (size_t)b->words);
		b->execs = 0;
		*p = (struct past){s->gen, 0, 0};
		o->touched[s->touched++] = id;
		symbol(o, hits, SYM_NEW);
	} else if (l->next == id) {
		symbol(o, hits, SYM_NEXT);
	} else if (l->next2 == id) {
		symbol(o, hits, SYM_NEXT2);
	} else {
		symbol(o, hits, SYM_NUMBER);
		number(o, (int64_t)id - (int64_t)last);
	}
	if (l->next != id) {
		l->next2 = l->next;
		l->next = id;
	}
	*entry = id;
}

// group writes eight differences: the low bytes that count of the zigzag of each to *p, and how
// many those are to *c, four bits each.
TARGET static inline void group(const uint64_t *diffs, uint8_t **c, uint8_t **p)
{
	const __m512i places = _mm512_set1_epi64(0x0706050403020100);
	const __m512i first = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0));
	const __m512i eight = _mm512_set1_epi64(8);
	__m512i d = _mm512_loadu_si512(diffs);
	__m512i z = _mm512_xor_si512(_mm512_slli_epi64(d, 1), _mm512_srai_epi64(d, 63));
	__m512i size = _mm512_sub_epi64(eight, _mm512_srli_epi64(_mm512_lzcnt_epi64(z), 3));
	// The bytes that count of each word, one behind the other.
	__mmask64 some = _mm512_cmplt_epu8_mask(places, _mm512_shuffle_epi8(size, first));
	_mm512_storeu_si512(*p, _mm512_maskz_compress_epi8(some, z));
	*p += _mm_popcnt_u64(some);
	uint32_t sizes = _pext_u64(_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(size)), 0x0f0f0f0f0f0f0f0f);
	memcpy(*c, &sizes, 4);
	*c += 4;
}

TARGET void dense_flush(struct dense *s, uint64_t *diffs, uint8_t *ctl, uint8_t *pay)
{
	uint8_t *c = ctl + s->ctl, *p = pay + s->pay;
	uint64_t n = 0;
	for (; n + GROUP <= s->diffs; n += GROUP)
		group(diffs + n, &c, &p);
	_mm512_storeu_si512(diffs, _mm512_loadu_si512(diffs + n)); // the rest, and what is none
	s->diffs -= n;
	s->ctl = c - ctl, s->pay = p - pay;
}

TARGET void dense_run(struct dense *s, const uint64_t *words, uint32_t *ids, struct block *blocks, struct past *past,
	uint64_t *lasts, uint64_t *diffs, uint8_t *ctl, uint8_t *pay, uint8_t *runs, uint8_t *symbols, uint8_t *numbers,
	uint32_t *touched, uint64_t *dynamic)
{
	struct lists lists = {s, past, lasts, runs, symbols, numbers, touched, dynamic};
	const uint64_t *word = words + s->at, *const end = words + s->words;
	uint64_t hits = s->id_hits;
	const uint64_t id_mask = s->id_mask, shift = s->shift;
	uint32_t hist = s->hist, last = s->last;
	uint64_t *q = diffs + s->diffs;

	while (word < end) {
		// The next record's place follows from the number's word alone where that has the size:
		// looked up with the block, it would be what everything waits for.
		const uint64_t w = *word;
		const uint32_t id = w & id_mask;
		uint64_t size = w >> shift;
		uint32_t *entry = ids + (hist * 0x9E3779B1u >> (32 - ID_BITS));
		struct block *b = blocks + id;
		if (__builtin_expect(*entry == id, 1)) {
			// An empty entry predicts block 0, which has no words but is none.
			if (__builtin_expect(size != b->words + 1u, 0)) {
				if (size != 0)
					break;
				size = b->words + 1u;
			}
			if (size > (uint64_t)(end - word) || id == 0)
				break;
			hits++;
		} else {
			if (id >= s->blocks || b->base == 0)
				break;
			if (size != b->words + 1u) {
				if (size != 0)
					break;
				size = b->words + 1u;
			}
			if (size > (uint64_t)(end - word))
				break;
			unpredicted(&lists, hits, id, last, entry, b);
			hits = 0;
		}
		__asm__("" : "+r"(size)); // or the compiler takes it from the block after all
		hist = hist << 4 ^ id;
		last = id;
		b->execs++;
		const uint64_t *v = word + 1;
		uint64_t *l = lasts + b->base;
		if (__builtin_expect(b->flags & FLAG_DYNAMIC, 0))
			dynamic[s->dynamic++] = word - words;
		word += size;
		// Eight words whatever there are, to where the next record's will be written over them; but nothing
		// is read behind the chunk.
		__m512i cur = __builtin_expect(v + GROUP <= end, 1) ? _mm512_loadu_si512(v)
			: _mm512_maskz_loadu_epi64(_bzhi_u32(0xff, end - v), v);
		__m512i old = _mm512_loadu_si512(l);
		_mm512_storeu_si512(l, cur);
		_mm512_storeu_si512(q, _mm512_sub_epi64(cur, old));
		for (uint64_t k = GROUP; __builtin_expect(k < size - 1, 0); k += GROUP) {
			cur = v + k + GROUP <= end ? _mm512_loadu_si512(v + k)
				: _mm512_maskz_loadu_epi64(_bzhi_u32(0xff, end - v - k), v + k);
			old = _mm512_loadu_si512(l + k);
			_mm512_storeu_si512(l + k, cur);
			_mm512_storeu_si512(q + k, _mm512_sub_epi64(cur, old));
		}
		if (b->stack != NO_STACK) {
			q[b->stack] = v[b->stack] - s->time;
			s->time = v[b->stack];
		}
		q += size - 1;
		if (__builtin_expect(q >= diffs + MANY, 0)) {
			s->diffs = q - diffs;
			dense_flush(s, diffs, ctl, pay);
			q = diffs + s->diffs;
		}
	}
	s->at = word - words, s->id_hits = hits, s->hist = hist, s->last = last;
	s->diffs = q - diffs;
}
