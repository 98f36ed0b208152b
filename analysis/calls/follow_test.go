package calls

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/stream"
)

// world is a made-up program: functions with symbols and code without, blocks that call, return, jump and go on through calls, and stacks that threads are on.
type world struct {
	abptest.Blocks
	rng    *rand.Rand
	funcs  []*abp.Function
	images []*abp.Image
	at     map[uint64][]uint32 // blocks by address
	timed  bool
}

func (w *world) Image(n uint32) *abp.Image {
	if n == 0 || int(n) > len(w.images) {
		return nil
	}
	return w.images[n-1]
}

func (w *world) Function(n uint32) *abp.Function {
	if n == 0 || int(n) > len(w.funcs) {
		return nil
	}
	return w.funcs[n-1]
}

func (w *world) Images(from int) []*abp.Image       { return w.images[from:] }
func (w *world) Functions(from int) []*abp.Function { return w.funcs[from:] }

// The code of a world: functions of so many bytes, half of them without symbols.
const (
	worldCode     = 0x400000
	worldFunction = 0x100
	worldNamed    = 12
	worldAll      = 20
)

// newWorld makes blocks.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{rng: rand.New(rand.NewPCG(seed, 5)), Blocks: abptest.Blocks{nil}, at: map[uint64][]uint32{}, timed: seed%3 == 2}
	w.images = []*abp.Image{{Number: 1, Main: true, Path: "/named", Base: worldCode, Segments: []abp.Segment{{Start: worldCode, End: worldCode + worldNamed*worldFunction}}},
		{Number: 2, Path: "/stripped", Base: worldCode + worldNamed*worldFunction, Segments: []abp.Segment{{Start: worldCode + worldNamed*worldFunction, End: worldCode + worldAll*worldFunction}}}}
	for f := range worldNamed {
		w.funcs = append(w.funcs, &abp.Function{Number: uint32(f + 1), Image: 1, Name: fmt.Sprint("f", f), Addr: worldCode + uint64(f*worldFunction), Size: worldFunction})
	}
	for f := range worldAll {
		for addr, end := uint64(worldCode+f*worldFunction), uint64(worldCode+(f+1)*worldFunction-64); addr < end; {
			b := w.block(addr)
			b.ID = uint32(len(w.Blocks))
			if err := b.Prepare(); err != nil {
				t.Fatal(err)
			}
			w.Blocks = append(w.Blocks, b)
			w.at[addr] = append(w.at[addr], b.ID)
			if w.rng.IntN(6) > 0 { // else another block of the same code
				addr += beginning(b)
			}
		}
	}
	return w
}

// beginning is how long a block's code is up to where it goes on elsewhere.
func beginning(b *abp.Block) uint64 {
	for i := range b.Ins {
		if b.Ins[i].Far != 0 {
			return uint64(b.Ins[i].Off)
		}
	}
	return uint64(len(b.Code))
}

// entry is where some function begins.
func (w *world) entry() uint64 {
	among := worldAll
	if w.rng.IntN(2) == 0 { // so that the same calls come again
		among = 3
	}
	return worldCode + uint64(w.rng.IntN(among)*worldFunction)
}

