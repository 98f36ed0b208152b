// What denseRun (dense_cgo_amd64.go) and its loop in C have in common.
#include <stddef.h>
#include <stdint.h>

// The model's state of a block and its past, as in model.go. dense_cgo_amd64.go does not
// compile where layouts or constants differ.
struct block {
	uint32_t base, execs;
	uint16_t words, weight;
	uint8_t flags, stack, addrs, values;
};

struct past {
	uint32_t gen, next, next2;
};

enum {
	OFFSET_EXECS = offsetof(struct block, execs),
	OFFSET_WORDS = offsetof(struct block, words),
	OFFSET_WEIGHT = offsetof(struct block, weight),
	OFFSET_FLAGS = offsetof(struct block, flags),
	OFFSET_STACK = offsetof(struct block, stack),
	OFFSET_NEXT = offsetof(struct past, next),
	OFFSET_NEXT2 = offsetof(struct past, next2),
};
enum { FLAG_DYNAMIC = 4, NO_STACK = 0xff, ID_RUN = 255, ID_BITS = 16 };
enum { GROUP = 8, MANY = 256 }; // words of a group, and when groups are written
enum { SYM_NEXT, SYM_NEXT2, SYM_NEW, SYM_NUMBER };

// Tables and streams belong to Go. They are pinned for the call by being its arguments.
// What changes is in here: numbers, no pointers.
struct dense {
	uint64_t at;     // the next word
	uint64_t words;  // how many there are
	uint64_t blocks; // entries of blocks and past
	uint64_t id_hits, items, time;
	uint64_t id_mask, shift; // what of a record's first word is the number, and where its size lies
	uint64_t diffs;          // differences that have not been written yet
	uint64_t ctl, pay, runs, symbols, numbers, touched, dynamic; // used, of each stream and list
	uint32_t hist, last, gen;
};

// What undense_run goes by, and leaves: places in streams and where those end (ctl in half bytes, its end in bytes).
struct undense {
	uint64_t out, room; // words that there are, and how many are enough
	uint64_t id_hits, items, time;
	uint64_t blocks; // entries of past
	uint64_t ctl, ctl_end, pay, pay_end, runs, runs_end, symbols, symbols_end, numbers, numbers_end;
	int64_t symbol; // that is next; less than 0: another run
	uint32_t hist, last, gen;
};

int dense_supported(void);
// dense_run encodes executions from s->at on. diffs has room for MANY words, those of the largest
// block, and two groups.
void dense_run(struct dense *s, const uint64_t *words, uint32_t *ids, struct block *blocks, struct past *past,
	uint64_t *lasts, uint64_t *diffs, uint8_t *ctl, uint8_t *pay, uint8_t *runs, uint8_t *symbols, uint8_t *numbers,
	uint32_t *touched, uint64_t *dynamic);

// dense_flush writes all whole groups of diffs.
void dense_flush(struct dense *s, uint64_t *diffs, uint8_t *ctl, uint8_t *pay);

// undense_run decodes executions, until there are words enough or something is left to Go. Beyond s->room out has room for the largest block, its number and a group.
void undense_run(struct undense *s, uint64_t *out, uint32_t *ids, const struct block *blocks, struct past *past, uint64_t *lasts, const uint8_t *ctl,
	const uint8_t *pay, const uint8_t *runs, const uint8_t *symbols, const uint8_t *numbers);
