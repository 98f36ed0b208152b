//go:build cgo

// The list of recent lines, with AVX-512: one comparison of all of them for each reference. Lines stay where they are in it until they leave, and what changes is how
// many were used later than each (age): a reference waits for the one before in three steps of a few bytes. References to others are listed for far_amd64.c,
// in their order. What the list does depends on nothing but references, so that all else may come later. The same in Go is Counter.ref.
#include "near_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2")))

int near_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
		__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt");
}

TARGET void near_pass(struct near *n, uint64_t *recent, uint32_t *epochs, uint8_t *ages, const uint64_t *keys, const struct entry *table, uint64_t *hits,
	struct missed *missed, uint32_t *stale)
{
	__m512i lo = _mm512_loadu_si512(recent), hi = _mm512_loadu_si512(recent + 8);
	__m128i age = _mm_loadu_si128((const __m128i *)ages);
	const __m128i all = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), most = _mm_set1_epi8(RECENTS - 1);
	const uint32_t now = n->now;
	uint64_t misses = 0, stales = 0, again = 0, front = 0;
	unsigned fresh = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(epochs), _mm512_set1_epi32(now)); // of which lines the unit is this one
	for (uint64_t i = 0; i < n->count;) {
		const uint64_t end = n->count - i > MOST_COUNTED ? i + MOST_COUNTED : n->count;
		__m128i counts = _mm_setzero_si128(); // by age
		for (; i < end; i++) {
			const uint64_t key = keys[i];
			if (key == front) { // a half of all references and more
				again++;
				continue;
			}
			front = key;
			const __m512i k8 = _mm512_set1_epi64(key);
			__mmask16 at = _mm512_kunpackb(_mm512_cmpeq_epi64_mask(hi, k8), _mm512_cmpeq_epi64_mask(lo, k8));
			const unsigned found = _cvtmask16_u32(at);
			__m128i was = most;
			if (__builtin_expect(found != 0, 1)) {
				const unsigned slot = _tzcnt_u32(found);
				// Counts of a byte, by age: to add to one of several in memory would wait for the last addition.
				was = _mm_shuffle_epi8(age, _mm_set1_epi8(slot));
				counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(all, was));
				if (__builtin_expect(found & ~fresh, 0)) {
					stale[stales++] = epochs[slot];
					epochs[slot] = now;
					fresh |= found;
				}
			} else {
				at = _mm_cmpeq_epi8_mask(age, most);
				const unsigned oldest = _cvtmask16_u32(at), slot = _tzcnt_u32(oldest);
				struct missed *m = &missed[misses++];
				m->key = key;
				m->hash = mix(key - 1);
				__builtin_prefetch(&table[home(m->hash, n->mask)]);
				m->out = recent[slot];
				m->epoch = epochs[slot];
				recent[slot] = key;
				epochs[slot] = now;
				fresh |= oldest;
				lo = _mm512_mask_mov_epi64(lo, oldest, k8);
				hi = _mm512_mask_mov_epi64(hi, oldest >> 8, k8);
			}
			// Those that were used later than it are one older, it itself is the youngest.
			age = _mm_maskz_sub_epi8(_knot_mask16(at), age, _mm_cmpgt_epi8(was, age));
		}
		uint8_t c[RECENTS];
		_mm_storeu_si128((__m128i *)c, counts);
		for (unsigned k = 0; k < RECENTS; k++)
			hits[k] += c[k];
	}
	_mm_storeu_si128((__m128i *)ages, age);
	hits[0] += again;
	n->missed = misses;
	n->stale = stales;
}
