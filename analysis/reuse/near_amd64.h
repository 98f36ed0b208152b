// What Counter.many (near_cgo_amd64.go) and its loop in C have in common.
#include <stdint.h>

// A line that was not among the recent ones: its number plus one and its hash, the one that it has put out (0: none) and the unit
// in which that was used last.
struct missed {
	uint64_t key, hash, out;
	uint64_t epoch;
};

// An entry of the table of lines.
struct entry {
	uint64_t line;
	uint32_t time, epoch;
};

struct near {
	uint64_t count;  // of references
	uint64_t now;    // the unit of time that they are in
	uint64_t mask;   // of the table
	uint64_t missed, stale; // how many were listed
};

enum { RECENTS = 16 };

int near_supported(void);
void near_pass(struct near *n, uint64_t *recent, uint32_t *epochs, const uint64_t *keys, const struct entry *table, uint64_t *hits,
	struct missed *missed, uint32_t *stale);
