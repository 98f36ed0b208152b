// What the plans (plans.go) and the loops in C have in common.
#include <immintrin.h>
#include <stdint.h>

#define TARGET __attribute__((target("avx512f,avx512dq,bmi,bmi2,popcnt")))

struct plan {
	uint32_t at;    // of its groups in the arena
	uint16_t words; // of an execution; 0: it is left to Go
	uint16_t groups;
};

enum {
	LANES = 8,
	GROUP_MASKS = 0, // which lanes there are, from the first on, which have a word, which store: eight bits each; above them the group's number
	GROUP_NUMBER = 32, // bits that the latter is above
	GROUP_INDEX = 1, // two words, 16 bits a lane
	GROUP_OFFSET = 3,
	GROUP_OWN = 11, // what a loop keeps of each lane: a size less one, or a page
	GROUP_WORDS = 19,
	MOST_GROUPS = 32,
};

enum { HASH_FACTOR = 0x5851f42d }; // of Hash

// Where a loop is in the words, and what it goes by.
struct at {
	uint64_t at, words; // where it goes on, and how many there are
	uint64_t blocks;    // with plans
	uint64_t shift;
};

// Keys that there are, and how many are enough: LANES * MOST_GROUPS more have room.
struct lines {
	struct at at;
	uint64_t n, many;
	uint64_t most, passed; // of a sample: up to which hash a line is followed, and accesses to others, of which there are no keys
};

enum { EVENT_WORDS = 2 }; // a page; how often it was accessed, times two, plus one for stores

// What was counted of a page lately, of loads and of stores. Events are what has had to make room.
struct recent {
	uint64_t page, n[2];
};

enum { RECENTS = 512 };

// Words of events that are filled, and that there are.
struct pages {
	struct at at;
	uint64_t events, room;
};

// Eight tracks: the last addresses, the strides of the runs that go on and how often they came, and of addresses before the lowest and the highest.
struct octet {
	uint64_t last[LANES], stride[LANES], run[LANES], low[LANES], high[LANES];
};

enum { END_ROOM = 3 * LANES * MOST_GROUPS };

// Runs that ended.
struct ends {
	uint64_t track[END_ROOM], stride[END_ROOM], run[END_ROOM];
	uint64_t n;
};

struct tracks {
	struct at at;
	uint64_t ends;
};

int lanes_supported(void);
// runs, if there are any, are executions by block.
void lines_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys, uint64_t *runs);
void sample_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys, uint64_t *runs);
void pages_run(struct pages *p, const uint64_t *words, const struct plan *plans, uint64_t *arena, uint64_t *since, uint64_t *runs, uint64_t *execs, struct recent *recents, uint64_t *events);
void tracks_run(struct tracks *t, const uint64_t *words, const struct plan *plans, const uint64_t *arena, struct octet *octets, struct ends *ends);

// planned is the plan of the execution that begins at w; words 0: it is none that has one, or not all of it is there.
TARGET static inline struct plan planned(const struct plan *plans, uint64_t blocks, const uint64_t *w, const uint64_t *end)
{
	const struct plan none = {0, 0, 0};
	if (*w >= blocks)
		return none;
	const struct plan p = plans[*w];
	return p.words > end - w ? none : p;
}

// some_of is the first n of eight words, all of them if n is more. No others are read.
TARGET static inline __m512i some_of(unsigned n, const uint64_t *words)
{
	return _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xff, n), words);
}

// addresses are those of a group's lanes, of an execution with so many words, whose words behind its number are in.
TARGET static inline __m512i addresses(const uint64_t *g, unsigned words, const uint64_t *in)
{
	const __mmask8 with = g[GROUP_MASKS] >> LANES;
	const __m512i index = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(g + GROUP_INDEX)));
	__m512i added;
	if (words <= LANES + 1) // some_of: as many as there are
		added = _mm512_maskz_permutexvar_epi64(with, index, some_of(words - 1, in));
	else if (words <= 2 * LANES + 1)
		added = _mm512_maskz_permutex2var_epi64(with, _mm512_loadu_si512(in), index, some_of(words - 1 - LANES, in + LANES));
	else if (words <= 4 * LANES + 1) {
		const unsigned third = words - 1 - 2 * LANES, fourth = third > LANES ? third - LANES : 0;
		const __m512i low = _mm512_permutex2var_epi64(_mm512_loadu_si512(in), index, _mm512_loadu_si512(in + LANES));
		const __m512i high = _mm512_permutex2var_epi64(some_of(third, in + 2 * LANES), index, some_of(fourth, in + 3 * LANES));
		added = _mm512_maskz_mov_epi64(with, _mm512_mask_mov_epi64(low, _mm512_test_epi64_mask(index, _mm512_set1_epi64(2 * LANES)), high));
	} else // a gather takes several times as long
		added = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), with, index, in, 8);
	return _mm512_add_epi64(added, _mm512_loadu_si512(g + GROUP_OFFSET));
}

// behind is where the next execution begins. Word by word: the processor then predicts it, and would wait for the plan otherwise.
TARGET static inline const uint64_t *behind(const uint64_t *w, unsigned words)
{
	for (unsigned n = words; n; n--) {
		w++;
		__asm__("" : "+r"(w));
	}
	return w;
}
