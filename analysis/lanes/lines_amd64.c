//go:build cgo

// The loop that takes whole executions to lines, with AVX-512: those of eight accesses at a time. An execution with an access in several lines, and one of a
// block without a plan, is left to Go. The same in Go is stream.Lines.whole.
#include "lanes_amd64.h"

int lanes_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		__builtin_cpu_supports("popcnt");
}

// followed tells of which of the lines the hash is at most that: Hash is the same in Go.
TARGET static inline __mmask8 followed(__mmask8 all, __m512i line, __m512i most)
{
	const __m512i h = _mm512_mullo_epi64(line, _mm512_set1_epi64(HASH_FACTOR));
	return _mm512_mask_cmple_epu64_mask(all, _mm512_mullo_epi64(h, h), most);
}

// run is both loops: that of a sample has keys of lines that are followed alone.
TARGET __attribute__((always_inline)) static inline void run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys, uint64_t *runs, const int sample)
{
	const __m128i shift = _mm_cvtsi64_si128(l->at.shift);
	const __m512i one = _mm512_set1_epi64(1), most = _mm512_set1_epi64(l->most);
	const uint64_t *w = words + l->at.at, *const end = words + l->at.words;
	const uint64_t blocks = l->at.blocks, many = l->many;
	uint64_t n = l->n, passed = 0;
	while (w < end && n < many) {
		const struct plan p = planned(plans, blocks, w, end);
		if (p.words == 0)
			break;
		const uint64_t *g = arena + p.at;
		uint64_t k = n, others = 0;
		__mmask8 several = 0;
		for (unsigned left = p.groups; left; left--, g += GROUP_WORDS) {
			const __mmask8 all = g[GROUP_MASKS];
			const __m512i addr = addresses(g, p.words, w + 1);
			const __m512i line = _mm512_srl_epi64(addr, shift);
			const __m512i last = _mm512_srl_epi64(_mm512_add_epi64(addr, _mm512_loadu_si512(g + GROUP_OWN)), shift);
			several = _kor_mask8(several, _mm512_mask_cmpneq_epi64_mask(all, line, last));
			const __m512i key = _mm512_add_epi64(line, one);
			if (sample) {
				const __mmask8 some = followed(all, line, most);
				_mm512_storeu_si512(keys + k, _mm512_maskz_compress_epi64(some, key)); // to memory it would be slow
				k += _mm_popcnt_u32(some);
				others += _mm_popcnt_u32(all & ~some);
			} else {
				_mm512_storeu_si512(keys + k, key); // what is behind the lanes is overwritten
				k += _mm_popcnt_u32(all);
			}
		}
		if (__builtin_expect(several, 0))
			break;
		n = k;
		passed += others;
		if (runs)
			runs[*w]++;
		w = sample ? w + p.words : behind(w, p.words);
	}
	l->at.at = w - words;
	l->n = n;
	l->passed = passed;
}

TARGET void lines_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys, uint64_t *runs)
{
	run(l, words, plans, arena, keys, runs, 0);
}

TARGET void sample_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys, uint64_t *runs)
{
	run(l, words, plans, arena, keys, runs, 1);
}
