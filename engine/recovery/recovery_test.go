package recovery

import (
	"bytes"
	"testing"

	"alleria/engine/budget"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/testprogram"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

const codeAt = testprogram.CodeAt

// program is a few bytes of code at codeAt, of whose instructions all is recorded.
type program struct {
	testprogram.Program
	when [][]translate.Condition
}

func (g *program) Point(uint64) (translate.Point, bool) { return translate.Point{}, false }
func (g *program) Captures() translate.Captures         { return translate.Captures{} }
func (g *program) Plan(_ int, ins []x86.Insn, want []translate.Want) uint32 {
	for i := range ins {
		want[i].Flags, want[i].If = records.InsRecorded|records.InsAddrs, g.when
	}
	return 7
}

// stopped is a thread in a block that was translated of code, whose slot is that of no process.
func stopped(t *testing.T, code []byte, v codecache.Variant, budgeted bool) (*Thread, *codecache.Block) {
	t.Helper()
	return stoppedWhen(t, code, v, budgeted, nil)
}

// stoppedWhen is stopped where executions are wanted under conditions.
func stoppedWhen(t *testing.T, code []byte, v codecache.Variant, budgeted bool, when [][]translate.Condition) (*Thread, *codecache.Block) {
	t.Helper()
	c := testprogram.Cache(t)
	u := new(translate.Translator)
	u.Init(c, &program{testprogram.Program{Code: code}, when}, new(x86.Decoder), translate.Settings{Switches: translate.Switches{NoHuge: true}, Budgets: translate.Budgets{Words: layout.BudgetWords, Budgeted: budgeted, Metrics: [codecache.NumMetrics]bool{codecache.MetricInstructions: budgeted}}})
	s := &shm.Slot{Mem: make([]byte, layout.RingOff), Base: 0x20000000}
	var a budget.Account
	a.Open(s, &u.Budgets)
	b := u.Translate(codeAt, v)
	if b == nil {
		t.Fatal("nothing was translated")
	}
	th := new(Thread)
	th.Init(c, u, bytes.NewReader(nil), s, &a, false)
	return th, b
}

// loads is mov rax,[rbx]; mov rcx,[rax+rdx*8]; add rcx,rsi; ret.
var loads = []byte{0x48, 0x8b, 0x03, 0x48, 0x8b, 0x0c, 0xd0, 0x48, 0x01, 0xf1, 0xc3}

// TestRegisters stops a thread at every byte of a recorded block: where its state can be rebuilt, the registers that the block has
// borrowed are the application's again, and no other has changed.
func TestRegisters(t *testing.T) {
	th, b := stopped(t, loads, codecache.Record, false)
	const spilledA, spilledB, own = 0xaaaa, 0xbbbb, 0x1111
	th.slot.Set(translate.SpillA, spilledA)
	th.slot.Set(translate.SpillB, spilledB)
	th.slot.Set(layout.S0, own)
	pos := th.cache.PositionsOf(b)
	rebuilt, borrowed := 0, 0
	for at := range b.Size {
		regs := &sys.Regs{}
		for r := range x86.Reg(x86.NumRegs) {
			*RegOf(regs, r) = own
		}
		i, _ := pos.Find(at)
		if !th.Registers(b, at, regs, false) {
			if at == 0 || at == uint32(pos.At[i].Exec) {
				t.Errorf("at %#x, in front of instruction %d, nothing can be rebuilt", at, i)
			}
			continue
		}
		rebuilt++
		lent := at >= uint32(b.Rec.From) && at < uint32(b.Rec.To)
		if lent {
			borrowed++
		}
		for r := range x86.Reg(x86.NumRegs) {
			want := uint64(own)
			switch {
			case lent && r == b.Rec.RA:
				want = spilledA
			case lent && b.Rec.HasB && r == b.Rec.RB:
				want = spilledB
			}
			if got := *RegOf(regs, r); got != want {
				t.Errorf("at %#x register %d is %#x, want %#x", at, r, got, want)
			}
		}
	}
	if rebuilt < int(b.Insns) || rebuilt == int(b.Size) || borrowed == 0 {
		t.Errorf("%d of %d places can be rebuilt, %d with borrowed registers", rebuilt, b.Size, borrowed)
	}
}

// TestTakeBackRecord leaves a recorded block in front of its second instruction: the record says so, and stays whole behind its mark.
func TestTakeBackRecord(t *testing.T) {
	th, b := stopped(t, loads, codecache.Record, false)
	const ring = 1 << 19
	buf := th.slot.Base + ring
	th.slot.Set(layout.Buf, buf)
	for w := range int(b.Rec.Words) + 1 {
		th.slot.Set(ring+8*w, uint64(100+w))
	}
	at := uint32(th.cache.PositionsOf(b).At[1].Exec)
	if at < uint32(b.Rec.From) || at >= uint32(b.Rec.To) {
		t.Fatalf("the record is not being written at %#x", at)
	}
	th.TakeBack(b, 1, at, &sys.Regs{})
	if got := th.slot.Get(ring); got != records.Mark(records.MarkCut, 1) {
		t.Errorf("the mark is %#x", got)
	}
	if got := th.slot.Get(ring + 8); got != uint64(b.Rec.ID) {
		t.Errorf("the record is of block %d, want %d", got, b.Rec.ID)
	}
	for w := 1; w <= int(b.Rec.Words); w++ {
		if got := th.slot.Get(ring + 8 + 8*w); got != uint64(100+w) {
			t.Errorf("word %d is %d", w, got)
		}
	}
	if got, want := th.slot.Get(layout.Buf), buf+8*(2+uint64(b.Rec.Words)); got != want {
		t.Errorf("the next record begins at %#x, want %#x", got, want)
	}
}

// TestTakeBackConditional leaves a block whose record is one only under a condition, in front of its last instruction, a return that faults: the record gets its mark if there is one, and nothing else is made one.
func TestTakeBackConditional(t *testing.T) {
	for kept, moved := range []uint64{0, 1} {
		th, b := stoppedWhen(t, loads, codecache.Record, false, [][]translate.Condition{{{Of: translate.OfAddress, Least: 1 << 20, Most: 1 << 21}}})
		const ring = 1 << 19
		buf := th.slot.Base + ring
		th.slot.Set(layout.Buf, buf)
		th.slot.Set(layout.Kept, uint64(kept))
		size := 8 * (1 + uint64(b.Rec.Words))
		last := int(b.Insns) - 1
		at := uint32(th.cache.PositionsOf(b).At[last].Exec)
		if at < uint32(b.Rec.To) || !th.cache.Conditional(&b.Rec) {
			t.Fatalf("at %#x the record ends at %#x, conditional: %t", at, b.Rec.To, th.cache.Conditional(&b.Rec))
		}
		th.slot.Set(layout.Buf, buf+moved*size)
		th.TakeBack(b, last, at, &sys.Regs{})
		if got, want := th.slot.Get(layout.Buf), buf+moved*(size+8); got != want {
			t.Errorf("kept %d: the next record begins at %#x, want %#x", kept, got, want)
		}
		if mark := th.slot.Get(ring) == records.Mark(records.MarkCut, uint64(last)); mark != (kept == 1) {
			t.Errorf("kept %d: marked %t", kept, mark)
		}
	}
}

// TestTakeBackCounted leaves a block that has been counted as left out, since no line of it is followed, in front of its last instruction: it is not counted any more, and its words become
// a record with a mark. One that was kept gets its mark as ever.
func TestTakeBackCounted(t *testing.T) {
	for kept, moved := range []uint64{0, 1} {
		th, b := stoppedWhen(t, loads, codecache.Record, false, [][]translate.Condition{{{Of: translate.OfLine, Least: 6}}})
		const ring = 1 << 19
		buf := th.slot.Base + ring
		size := 8 * (1 + uint64(b.Rec.Words))
		last := int(b.Insns) - 1
		at := uint32(th.cache.PositionsOf(b).At[last].Exec)
		if at < uint32(b.Rec.To) || !th.cache.Conditional(&b.Rec) || !th.cache.OddOf(&b.Rec).Counts {
			t.Fatalf("at %#x the record ends at %#x, conditional: %t", at, b.Rec.To, th.cache.Conditional(&b.Rec))
		}
		th.slot.Set(ring, uint64(b.Rec.ID))
		th.slot.Set(layout.Kept, uint64(kept))
		th.slot.Set(layout.LeftAt(b.Rec.ID), 5)
		th.slot.Set(layout.Buf, buf+moved*size)
		th.TakeBack(b, last, at, &sys.Regs{})
		if got, want := th.slot.Get(layout.Buf), buf+size+8; got != want {
			t.Errorf("kept %d: the next record begins at %#x, want %#x", kept, got, want)
		}
		if th.slot.Get(ring) != records.Mark(records.MarkCut, uint64(last)) || th.slot.Get(ring+8) != uint64(b.Rec.ID) {
			t.Errorf("kept %d: %#x %#x", kept, th.slot.Get(ring), th.slot.Get(ring+8))
		}
		if got, want := th.slot.Get(layout.LeftAt(b.Rec.ID)), uint64(4+kept); got != want {
			t.Errorf("kept %d: left out %d times, want %d", kept, got, want)
		}
	}
}

// TestTakeBackCount leaves a counting block: what it did not execute is known.
func TestTakeBackCount(t *testing.T) {
	th, b := stopped(t, loads, codecache.Count, false)
	for i := range int(b.Insns) {
		th.TakeBack(b, i, max(uint32(th.cache.PositionsOf(b).At[i].Exec), 1), &sys.Regs{})
	}
	if len(th.Partial()) != int(b.Insns) {
		t.Fatalf("%d executions were left early, want %d", len(th.Partial()), b.Insns)
	}
	for i, p := range th.Partial() {
		if p.Block != b || p.Done != i {
			t.Errorf("execution %d: %d instructions done", i, p.Done)
		}
	}
}

// TestRefund leaves a block that has taken its instructions off a budget.
func TestRefund(t *testing.T) {
	th, b := stopped(t, loads, codecache.Plain, true)
	for i := range int(b.Insns) {
		th.budget.Set(codecache.MetricInstructions, 1000)
		th.TakeBack(b, i, max(uint32(th.cache.PositionsOf(b).At[i].Exec), 1), &sys.Regs{})
		if got, want := th.budget.Left(codecache.MetricInstructions), int64(1000+int(b.Insns)-i); got != want {
			t.Errorf("left before instruction %d: %d are left, want %d", i, got, want)
		}
	}
}
