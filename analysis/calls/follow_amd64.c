//go:build cgo

// The loop over whole executions: those that stay in their function, calls, returns and jumps as nearly all of them are. Whatever is
// not, is left to Go as it is: nothing has been changed for it. The same in Go is Tracker.whole and what it calls.
#include "follow_amd64.h"
#include <immintrin.h>
#include <string.h>

#define RARELY(c) __builtin_expect(!!(c), 0)
#define COLD __attribute__((noinline))

#define NAME(n) n##_plain
#define TARGET
#define SUMS struct { __m128i a, b; }
#define ADD(s, c) (s.a = _mm_add_epi32(s.a, _mm_loadu_si128((const __m128i *)(c))), s.b = _mm_add_epi32(s.b, _mm_loadu_si128((const __m128i *)(c) + 1)))
#define SET(s, calls) (s.a = _mm_setzero_si128(), s.b = _mm_slli_si128(_mm_cvtsi32_si128(calls), 12))
#define ADD64(to, n) _mm_storeu_si128((__m128i *)(to), _mm_add_epi64(_mm_loadu_si128((const __m128i *)(to)), n))
#define GIVE(to, s) (ADD64(to, _mm_unpacklo_epi32(s.a, _mm_setzero_si128())), ADD64(to + 2, _mm_unpackhi_epi32(s.a, _mm_setzero_si128())), \
	ADD64(to + 4, _mm_unpacklo_epi32(s.b, _mm_setzero_si128())), ADD64(to + 6, _mm_unpackhi_epi32(s.b, _mm_setzero_si128())))
#include "follow_run_amd64.h"

#undef NAME
#undef TARGET
#undef SUMS
#undef ADD
#undef SET
#undef GIVE
#define NAME(n) n##_vector
#define TARGET __attribute__((target("avx512f,avx512vl,popcnt")))
#define SUMS __m256i
#define ADD(s, c) (s = _mm256_add_epi32(s, _mm256_loadu_si256((const __m256i *)(c))))
#define SET(s, calls) (s = _mm256_maskz_set1_epi32(1 << LANE_CALLS, calls))
#define GIVE(to, s) _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), _mm512_cvtepu32_epi64(s)))
#include "follow_run_amd64.h"

int follow_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("popcnt");
}

void follow_run(struct follow *f, int vector, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const struct entry *table)
{
	(vector ? run_vector : run_plain)(f, words, plans, steps, accesses, runs, nodes, frames, table);
}
