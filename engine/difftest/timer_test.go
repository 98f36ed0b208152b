package difftest

import (
	"debug/elf"
	"flag"
	"fmt"
	"testing"

	"alleria/engine"
	"alleria/internal/randprog"
)

// timers is how many programs TestTimer makes.
var timers = flag.Int("timers", 1, "random programs to run under a timer")

// TestTimer runs random programs under a timer whose signals find them
// everywhere, in translated code and in the routines behind it. They must
// compute what they compute natively, and what was recorded must be a path: each
// instruction follows the one before, but for entries of the handler, which
// returns to where it was entered from.
func TestTimer(t *testing.T) {
	cpu := processorFlags(t)
	for seed := range uint64(*timers) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := randprog.New(1000+seed, cpu, randprog.Templates())
			bin, keep := buildRandom(t, fmt.Sprintf("timer%d", seed), g.Sequences(10, 250), seed%2 == 1)
			defer keep(t)
			want := native(t, bin)
			for _, v := range variants() {
				// A record with all registers is a hundred instructions long, which a signal
				// is stepped through one by one: right, but too slow for so many of them.
				if v.regs != nil {
					continue
				}
				got, rec := translate(t, bin, v)
				sameOutcome(t, v.name, got, want)
				if v.mode != engine.ModeRecord {
					continue
				}
				entries, err := expand(rec.words, rec.blocks)
				if err != nil {
					t.Errorf("%s: %v", v.name, err)
				}
				if v.want == everything {
					signals, msg := isPath(entries, symbol(t, bin, "handler"), symbol(t, bin, "restoring"))
					if msg != "" {
						t.Errorf("%s: %s", v.name, msg)
					}
					t.Logf("%s: %d instructions, %d signals", v.name, len(entries), signals)
				}
			}
		})
	}
}

// symbol is the low 12 bits of a symbol's address: what loading it elsewhere
// does not change.
func symbol(t *testing.T, path, name string) uint64 {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s.Value & 0xfff
		}
	}
	t.Fatalf("no symbol %s in %s", name, path)
	return 0
}

// isPath checks that entries follow each other. It returns how often the
// handler was entered.
func isPath(list []entry, handler, restoring uint64) (signals int, msg string) {
	var interrupted []uint64
	var expected uint64
	for i := range list {
		e := &list[i]
		if i > 0 && e.addr != expected {
			if e.addr&0xfff != handler {
				return signals, fmt.Sprintf("entry %d should be at %#x\n%s", i, expected, around(list, i))
			}
			interrupted = append(interrupted, expected)
			signals++
		}
		switch {
		case e.addr&0xfff == restoring && len(interrupted) > 0:
			k := len(interrupted) - 1
			expected, interrupted = interrupted[k], interrupted[:k]
		case e.part: // of a repeated string instruction, which goes on where it was interrupted
			expected = e.addr
		case e.taken == 1:
			expected = e.target
		default:
			expected = e.addr + uint64(len(e.code))
		}
	}
	return signals, ""
}
