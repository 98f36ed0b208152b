//go:build cgo

// The loop that follows operands' addresses, with AVX-512: the strides of eight of them at a time, and whether they are those of their runs. Runs that end are
// listed; an execution of a block without a plan is left to Go. The same in Go is strides.Counter.access.
#include "lanes_amd64.h"

// ended lists the runs of some lanes of an octet, whose latest addresses are last. It returns how many there are then.
TARGET static inline uint64_t ended(struct octet *o, uint64_t number, __mmask8 other, __m512i last, __m512i stride, __m512i run, struct ends *ends, uint64_t n)
{
	const __m512i place = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	// Compressed in registers: straight to memory it takes several times as long.
	_mm512_storeu_si512(ends->track + n, _mm512_maskz_compress_epi64(other, _mm512_add_epi64(_mm512_set1_epi64(number * LANES), place)));
	_mm512_storeu_si512(ends->stride + n, _mm512_maskz_compress_epi64(other, stride));
	_mm512_storeu_si512(ends->run + n, _mm512_maskz_compress_epi64(other, run));
	_mm512_mask_storeu_epi64(o->low, other, _mm512_min_epu64(_mm512_loadu_si512(o->low), last));
	_mm512_mask_storeu_epi64(o->high, other, _mm512_max_epu64(_mm512_loadu_si512(o->high), last));
	return n + _mm_popcnt_u32(other);
}

TARGET void tracks_run(struct tracks *t, const uint64_t *words, const struct plan *plans, const uint64_t *arena, struct octet *octets, struct ends *ends)
{
	const __m512i one = _mm512_set1_epi64(1);
	const uint64_t *w = words + t->at.at, *const end = words + t->at.words;
	const uint64_t blocks = t->at.blocks;
	uint64_t n = 0;
	while (w < end && n <= END_ROOM - LANES * MOST_GROUPS) {
		const struct plan p = planned(plans, blocks, w, end);
		if (p.words == 0)
			break;
		const uint64_t *g = arena + p.at;
		for (unsigned left = p.groups; left; left--, g += GROUP_WORDS) {
			const __mmask8 all = g[GROUP_MASKS];
			struct octet *o = &octets[g[GROUP_MASKS] >> GROUP_NUMBER];
			const __m512i last = _mm512_loadu_si512(o->last), stride = _mm512_loadu_si512(o->stride), run = _mm512_loadu_si512(o->run);
			const __m512i addr = addresses(g, p.words, w + 1);
			const __m512i s = _mm512_sub_epi64(addr, last);
			const __mmask8 other = _mm512_mask_cmpneq_epi64_mask(all, s, stride);
			_mm512_storeu_si512(o->last, _mm512_mask_mov_epi64(last, all, addr)); // in all lanes: the next execution reads it sooner than behind a masked store
			if (other) {
				n = ended(o, g[GROUP_MASKS] >> GROUP_NUMBER, other, last, stride, run, ends, n);
				_mm512_storeu_si512(o->stride, _mm512_mask_mov_epi64(stride, other, s));
			}
			_mm512_storeu_si512(o->run, _mm512_mask_add_epi64(_mm512_mask_mov_epi64(run, other, one), (__mmask8)(all & ~other), run, one));
		}
		w = behind(w, p.words);
	}
	t->at.at = w - words;
	t->ends = n;
}
