//go:build cgo

// Counts strides that tables have already, or that have no room, with AVX-512. Others are left to Go. The same in Go is tallies.add.
#include "tally_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,bmi,bmi2")))

int tally_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

// tally_known moves those that are left to the front, in their order, and returns how many they are. A table that one of them will widen is not looked at
// differently until then: what comes behind it is counted, or left as well. Whether a stride is known is not predicted, so that no branch asks for it: the last place of a
// table without room has all others. Behind the last table there are words that may be read.
TARGET uint64_t tally_known(uint64_t n, uint64_t *number, uint64_t *stride, uint64_t *count, const struct head *heads, uint64_t *arena)
{
	uint64_t left = 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct head h = heads[number[i]];
		const uint64_t s = stride[i], times = count[i];
		uint64_t *table = arena + (uint64_t)h.at * UNIT_WORDS, *const slots = table + TAG_WORDS;
		const __m512i tag = _mm512_set1_epi16((short)(s * 0x9e3779b97f4a7c15 >> 48));
		const uint64_t lo = _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(table), tag), hi = _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(table + TAG_WORDS / 2), tag);
		const uint64_t k = _tzcnt_u64(_bzhi_u64(lo | hi << 32, h.used)); // MOST: none
		const uint64_t isOther = k == MOST;
		if (__builtin_expect((isOther & (h.used != MOST)) | (!isOther & (slots[2 * k] != s)) | (times == 0), 0)) {
			// Another tag of the table may be this stride's as well. Of an operand's first run there may be no stride.
			number[left] = number[i], stride[left] = s, count[left] = times;
			left += times != 0;
			continue;
		}
		slots[2 * k + 1] += times;
	}
	return left;
}
