//go:build cgo

// The loop over whole executions, with AVX-512: lines of eight accesses at a time. An execution with an access in several lines, and one of a
// block without a plan, is left to Go. The same in Go is Lines.whole.
#include "lines_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2,popcnt")))

int lines_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		__builtin_cpu_supports("popcnt");
}

TARGET void lines_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys)
{
	const __m128i shift = _mm_cvtsi64_si128(l->shift);
	const __m512i one = _mm512_set1_epi64(1);
	const uint64_t *w = words + l->at, *const end = words + l->words;
	const uint64_t blocks = l->blocks, many = l->many;
	uint64_t n = l->n;
	while (w < end && n < many) {
		const uint64_t id = *w;
		if (id >= blocks)
			break;
		const struct plan p = plans[id];
		if (p.words == 0 || p.words > end - w)
			break;
		const uint64_t *const in = w + 1, *g = arena + p.at;
		uint64_t k = n;
		__mmask8 several = 0;
		for (unsigned left = p.groups; left; left--, g += GROUP_WORDS) {
			const uint64_t masks = g[GROUP_MASKS];
			const __mmask8 all = masks, with = masks >> LANES;
			const __m512i index = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(g + GROUP_INDEX)));
			__m512i addr;
			if (p.words <= LANES + 1) // _bzhi: as many as there are
				addr = _mm512_maskz_permutexvar_epi64(with, index, _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, p.words - 1), in));
			else
				addr = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), with, index, in, 8);
			addr = _mm512_add_epi64(addr, _mm512_loadu_si512(g + GROUP_OFFSET));
			const __m512i line = _mm512_srl_epi64(addr, shift);
			const __m512i last = _mm512_srl_epi64(_mm512_add_epi64(addr, _mm512_loadu_si512(g + GROUP_LAST)), shift);
			several |= _mm512_mask_cmpneq_epi64_mask(all, line, last);
			_mm512_storeu_si512(keys + k, _mm512_add_epi64(line, one)); // what is behind the lanes is overwritten
			k += _mm_popcnt_u32(all);
		}
		if (__builtin_expect(several, 0))
			break;
		n = k;
		// Word by word: the processor then predicts where the next execution is, and would wait for its plan otherwise.
		for (unsigned left = p.words; left; left--) {
			w++;
			__asm__("" : "+r"(w));
		}
	}
	l->at = w - words;
	l->n = n;
}