// block makes a block.
func (w *world) block(addr uint64) *abp.Block {
	b := &abp.Block{Addr: addr, TimeWord: abp.NoWord, BranchWord: abp.NoWord, Image: 1}
	if addr >= worldCode+worldNamed*worldFunction {
		b.Image = 2
	}
	if w.timed && w.rng.IntN(3) == 0 {
		b.TimeWord, b.Words = 0, 1
	}
	far := int32(0)
	for range 1 + w.rng.IntN(3) {
		w.ins(b, []byte{0x90}, far, w.accesses(b)...)
	}
	for end := false; !end; {
		switch slot := w.slot(b, true); w.rng.IntN(9) {
		case 0, 1, 2:
			w.ins(b, []byte{0xe8, 0, 0, 0, 0}, far, slot)
			if w.rng.IntN(3) == 0 { // it goes on in what is called
				to := w.entry()
				far = int32(int64(to-addr) - int64(len(b.Code)))
				w.ins(b, []byte{0x90}, far, w.accesses(b)...)
				continue
			}
			if b.Branch = abp.BranchIndCall; w.rng.IntN(2) == 0 {
				b.Branch, b.Target = abp.BranchCall, w.entry()
			}
		case 3, 4, 5:
			b.Branch = abp.BranchRet
			w.ins(b, []byte{0xc3}, far, w.slot(b, false))
		case 6:
			b.Branch, b.Target = abp.BranchJump, worldCode+uint64(w.rng.IntN(3)*worldFunction)
			w.ins(b, []byte{0xeb, 0}, far)
		default:
			b.Branch = abp.BranchCond
			w.ins(b, []byte{0x75, 0}, far)
		}
		end = true
	}
	return b
}

// ins appends an instruction.
func (w *world) ins(b *abp.Block, code []byte, far int32, accesses ...abp.Access) {
	in := abp.Ins{Off: uint16(len(b.Code)), Len: uint8(len(code)), Far: far, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsRoutine, AccFrom: uint16(len(b.Accesses))}
	b.Code, b.Accesses = append(b.Code, code...), append(b.Accesses, accesses...)
	in.AccTo = uint16(len(b.Accesses))
	if len(accesses) > 0 {
		in.Flags |= abp.InsMemory
	}
	if w.rng.IntN(20) == 0 {
		in.Flags = 0
	}
	if f := (b.Addr + uint64(in.Off) + uint64(int64(far)) - worldCode) / worldFunction; f < worldNamed {
		in.Func = uint32(f + 1)
	}
	b.Ins = append(b.Ins, in)
}

