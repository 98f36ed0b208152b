//go:build cgo

// The loop over whole executions, with AVX-512: addresses of eight accesses at a time, and whether they are in the pages that they were in. What is
// not is listed for Go; whatever is not an execution of a block with a plan is left to Go altogether. The same in Go is Counter.count.
#include "pages_amd64.h"
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2")))

int pages_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

// moved lists what some lanes of a group have counted in the pages that they leave. It is kept out of the loop, which needs the registers.
TARGET __attribute__((noinline)) static uint64_t *moved(uint64_t *g, uint64_t *since, uint64_t before, __mmask8 other, __m512i page, struct recent *recents, uint64_t *event)
{
	const uint64_t masks = g[GROUP_MASKS];
	since += (masks >> GROUP_SINCE) * LANES;
	for (unsigned left = other; left; left &= left - 1) {
		const unsigned k = _tzcnt_u32(left);
		const uint64_t times = before - since[k];
		const uint64_t was = g[GROUP_PAGE + k];
		struct recent *r = &recents[was % RECENTS];
		since[k] = before;
		if (r->page != was) {
			for (unsigned store = 0; store < 2; store++) {
				if (r->n[store]) {
					*event++ = r->page;
					*event++ = r->n[store] << 1 | store;
					r->n[store] = 0;
				}
			}
			r->page = was;
		}
		r->n[masks >> (2 * LANES + k) & 1] += times;
	}
	_mm512_mask_storeu_epi64(g + GROUP_PAGE, other, page);
	return event;
}

TARGET void pages_run(struct pages *f, const uint64_t *words, const struct plan *plans, uint64_t *arena, uint64_t *since, uint64_t *runs, struct recent *recents, uint64_t *events)
{
	const __m128i shift = _mm_cvtsi64_si128(f->shift);
	const uint64_t *w = words + f->at, *const end = words + f->words;
	uint64_t *event = events, *const full = events + f->room - 2 * EVENT_WORDS * LANES * MOST_GROUPS;
	const uint64_t blocks = f->blocks;
	while (w < end && event <= full) {
		const uint64_t id = *w;
		if (id >= blocks)
			break;
		const struct plan p = plans[id];
		if (p.words == 0 || p.words > end - w)
			break;
		const uint64_t *const in = w + 1;
		const uint64_t before = runs[id]++;
		uint64_t *g = arena + p.at;
		for (unsigned n = p.groups; n; n--, g += GROUP_WORDS) {
			const uint64_t masks = g[GROUP_MASKS];
			const __mmask8 all = masks, with = masks >> LANES;
			const __m512i index = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(g + GROUP_INDEX)));
			__m512i addr;
			if (p.words <= LANES + 1) // _bzhi: as many as there are
				addr = _mm512_maskz_permutexvar_epi64(with, index, _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, p.words - 1), in));
			else
				addr = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), with, index, in, 8);
			const __m512i page = _mm512_srl_epi64(_mm512_add_epi64(addr, _mm512_loadu_si512(g + GROUP_OFFSET)), shift);
			const __mmask8 other = _mm512_mask_cmpneq_epi64_mask(all, _mm512_loadu_si512(g + GROUP_PAGE), page);
			if (__builtin_expect(other, 0))
				event = moved(g, since, before, other, page, recents, event);
		}
		// Word by word: the processor then predicts where the next execution is, and would wait for its plan otherwise.
		for (unsigned n = p.words; n; n--) {
			w++;
			__asm__("" : "+r"(w));
		}
	}
	f->at = w - words;
	f->events = event - events;
}
