// What follow (follow_cgo_amd64.go) and its loop in C have in common.
#include <stddef.h>
#include <stdint.h>

// What something counts for: the six of abp.Counts, all instructions, recorded or not, and calls. A call of follow_run adds up MOST_WORDS of at most MOST_LANE.
enum { LANES = 8, LANE_SIZE = 6, LANE_CALLS = 7, MOST_LANE = 0xffff, MOST_WORDS = 1 << 16 };

// A block, by its number. head 0: it is left to Go. It is written last: words of an execution with the number, how many steps there are << STEPS_SHIFT, and SIMPLE where all is of one
// function and nothing calls or returns.
enum { WORDS_MASK = 0xffff, STEPS_SHIFT = 16, SIMPLE = 1 << 24 };
struct plan {
	uint32_t head;
	int32_t fn;  // of the first instruction
	uint32_t at, last; // its steps, last not included
	uint32_t counts[LANES];
};

enum { OP_NONE, OP_CALL, OP_RET };

// Some instructions of one function, and what the last one does.
struct step {
	int32_t fn;
	int32_t named; // the function that a call of its beginning is of, -1: not known
	int16_t slot;  // word of the stack access of a call or return, -1: not recorded
	uint8_t op;
	uint8_t entry; // it begins with its function's first instruction
	uint32_t self; // twice its number, from 1 on: what it is in met as what calls or is called, and one more as what is jumped to
	uint64_t addr, site, ret, target, offset;
	uint32_t words_at, words; // accesses of which words say what they count for
	uint32_t counts[LANES];
};

// An access of which a word says what it counts for: the kinds are those of abp.
enum { STRING = 1, MASKED, PACKED, GATHER, SIZED };
struct access {
	uint8_t kind, store;
	int16_t word, aux;
	uint16_t unused;
	uint64_t size, lanes; // lanes: a bit for each
};

// The layouts of frame and node in Go.
enum { TAIL = 1, BASE = 1 << 8, MET = 3 };
struct frame {
	int32_t node, fn, match;
	uint32_t kind; // tail and base: written in one piece, as it is read
	uint64_t slot, ret, state[2];
};

struct node {
	uint64_t own[LANES];
	int32_t parent, fn, depth;
	struct met {
		uint32_t from, to;
		int32_t child;
	} met[MET];
	uint64_t site, ticks;
};

// A place of the table of nodes; child 0: free.
struct entry {
	uint64_t site;
	int32_t parent, fn, child, unused[3];
};

enum { ROOT = 0, ANYWHERE = 1, MOST_SEARCH = 1 << 12, MOST_FRAMES = 64 };

struct follow {
	uint64_t at, words, limit; // the next word, how many there are, and where it is time to come back
	uint64_t blocks, steps;    // how many there are
	uint64_t frames, room;
	uint64_t mask, shift; // of the table of nodes
	int32_t match, cur;
	uint32_t step; // the one of the execution at at that is left to Go: 0: all of it
	uint32_t op;   // what the last execution has ended with, and all of it
	uint64_t many; // call sites are not told apart any more
	uint64_t site, ret, target, slot;
	uint64_t dyn[6]; // what words have said, of abp.Counts
};

int follow_supported(void);
void follow_run(struct follow *f, int vector, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const struct entry *table);
