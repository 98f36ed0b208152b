// What filterRun (filter_cgo_amd64.go) and its loop in C have in common.
#include <stddef.h>
#include <stdint.h>

// A block, by its number. words 0: it is left to Go.
struct plan {
	uint32_t at; // its fetches and groups in the arena
	uint16_t words; // of an execution, with the number
	uint8_t fetches, groups;
	uint64_t latest; // filter.moved when all of its lines of code were the latest of their sets
};

// In the arena: fetches, each a line and the operation that it belongs to, then groups of eight accesses.
enum { FETCH_WORDS = 2, LANES = 8, GROUP_WORDS = 28 };
enum { GROUP_OFFSET = 0, GROUP_LAST = 8, GROUP_INDEX = 16, GROUP_OPS = 24, GROUP_MASKS = 26 };

// An event is an access or a fetch that the first level missed: its address, block << 32 | operation, and the position of its execution.
enum { EVENT_WORDS = 3, MOST_OPS = 255 };

struct filter {
	uint64_t at, words; // the next word, and how many there are
	uint64_t blocks;    // how many plans there are
	uint64_t events, room;
	uint64_t moved;
	uint64_t d_shift, d_mask, d_ways, i_mask, i_ways; // i_ways 0: code is not simulated
	uint64_t list;      // 1: what is not to the latest line of its set is an event, sets are left alone
	uint64_t pos;       // of the first word
};

int filter_supported(void);
void filter_run(struct filter *f, const uint64_t *words, struct plan *plans, const uint64_t *arena, uint64_t *runs, uint64_t *execs,
	uint64_t *d_tags, uint64_t *d_latest, uint64_t *i_tags, uint64_t *i_latest, uint64_t *events);
