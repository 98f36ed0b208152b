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

enum { RECENTS = 16, MOST_COUNTED = 255 }; // lines of the list, and references of which a byte can say how many

enum { GROUP_BITS = 512, GROUP_SHIFT = 9, FAN = 16, FAN_SHIFT = 4, MOST_LEVELS = 6, SUB_BITS = 4, HOME_SHIFT = 28 };

// What far_pass goes by: references that were not to recent lines, the set of times (times.go), and what it leaves.
struct far {
	uint64_t at, count; // where it goes on, and how many references there are
	uint64_t now, mask; // as in near
	uint64_t recent;    // lines in the list
	uint64_t time, in, room; // the last time that was given, how many are in the set, and what it has no room for
	uint64_t levels;
	uint64_t buckets;   // that the histogram has
	uint64_t stale;     // units that were listed
	double weight;      // of a sample: how many lines one stands for; else 0
	uint32_t level[MOST_LEVELS + 2]; // where each begins
};

int near_supported(void);
void near_pass(struct near *n, uint64_t *recent, uint32_t *epochs, uint8_t *ages, const uint64_t *keys, const struct entry *table, uint64_t *hits,
	struct missed *missed, uint32_t *stale);
void far_pass(struct far *f, const struct missed *missed, struct entry *table, uint64_t *bits, uint32_t *sums, double *hist, uint32_t *stale);

// mix is lanes.Hash.
static inline uint64_t mix(uint64_t x)
{
	x *= 0x5851f42d;
	return x * x;
}

// home is Go's home.
static inline uint64_t home(uint64_t hash, uint64_t mask) { return hash >> HOME_SHIFT & mask; }
