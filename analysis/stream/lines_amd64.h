// What vector (lines_cgo_amd64.go) and its loop in C have in common.
#include <stdint.h>

struct plan {
	uint32_t at;    // of its groups in the arena
	uint16_t words; // of an execution; 0: it is left to Go
	uint16_t groups;
};

enum {
	LANES = 8,
	GROUP_MASKS = 0, // which lanes there are, from the first on, and which have a word: eight bits each
	GROUP_INDEX = 1, // two words, 16 bits a lane
	GROUP_OFFSET = 3,
	GROUP_LAST = 11, // size less one
	GROUP_WORDS = 19,
	MOST_GROUPS = 32,
};

struct lines {
	uint64_t at, words; // in the words: where it goes on, and how many there are
	uint64_t blocks;    // with plans
	uint64_t n, many;   // keys that there are, and how many are enough: LANES * MOST_GROUPS more have room
	uint64_t shift;
};

int lines_supported(void);
void lines_run(struct lines *l, const uint64_t *words, const struct plan *plans, const uint64_t *arena, uint64_t *keys);
