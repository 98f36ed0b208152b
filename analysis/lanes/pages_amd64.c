//go:build cgo

// The loop that counts whole executions' accesses by page, with AVX-512: addresses of eight accesses at a time, and whether they are in the pages that they were in. What is
// not is listed for Go; whatever is not an execution of a block with a plan is left to Go altogether. The same in Go is pages.Counter.count.
#include "lanes_amd64.h"

// moved lists what some lanes of a group have counted in the pages that they leave. It is kept out of the loop, which needs the registers.
TARGET __attribute__((noinline)) static uint64_t *moved(uint64_t *g, uint64_t *since, uint64_t before, __mmask8 other, __m512i page, struct recent *recents, uint64_t *event)
{
	const uint64_t masks = g[GROUP_MASKS];
	since += (masks >> GROUP_NUMBER) * LANES;
	for (unsigned left = other; left; left &= left - 1) {
		const unsigned k = _tzcnt_u32(left);
		const uint64_t times = before - since[k];
		const uint64_t was = g[GROUP_OWN + k];
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
	_mm512_mask_storeu_epi64(g + GROUP_OWN, other, page);
	return event;
}

TARGET void pages_run(struct pages *f, const uint64_t *words, const struct plan *plans, uint64_t *arena, uint64_t *since, uint64_t *runs, uint64_t *execs, struct recent *recents, uint64_t *events)
{
	const __m128i shift = _mm_cvtsi64_si128(f->at.shift);
	const uint64_t *w = words + f->at.at, *const end = words + f->at.words;
	uint64_t *event = events, *const full = events + f->room - 2 * EVENT_WORDS * LANES * MOST_GROUPS;
	const uint64_t blocks = f->at.blocks;
	while (w < end && event <= full) {
		const struct plan p = planned(plans, blocks, w, end);
		if (p.words == 0)
			break;
		const uint64_t before = runs[*w]++;
		uint64_t *g = arena + p.at;
		for (unsigned n = p.groups; n; n--, g += GROUP_WORDS) {
			const __mmask8 all = g[GROUP_MASKS];
			const __m512i page = _mm512_srl_epi64(addresses(g, p.words, w + 1), shift);
			const __mmask8 other = _mm512_mask_cmpneq_epi64_mask(all, _mm512_loadu_si512(g + GROUP_OWN), page);
			if (__builtin_expect(other, 0))
				event = moved(g, since, before, other, page, recents, event);
		}
		if (execs)
			execs[*w]++;
		w = behind(w, p.words);
	}
	f->at.at = w - words;
	f->events = event - events;
}
