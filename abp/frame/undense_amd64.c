//go:build cgo

// The loop that decodes executions of version 4 (decode_dense.go), with AVX-512: eight words at a time, without a branch that depends on them. New blocks and marks,
// what is wrong, and the ends of streams are left to Go, as they were found.
#include "dense_amd64.h"
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")))

// run reads runs until there is a predicted block or a symbol, and tells whether there is.
static inline int run(struct undense *s, const uint8_t *runs, const uint8_t *symbols, uint64_t *hits)
{
	while (*hits == 0 && s->symbol < 0) {
		if (s->runs >= s->runs_end || s->symbols >= s->symbols_end)
			return 0;
		*hits = runs[s->runs++];
		if (*hits != ID_RUN)
			s->symbol = symbols[s->symbols++];
	}
	return 1;
}

// successor is the block that a symbol stands for, 0 where it is left to Go, and takes its number off those.
static inline uint32_t successor(const struct undense *s, const struct past *past, const uint8_t *numbers, uint32_t last, uint64_t *at)
{
	uint32_t id = 0;
	uint64_t z = 0;
	switch (s->symbol) {
	case SYM_NEXT:
		id = past[last].next;
		break;
	case SYM_NEXT2:
		id = past[last].next2;
		break;
	case SYM_NUMBER:
		for (unsigned shift = 0;; shift += 7) {
			if (*at >= s->numbers_end || shift > 28) // what is longer is no block's
				return 0;
			const uint8_t c = numbers[(*at)++];
			z |= (uint64_t)(c & 0x7f) << shift;
			if (c < 0x80)
				break;
		}
		id = last + (uint32_t)(z >> 1 ^ -(z & 1));
	}
	return id < s->blocks && past[id].gen == s->gen ? id : 0;
}

// learn is Go's learnSuccessor.
static inline void learn(struct past *past, uint32_t id)
{
	if (past->next != id) {
		past->next2 = past->next;
		past->next = id;
	}
}

// group adds up to eight differences to the last words, and returns how many bytes of payload they took, more than there can be where a length is
// wrong. lengths has half a byte for each.
TARGET static inline uint64_t group(uint64_t lengths, const uint8_t *pay, uint64_t *lasts, uint64_t *out)
{
	const __m512i places = _mm512_set1_epi64(0x0706050403020100);
	const __m512i words = _mm512_set_epi64(0x0707070707070707, 0x0606060606060606, 0x0505050505050505, 0x0404040404040404, 0x0303030303030303, 0x0202020202020202,
		0x0101010101010101, 0);
	const uint64_t sizes = _pdep_u64(lengths, 0x0f0f0f0f0f0f0f0f);
	if (__builtin_expect((sizes + 0x7777777777777777) & 0x8080808080808080, 0))
		return 1ull << 63;
	const __mmask64 some = _mm512_cmplt_epu8_mask(places, _mm512_shuffle_epi8(_mm512_set1_epi64(sizes), words));
	__m512i bytes = _mm512_loadu_si512(pay);
	__asm__("" : "+v"(bytes)); // an expansion from memory takes a little longer
	const __m512i z = _mm512_maskz_expand_epi8(some, bytes);
	const __m512i sign = _mm512_sub_epi64(_mm512_setzero_si512(), _mm512_and_si512(z, _mm512_set1_epi64(1)));
	const __m512i v = _mm512_add_epi64(_mm512_loadu_si512(lasts), _mm512_xor_si512(_mm512_srli_epi64(z, 1), sign));
	_mm512_storeu_si512(lasts, v);
	_mm512_storeu_si512(out, v);
	return sizes * 0x0101010101010101 >> 56;
}

TARGET void undense_run(struct undense *s, uint64_t *out, uint32_t *ids, const struct block *blocks, struct past *past, uint64_t *lasts, const uint8_t *ctl,
	const uint8_t *pay, const uint8_t *runs, const uint8_t *symbols, const uint8_t *numbers)
{
	uint32_t hist = s->hist, last = s->last;
	uint64_t at = s->out, c = s->ctl, p = s->pay, hits = s->id_hits, items = s->items;
	while (at < s->room && items > 0) {
		uint32_t *entry = ids + (hist * 0x9E3779B1u >> (32 - ID_BITS));
		uint64_t number = s->numbers;
		if (hits == 0 && !run(s, runs, symbols, &hits))
			break;
		const uint32_t id = __builtin_expect(hits > 0, 1) ? *entry : successor(s, past, numbers, last, &number);
		if (id == 0)
			break;
		const struct block *b = blocks + id;
		const uint64_t n = b->words;
		// Eight bytes of lengths and 64 of payload are read for each group, whatever it takes.
		if (c / 2 + n / 2 + 9 > s->ctl_end || p + (n / GROUP + 1) * 64 > s->pay_end)
			break;
		uint64_t *l = lasts + b->base, *o = out + at + 1;
		uint64_t before = 0, from = p, left = n, half = c;
		if (__builtin_expect(b->stack != NO_STACK, 0))
			before = l[b->stack];
		for (;; left -= GROUP, half += GROUP, l += GROUP, o += GROUP) {
			uint64_t lengths;
			memcpy(&lengths, ctl + half / 2, 8);
			from += group(_bzhi_u64(lengths >> (4 * (half & 1)), 4 * (left < GROUP ? left : GROUP)), pay + from, l, o);
			if (__builtin_expect(left <= GROUP || from > s->pay_end, 1))
				break;
		}
		if (__builtin_expect(from > s->pay_end, 0)) // a length is wrong: Go comes to it again
			break;
		if (__builtin_expect(b->stack != NO_STACK, 0)) { // to the last time, of whatever block, the difference was
			s->time += out[at + 1 + b->stack] - before;
			out[at + 1 + b->stack] = s->time;
		}
		if (__builtin_expect(hits > 0, 1)) {
			hits--;
		} else {
			s->symbol = -1;
			s->numbers = number;
			learn(past + last, id);
			*entry = id;
		}
		out[at] = id;
		at += n + 1, c += n, p = from;
		hist = hist << 4 ^ id, last = id;
		items--;
	}
	s->hist = hist, s->last = last;
	s->out = at, s->ctl = c, s->pay = p;
	s->id_hits = hits, s->items = items;
}