// slot is a call's or a return's access to the stack.
func (w *world) slot(b *abp.Block, call bool) abp.Access {
	a := abp.Access{Store: call, AddrBits: 64, Size: 8, Word: int16(b.Words), AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
	if call {
		a.Offset = -8
	}
	b.Words++
	return a
}

// accesses are some of an instruction.
func (w *world) accesses(b *abp.Block) (all []abp.Access) {
	for range w.rng.IntN(3) {
		a := abp.Access{Store: w.rng.IntN(2) == 0, AddrBits: 64, Size: 1 << w.rng.IntN(6), Word: abp.NoWord, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
		if w.rng.IntN(8) == 0 {
			a.Kind = abp.AccessString + abp.AccessKind(w.rng.IntN(5))
			a.Lanes, a.Word, a.AuxWord = uint8(1+w.rng.IntN(64)), int16(b.Words), int16(b.Words+1)
			b.Words += 2
			if a.Kind == abp.AccessGather {
				a.IndexSize, a.Scale, a.Lanes, a.IndexWord = 8, 1, 2, int16(b.Words)
				b.Words += 2
			}
		}
		all = append(all, a)
	}
	return all
}

// thread is what runs in a world.
type thread struct {
	w     *world
	sp    uint64
	stack []uint64 // return addresses, the latest last
	other []uint64 // stack pointers of other stacks
	next  uint64   // address of what comes next
	tsc   uint64
	alone abp.Counts // of executions by themselves
}

// single hands over an execution by itself: cut short, or by the tracer.
func (t *thread) single(state *abp.Exec, all []*Tracker, want *abp.Counts) {
	words := t.run(nil)
	b := t.w.Blocks[words[0]]
	x := *state
	x.Whole(b, words[1:])
	switch x.Completed = t.w.rng.IntN(len(b.Ins) + 1); {
	case t.w.rng.IntN(4) == 0 && len(b.Ins) == 1:
		x.Words, x.IsEmulated, x.Completed, x.Timed = nil, true, 1, false
		x.Emulated = []uint64{t.sp, abp.EmulatedStore | 8}
	}
	t.alone.Add(x.Counts(), 1)
	want.Add(x.Counts(), 1)
	for _, tr := range all {
		y := x
		tr.Single(&y)
	}
}

// run appends an execution.
func (t *thread) run(words []uint64) []uint64 {
	w, rng := t.w, t.w.rng
	all := w.at[t.next]
	if len(all) == 0 || rng.IntN(60) == 0 { // a signal, or what was not recorded
		all = []uint32{uint32(1 + rng.IntN(len(w.Blocks)-1))}
	}
	b := w.Blocks[all[rng.IntN(len(all))]]
	from := len(words)
	words = append(words, uint64(b.ID))
	for range b.Words {
		words = append(words, rng.Uint64()>>rng.IntN(64))
	}
	in := words[from+1:]
	if b.TimeWord >= 0 {
		t.tsc += uint64(rng.IntN(100))
		in[b.TimeWord] = t.tsc
	}
	t.next = b.End()
	for i := range b.Ins {
		o := classify(b.InsCode(i))
		slot := stackSlot(b, i, o)
		t.jump()
		switch o {
		case opCall:
			t.stack = append(t.stack, b.InsAddr(i)+uint64(b.Ins[i].Len))
			if slot >= 0 {
				in[slot] = t.sp
			}
			t.sp -= 8
			if t.next = b.Target; t.next == 0 {
				t.next = w.entry()
			}
			switch rng.IntN(24) {
			case 0: // what is called is not recorded
				t.next, t.sp, t.stack = t.stack[len(t.stack)-1], t.sp+8, t.stack[:len(t.stack)-1]
			case 1: // but something that it calls
				t.next = w.entry()
			}
		case opRet:
			if slot >= 0 {
				in[slot] = t.sp
			}
			t.sp += 8
			if n := len(t.stack); n > 0 {
				t.next, t.stack = t.stack[n-1], t.stack[:n-1]
			}
		case opJump:
			t.next = b.Target
		}
	}
	return words
}

// stackSlot is the word of the stack access of a call or return.
func stackSlot(b *abp.Block, i int, o op) int16 {
	if o != opCall && o != opRet {
		return -1
	}
	slot, _ := stackWord(b, i, o == opCall)
	return slot
}

// jump now and then leaves functions without a return, or goes on on another stack.
func (t *thread) jump() {
	rng := t.w.rng
	switch n := min(rng.IntN(5), len(t.stack)); rng.IntN(150) {
	case 0: // longjmp
		t.leave(n)
	case 1:
		if len(t.other) < 4 {
			t.other = append(t.other, rng.Uint64()>>16&^7)
		}
		i := rng.IntN(len(t.other))
		t.sp, t.other[i] = t.other[i], t.sp
	default:
		if len(t.stack) > 30 { // not ever deeper
			t.leave(25)
		}
	}
}

// leave leaves functions without their returns.
func (t *thread) leave(n int) { t.stack, t.sp = t.stack[:len(t.stack)-n], t.sp+uint64(8*n) }

// followedJSON is what a way of following comes to.
func followedJSON(t *testing.T, b *Builder, tr *Tracker) string {
	t.Helper()
	b.Add(tr, 1)
	text, err := json.Marshal(b.Tree())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameSums compares what functions count for, and who called whom how often, with a tree that tells all call sites apart; merged is how many nodes of the first are of several.
func sameSums(t *testing.T, b, apart *Builder, tr *Tracker) (merged int) {
	t.Helper()
	apart.Add(tr, 1)
	some, all := b.Tree(), apart.Tree()
	if all.Merged != 0 {
		t.Errorf("%d nodes are of several call sites where all are told apart", all.Merged)
	}
	sums := func(tree *Tree) string { // of other counts and times rounding differs, in so many pieces
		var lines []string
		for _, m := range tree.Methods() {
			lines = append(lines, fmt.Sprintf("%s %#x %d %d %d", m.Func.Name, m.Func.Addr, m.Calls, m.Own.Instructions, m.Total.Instructions))
		}
		for _, e := range tree.Edges() {
			caller := ""
			if e.Caller != nil {
				caller = fmt.Sprintf("%s %#x", e.Caller.Name, e.Caller.Addr)
			}
			lines = append(lines, fmt.Sprintf("%s: %s %#x %d %d", caller, e.Callee.Name, e.Callee.Addr, e.Calls, e.Total.Instructions))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if got, want := sums(some), sums(all); got != want {
		t.Errorf("with %d nodes merged: %s\nwant %s", some.Merged, differ(got, want), differ(want, got))
	}
	return some.Merged
}

// TestLoopEqualsOneByOne: the loop in C comes to what following executions one by one does, in both of its forms, by whoever it is fed.
func TestLoopEqualsOneByOne(t *testing.T) {
	if !haveLoop {
		t.Skip("there is no loop")
	}
	inLoop, merged := 0, 0
	for seed := range uint64(16) {
		w := newWorld(t, seed)
		proc := abp.Growing(abp.Header{TSCFrequency: 1e9}, w)
		state := &abp.Exec{Process: proc}
		q := Query{Sites: []int{0, 1, 7, 30}[seed/4]}
		one, plain, walked := NewBuilder(proc, q).OneByOne(), NewBuilder(proc, q), NewBuilder(proc, q)
		vector, apart := NewBuilder(proc, q), NewBuilder(proc, Query{Sites: math.MaxInt32})
		all := []*Tracker{one.Thread(), plain.Thread(), vector.Thread(), walked.Thread(), apart.Thread()}
		all[1].loop.vector = false
		if all[0].loop != nil || !all[3].Walks() {
			t.Fatal("it is not done as was asked for")
		}
		run := &thread{w: w, sp: 1 << 40, next: worldCode}
		var sum stream.Walked
		want := abp.Counts{}
		for range 40 {
			var words []uint64
			for range w.rng.IntN(200) {
				from := len(words)
				words = run.run(words)
				x := *state
				x.Whole(w.Blocks[words[from]], words[from+1:])
				want.Add(x.Counts(), 1)
			}
			for i, tr := range all {
				if i != 3 {
					tr.Stretch(state, words)
					continue
				}
				if sum.At = 0; len(words) > 0 { // the last one is cut short, if it has words
					tr.Walk(state, words[:len(words)-1], &sum)
				}
				tr.Walk(state, words, &sum)
				if sum.At != len(words) {
					t.Fatalf("seed %d: walked to %d of %d", seed, sum.At, len(words))
				}
			}
			run.single(state, all, &want)
			if seed%4 == 3 && w.rng.IntN(8) == 0 {
				for _, tr := range all {
					tr.Gap()
				}
			}
		}
		for id, n := range all[1].loop.plans {
			if n.head != 0 && id > 0 {
				inLoop += int(all[1].loop.own.Execs[id])
			}
		}
		text := followedJSON(t, one, all[0])
		for i, b := range []*Builder{plain, vector, walked} {
			if got := followedJSON(t, b, all[i+1]); got != text {
				t.Fatalf("seed %d, way %d: %s\nwant %s", seed, i, differ(got, text), differ(text, got))
			}
		}
		merged += sameSums(t, plain, apart, all[4])
		for id, n := range sum.Execs {
			if n > 0 {
				sum.Counts.Add(w.Blocks[id].Static, n)
			}
		}
		sum.Counts.Add(run.alone, 1)
		if sum.Counts != want {
			t.Errorf("seed %d: walked %+v, want %+v", seed, sum.Counts, want)
		}
	}
	if merged == 0 {
		t.Error("all call sites are told apart")
	}
	if inLoop == 0 {
		t.Error("the loop has nothing to do")
	}
}

// differ is a text from a bit in front of where it differs from another.
func differ(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-200):min(len(a), i+300)]
}
