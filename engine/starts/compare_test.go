package starts

import (
	"testing"

	"alleria/internal/sys"
)

// The flags of cmp $-4096,%rax for results of mmap, as a processor gave them.
func TestCompareSetsFlags(t *testing.T) {
	const limit = ^uint64(4095)
	for _, c := range []struct{ rax, flags uint64 }{
		{0x7f1234567000, flagCarry | flagParity},
		{limit, flagZero | flagParity},
		{limit + 1, 0},
		{^uint64(0), flagParity}, // -1
		{^uint64(11), 0},
		{0, flagCarry | flagParity},
		{1 << 63, flagCarry | flagSign | flagParity},
		{1<<63 - 1, flagCarry | flagOverflow | flagSign | flagParity},
	} {
		regs := sys.Regs{Eflags: 0x202 | flagZero}
		compare(&regs, c.rax, limit)
		if got := regs.Eflags &^ 0x202; got != c.flags {
			t.Errorf("%#x: flags %#x, want %#x", c.rax, got, c.flags)
		}
	}
}
