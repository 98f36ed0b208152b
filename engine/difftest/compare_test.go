package difftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/engine"
	"alleria/engine/step"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// often is an interval at which open chunks are drained so often that a thread is hardly ever
// stopped without its latest records having been looked at.
const often = 5 * time.Microsecond

// variants are the ways in which each program runs under the translator.
func variants() []variant {
	return []variant{
		{name: "plain", mode: engine.ModePlain},
		{name: "count", mode: engine.ModeCount, opts: func(o *engine.Options) { o.Ahead = true }},
		{name: "addresses", mode: engine.ModeRecord, drain: often, want: records.InsRecorded | records.InsAddrs},
		{name: "everything", mode: engine.ModeRecord, want: everything, opts: func(o *engine.Options) { o.Sizes = true }},
		// Small chunks change often, and one block a unit links differently.
		{name: "timed", mode: engine.ModeRecord, want: everything | records.InsTime, chunk: 16 << 10,
			opts: func(o *engine.Options) { o.NoFollow, o.NoHuge = true, true }},
		// Without branches' outcomes blocks go on behind branches; once more with few of them.
		{name: "values", mode: engine.ModeRecord, drain: often, want: everything&^records.InsBranch | records.InsTime, chunk: 16 << 10,
			opts: func(o *engine.Options) { o.Sizes = true }},
		{name: "basic blocks", mode: engine.ModeRecord, drain: often, want: records.InsRecorded | records.InsAddrs, opts: func(o *engine.Options) { o.NoSuper = true }},
		{name: "side exits at once", mode: engine.ModeRecord, drain: often, want: records.InsRecorded | records.InsAddrs, opts: func(o *engine.Options) { o.NoLazy, o.Sizes = true, true }},
		{name: "short superblocks", mode: engine.ModeRecord, want: records.InsRecorded | records.InsAddrs, opts: func(o *engine.Options) { o.Short = true }},
		{name: "registers", mode: engine.ModeRecord, want: records.InsRecorded, regs: comparedRegisters},
		{name: "behind calls", mode: engine.ModeRecord, want: records.InsRecorded | records.InsAddrs, opts: func(o *engine.Options) { o.NoBehind = true }},
		{name: "state by the tracer", mode: engine.ModeRecord, want: records.InsRecorded | records.InsAddrs, opts: func(o *engine.Options) { o.NoState = true }},
		{name: "few addresses", mode: engine.ModeRecord, drain: often, want: records.InsRecorded | records.InsAddrs, few: true, opts: func(o *engine.Options) { o.FewAddresses = true }},
		// Instructions whose values are recorded are taken apart, also where flags are dead.
		{name: "registers and values", mode: engine.ModeRecord, want: everything, regs: comparedRegisters},
	}
}

// comparedRegisters is one of each kind or more.
var comparedRegisters = []records.Reg{
	records.RegGPR64, records.RegGPR64 | 1, records.RegGPR64 | 3, records.RegGPR64 | 4, records.RegGPR32 | 6, records.RegGPR16 | 10,
	records.RegGPR8 | 9, records.RegHigh | 2, records.RegGPR64 | 11, records.RegGPR64 | 15, records.RegXMM | 1, records.RegYMM | 1,
	records.RegZMM | 3, records.RegXMM | 21, records.RegMask | 1, records.RegMMX | 2, records.RegX87, records.RegX87 | 5,
	records.RegRIP, records.RegFlags, records.RegMXCSR, records.RegFSBase, records.RegGSBase,
}

// registersCompared is of how many instructions of a program the registers are
// compared: they take much memory.
const registersCompared = 3000

// registersOf is what the oracle says of them.
func registersOf(in *step.Ins) map[records.Reg][]byte {
	m := make(map[records.Reg][]byte)
	for _, r := range comparedRegisters {
		m[r] = bytes.Clone(in.Register(r))
	}
	return m
}

// oracle runs a program under the oracle and keeps its entries.
func oracle(t testing.TB, path string) (o outcome, list []entry, pid int) {
	t.Helper()
	o = single(t, path, step.Options{VectorState: true, Started: func(id int) error { pid = id; return nil }}, func(in *step.Ins) error {
		e := entry{addr: in.Addr, code: bytes.Clone(in.Bytes), taken: -1, target: in.To, part: in.Part}
		if len(list) < registersCompared {
			e.regs = registersOf(in)
		}
		if in.Branch {
			e.taken = 0
			if in.Taken {
				e.taken = 1
			}
		}
		for _, a := range in.Accesses {
			e.acc = append(e.acc, access{a.Addr, a.Size, a.Store, bytes.Clone(a.Value)})
		}
		list = append(list, e)
		return nil
	})
	return o, list, pid
}

