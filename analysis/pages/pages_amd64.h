// What vector (vector_cgo_amd64.go) and its loop in C have in common.
#include <stdint.h>

struct plan {
	uint32_t at;    // of its groups in the arena
	uint16_t words; // of an execution; 0: it is left to Go
	uint16_t groups;
};

enum {
	LANES = 8,
	GROUP_MASKS = 0, // which lanes there are, which have a word, which store: eight bits each; above them the index of the group's counts
	GROUP_SINCE = 32, // bits that the latter is above
	GROUP_INDEX = 1, // two words, 16 bits a lane
	GROUP_OFFSET = 3,
	GROUP_PAGE = 11,
	GROUP_WORDS = 19,
	MOST_GROUPS = 32,
	EVENT_WORDS = 2, // a page; how often it was accessed, times two, plus one for stores
};

// What was counted of a page lately, of loads and of stores. Events are what has had to make room.
struct recent {
	uint64_t page, n[2];
};

enum { RECENTS = 512 };

struct pages {
	uint64_t at, words;   // in the words: where it goes on, and how many there are
	uint64_t blocks;      // with plans
	uint64_t events, room; // words that are filled, and that there are
	uint64_t shift;
};

int pages_supported(void);
void pages_run(struct pages *p, const uint64_t *words, const struct plan *plans, uint64_t *arena, uint64_t *since, uint64_t *runs, struct recent *recents, uint64_t *events);
