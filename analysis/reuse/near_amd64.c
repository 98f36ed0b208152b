//go:build cgo

// The list of recent lines, with AVX-512: one comparison of all of them for each reference. References to others are listed
// for far_amd64.c, in their order. What the list does depends on nothing but references, so that all else may come later.
// The same in Go is Counter.ref.
#include "near_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2")))

int near_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt");
}

// unit is that of one of the list.
TARGET static inline uint32_t unit(__m512i used, unsigned k)
{
	return _mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_permutexvar_epi32(_mm512_set1_epi32(k), used)));
}

TARGET void near_pass(struct near *n, uint64_t *recent, uint32_t *epochs, const uint64_t *keys, const struct entry *table, uint64_t *hits,
	struct missed *missed, uint32_t *stale)
{
	__m512i lo = _mm512_loadu_si512(recent), hi = _mm512_loadu_si512(recent + 8), used = _mm512_loadu_si512(epochs);
	const __mmask8 ones = _cvtu32_mask8(0xff);
	const __m512i now = _mm512_set1_epi32(n->now);
	uint64_t front = recent[0], misses = 0, stales = 0, again = 0;
	unsigned fresh = _mm512_cmpeq_epi32_mask(used, now); // of which lines the unit is this one
	for (uint64_t i = 0; i < n->count; i++) {
		const uint64_t key = keys[i];
		if (key == front && (fresh & 1)) {
			again++;
			continue;
		}
		front = key;
		const __m512i k8 = _mm512_set1_epi64(key);
		const __mmask8 flo = _mm512_cmpeq_epi64_mask(lo, k8);
		const unsigned inlo = _cvtmask8_u32(flo);
		if (__builtin_expect(inlo != 0, 1)) { // the other half of the list stays as it is
			const unsigned moved = _blsmsk_u32(inlo), k = _tzcnt_u32(inlo);
			hits[k]++;
			// Where the list changes: up to the line's place. The next reference waits for this mask, which stays among the processor's
			// masks therefore: to other registers and back took as long as all else.
			const __mmask8 mlo = _kxor_mask8(flo, _kadd_mask8(flo, ones));
			lo = _mm512_mask_blend_epi64(mlo, lo, _mm512_alignr_epi64(lo, k8, 7));
			if (__builtin_expect(moved & ~fresh, 0)) { // nearly always the units are this one, and may change their places
				if (!(fresh >> k & 1))
					stale[stales++] = unit(used, k);
				used = _mm512_mask_blend_epi32(moved, used, _mm512_alignr_epi32(used, now, 15));
				fresh = (fresh & ~moved) | ((fresh << 1) & moved) | 1;
			}
			continue;
		}
		const __mmask8 fhi = _mm512_cmpeq_epi64_mask(hi, k8);
		const __mmask8 mhi = _kxor_mask8(fhi, _kadd_mask8(fhi, ones));
		const unsigned found = _cvtmask8_u32(fhi) << 8;
		const unsigned moved = _blsmsk_u32(found | 1u << (RECENTS - 1));
		if (!found) {
			struct missed *m = &missed[misses++];
			m->key = key;
			m->hash = mix(key - 1);
			__builtin_prefetch(&table[m->hash & n->mask]);
			m->out = _mm_extract_epi64(_mm512_extracti32x4_epi32(hi, 3), 1);
			m->epoch = (uint32_t)_mm_extract_epi32(_mm512_extracti32x4_epi32(used, 3), 3);
		} else {
			const unsigned k = _tzcnt_u32(found);
			hits[k]++;
			if (!(fresh >> k & 1))
				stale[stales++] = unit(used, k);
		}
		hi = _mm512_mask_blend_epi64(mhi, hi, _mm512_alignr_epi64(hi, lo, 7));
		lo = _mm512_alignr_epi64(lo, k8, 7);
		used = _mm512_mask_blend_epi32(moved, used, _mm512_alignr_epi32(used, now, 15));
		fresh = (fresh & ~moved) | ((fresh << 1) & moved) | 1;
	}
	hits[0] += again;
	_mm512_storeu_si512(recent, lo);
	_mm512_storeu_si512(recent + 8, hi);
	_mm512_storeu_si512(epochs, used);
	n->missed = misses;
	n->stale = stales;
}