// renumbering is the process ids of an oracle's run and of another. Either may
// stand where the program has its own; any other number may be equal to one by
// chance (flags are, to those of a machine that has just started), so that the
// oracle's values are compared both as they are and renumbered.
type renumbering struct{ oracle, run uint32 }

// same compares a value with the oracle's.
func (n renumbering) same(got, want []byte) bool {
	return bytes.Equal(got, want) || n.isID(want, n.oracle) && n.isID(got, n.run)
}

// isID tells whether a value of four or eight bytes is that process id.
func (n renumbering) isID(v []byte, id uint32) bool {
	return (len(v) == 4 || len(v) == 8) && binary.LittleEndian.Uint32(v) == id &&
		(len(v) == 4 || binary.LittleEndian.Uint32(v[4:]) == 0)
}

// check runs a program in every way and compares. The native run's status is
// the measure; it is returned.
func check(t testing.TB, path string) outcome {
	t.Helper()
	return checkValues(t, path, true)
}

// checkValues is check for programs that may find other values in each run.
func checkValues(t testing.TB, path string, same bool) outcome {
	t.Helper()
	want := native(t, path)
	got, steps, pid := oracle(t, path)
	if !same {
		for i := range steps {
			steps[i].regs = nil
			for k := range steps[i].acc {
				steps[i].acc[k].value = nil
			}
		}
	}
	sameOutcome(t, "oracle", got, want)
	for _, v := range variants() {
		got, rec := translate(t, path, v)
		sameOutcome(t, v.name, got, want)
		if v.mode == engine.ModeCount && rec.counted != retired(steps) {
			t.Errorf("%s: %d instructions, the oracle has %d", v.name, rec.counted, retired(steps))
		}
		if v.mode != engine.ModeRecord {
			continue
		}
		entries, err := expand(rec.words, rec.blocks)
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		ids := renumbering{oracle: uint32(pid), run: uint32(rec.pid)}
		want := steps
		if v.want&records.InsAddrs == 0 { // what an interrupted instruction did is accesses
			want = slices.DeleteFunc(slices.Clone(steps), func(e entry) bool { return e.part })
		}
		if v.few {
			addressesOf(entries, want)
		}
		if msg := difference(entries, want, v.want, ids); msg != "" {
			t.Errorf("%s: %s", v.name, msg)
		}
	}
	return want
}

// addressesOf gives accesses that were recorded without addresses those that the oracle has, but for where calls and returns have their return addresses.
func addressesOf(got, want []entry) {
	for i := range min(len(got), len(want)) {
		var one [1]x86.Insn
		if n, _ := x86.Decode(got[i].code, got[i].addr, one[:]); n == 0 || one[0].Cat == x86.CatCALL || one[0].Cat == x86.CatRET {
			continue
		}
		for k := range min(len(got[i].acc), len(want[i].acc)) {
			if a := &got[i].acc[k]; a.addr == 0 {
				a.addr = want[i].acc[k].addr
			}
		}
	}
}

// retired counts the instructions of a list.
func retired(list []entry) (n uint64) {
	for i := range list {
		if !list[i].part {
			n++
		}
	}
	return n
}

func sameOutcome(t testing.TB, name string, got, want outcome) {
	t.Helper()
	if got.status != want.status {
		t.Errorf("%s: ended with %s, natively %s", name, got.status, want.status)
	}
	if got.output != want.output {
		at := 0
		for at < min(len(got.output), len(want.output)) && got.output[at] == want.output[at] {
			at++
		}
		t.Errorf("%s: output differs from the native one at byte %d; %d bytes, natively %d", name, at, len(got.output), len(want.output))
	}
}

