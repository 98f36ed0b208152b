// What tallies (tally.go) and the loop in C have in common.
#include <stdint.h>

enum { MOST = 64, TAG_WORDS = 16, UNIT_WORDS = 8 };

struct head {
	uint32_t at, used;
};

int tally_supported(void);
uint64_t tally_known(uint64_t n, uint64_t *number, uint64_t *stride, uint64_t *count, const struct head *heads, uint64_t *arena);