// difference describes the first entry in which got, the translator's, is not
// want, the oracle's; empty if there is none.
func difference(got, want []entry, flags records.InsFlags, ids renumbering) string {
	for i := range want {
		if i >= len(got) {
			return fmt.Sprintf("%d entries, the oracle has %d; the next is\n%s", len(got), len(want), around(want, i))
		}
		if what := entryDiffers(&got[i], &want[i], flags, ids); what != "" {
			return fmt.Sprintf("entry %d: %s\n%s translator: %s", i, what, around(want, i), text(&got[i]))
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("%d entries, the oracle has %d; the next is\n%s", len(got), len(want), text(&got[len(want)]))
	}
	return ""
}

func entryDiffers(got, want *entry, flags records.InsFlags, ids renumbering) string {
	switch {
	case got.addr != want.addr:
		return "address"
	case got.part != want.part:
		return "part of an instruction"
	case !bytes.Equal(got.code, want.code):
		return "encoding"
	case got.flags&^records.InsMemory != flags:
		return fmt.Sprintf("flags %b, asked for %b", got.flags, flags)
	case got.taken >= 0 && got.taken != want.taken:
		return "branch taken"
	case got.taken >= 0 && got.target != want.target && want.target != 0:
		return "branch target"
	case flags&records.InsBranch != 0 && want.taken >= 0 && got.taken < 0 && !got.emulated:
		return "branch not recorded"
	case flags&records.InsAddrs == 0:
	case len(got.acc) != len(want.acc):
		return "number of accesses"
	}
	if flags&records.InsAddrs == 0 {
		return registersDiffer(got, want, ids)
	}
	for k := range want.acc {
		g, w := &got.acc[k], &want.acc[k]
		switch {
		case g.addr != w.addr || g.size != w.size || g.store != w.store:
			return fmt.Sprintf("access %d", k)
		case g.value == nil && flags&records.InsValues != 0 && w.value != nil && !valueless(got):
			return fmt.Sprintf("no value of access %d", k)
		case g.value != nil && w.value != nil && !overwritten(want, k) && !ids.same(g.value, w.value) && !sameValue(want, g.value, w.value):
			return fmt.Sprintf("value of access %d", k)
		}
	}
	if len(got.regs) > 0 {
		return registersDiffer(got, want, ids)
	}
	return ""
}

// registersDiffer compares the registers before an instruction.
func registersDiffer(got, want *entry, ids renumbering) string {
	if len(got.regs) < 16 {
		return "registers are missing"
	}
	for r, v := range got.regs {
		if want.regs != nil && !ids.same(v, want.regs[r]) {
			return fmt.Sprintf("register %#x: %x, the oracle has %x", r, v, want.regs[r])
		}
	}
	return ""
}

// valueless tells the instructions whose values are not recorded, which
// docs/format.md lists.
func valueless(e *entry) bool {
	var one [1]x86.Insn
	if n, _ := x86.Decode(e.code, e.addr, one[:]); n == 0 {
		return true
	}
	in := &one[0]
	switch in.Mnem {
	case x86.MBT, x86.MBTS, x86.MBTR, x86.MBTC:
		return in.Ops[1].Kind == x86.OpReg
	}
	if in.Complex() || in.Bcast == 2 && in.Mems[0].Size == 4 && in.MaskReg != 0 {
		return true
	}
	name := in.ClassName() // tuples of which single elements are masked
	return in.MaskReg != 0 && strings.HasPrefix(name, "vbroadcast") && strings.Contains(name, "x")
}

// overwritten tells a store that a later one of the same instruction overlaps: a
// scatter's lanes may, and the oracle sees what is left in the end.
func overwritten(e *entry, k int) bool {
	a := &e.acc[k]
	for i := k + 1; a.store && i < len(e.acc); i++ {
		if b := &e.acc[i]; b.store && b.addr < a.addr+uint64(a.size) && a.addr < b.addr+uint64(b.size) {
			return true
		}
	}
	return false
}

// sameValue compares values but for what the processor notes itself of the last
// x87 instruction: its address, which in the cache is another, its operand's
// address and its opcode, which AMD's forget whenever the thread is stopped.
func sameValue(e *entry, a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	from, to := 0, 0
	switch name := className(e); {
	case strings.HasPrefix(name, "fxsave"), strings.HasPrefix(name, "fxrstor"):
		from, to = 6, 24
	case name == "fnstenv", name == "fldenv", name == "fnsave", name == "frstor":
		from, to = 12, 26
		if len(a) == 14 || len(a) == 94 { // sixteen-bit form
			from, to = 6, 14
		}
	}
	if to > len(a) {
		from, to = 0, 0
	}
	return bytes.Equal(a[:from], b[:from]) && bytes.Equal(a[to:], b[to:])
}

// around shows the entries before i and i itself.
func around(list []entry, i int) string {
	var b strings.Builder
	for k := max(0, i-6); k <= i; k++ {
		fmt.Fprintf(&b, "%12d: %s\n", k, text(&list[k]))
	}
	return b.String()
}

func text(e *entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%#x %s [% x]", e.addr, className(e), e.code)
	if e.taken >= 0 {
		fmt.Fprintf(&b, " taken %d to %#x", e.taken, e.target)
	}
	for k, a := range e.acc {
		if k == 8 {
			fmt.Fprintf(&b, " … %d more", len(e.acc)-k)
			break
		}
		kind := 'L'
		if a.store {
			kind = 'S'
		}
		fmt.Fprintf(&b, " %c%d@%#x", kind, a.size, a.addr)
		if a.value != nil {
			fmt.Fprintf(&b, "=%x", a.value)
		}
	}
	return b.String()
}

func className(e *entry) string {
	var one [1]x86.Insn
	if n, _ := x86.Decode(e.code, e.addr, one[:]); n == 0 {
		return "?"
	}
	return one[0].ClassName()
}
