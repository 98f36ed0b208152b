package difftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/engine/step"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// TestProcessorAgrees asks the processor itself whether the accesses that
// engine/x86 tells of an instruction are those that it makes, and whether it
// changes only the registers, flags and memory that it is said to change. The
// oracle takes the table of accesses for granted, so this is what stands behind
// it: debug registers watch the bytes at the ends of an access and those
// beside it, and writable memory is compared before and after.
func TestProcessorAgrees(t *testing.T) {
	sources, err := filepath.Glob("../../testdata/insns/*.S")
	if err != nil {
		t.Fatal(err)
	}
	cpu := processorFlags(t)
	// Some virtual machines keep debug registers and heed none: what is left there are registers, flags and memory.
	probe := &audit{t: t, blind: true, asked: make(map[uint64]int)}
	single(t, build(t, "../../testdata/insns/moves.S", lowLink), step.Options{Started: probe.started, Before: probe.before}, probe.after)
	probe.settle()
	if probe.hits == 0 {
		t.Log("nothing that is watched here is ever reported: accesses are not compared")
	}
	for n, source := range sources {
		if n%2 > 0 && !*every {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(source), ".S"), func(t *testing.T) {
			if missing := lacks(t, source, cpu); missing != "" {
				t.Skipf("the processor has no %s", missing)
			}
			prog := build(t, source, lowLink)
			audited := func() *audit {
				a := &audit{t: t, limit: 10, asked: make(map[uint64]int), whole: cpu["AuthenticAMD"], blind: probe.hits == 0}
				single(t, prog, step.Options{Started: a.started, Before: a.before}, a.after)
				a.settle()
				return a
			}
			// Some virtual machines lose what a processor reports now and then: what is missed is missed again, of the same executions.
			missed := audited().missed
			for again := 0; again < 3 && len(missed) > 0; again++ {
				now := audited().missed
				maps.DeleteFunc(missed, func(at execution, _ string) bool { return now[at] == "" })
			}
			for _, text := range missed {
				t.Error(text)
			}
		})
	}
}

// Debug registers in the kernel's struct user.
const (
	debugRegs = 848
	dr6       = debugRegs + 6*8
	dr7       = debugRegs + 7*8
)

// execution is one of an instruction's, counted from 1.
type execution struct {
	addr uint64
	n    int
}

// audit checks a run, instruction by instruction.
type audit struct {
	t       *testing.T
	pid     int
	mem     *os.File
	watched []uint64 // the addresses in debug registers 0 to 3
	asked   map[uint64]int
	regions []sys.Mapping
	memory  [][]byte
	last    *x86.Insn
	next    uint64 // the address behind it
	regs    sys.Regs
	trapped int
	missed  map[execution]string // accesses of which nothing was reported
	wrong   int
	hits    int
	limit   int  // of complaints
	blind   bool // what debug registers say is not compared
	whole   bool // the processor tells masked-out elements of an operand as accessed, too
}

func (a *audit) started(pid int) error {
	a.pid = pid
	if a.mem != nil {
		a.mem.Close()
	}
	var err error
	if a.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", pid)); err != nil {
		return err
	}
	return a.findMemory()
}

// findMemory finds the writable memory: a program of the corpus has little.
func (a *audit) findMemory() error {
	maps, err := sys.Maps(a.pid)
	if err != nil {
		return err
	}
	a.regions, a.memory = nil, nil
	for _, m := range maps {
		if m.Writable() && m.End-m.Start <= 256<<10 {
			a.regions = append(a.regions, m)
			a.memory = append(a.memory, make([]byte, m.End-m.Start))
		}
	}
	return nil
}

func (a *audit) poke(off uintptr, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := unix.PtracePokeUser(a.pid, off, b[:])
	return err
}

// before notes the memory and sets watchpoints.
func (a *audit) before(in *step.Ins) error {
	if a.next == in.Addr { // and not a signal's handler
		a.registers(&in.Regs)
	}
	a.last = nil
	for i, m := range a.regions {
		if _, err := a.mem.ReadAt(a.memory[i], int64(m.Start)); err != nil {
			return a.findMemory()
		}
	}
	a.watched = a.watched[:0]
	for _, at := range a.bytesToWatch(in) {
		if len(a.watched) < 4 && a.mapped(at) {
			a.watched = append(a.watched, at)
		}
	}
	if err := a.poke(dr7, 0); err != nil {
		return err
	}
	var enable uint64
	for i, at := range a.watched {
		if err := a.poke(debugRegs+uintptr(8*i), at); err != nil {
			return err
		}
		enable |= 1<<(2*i) | 3<<(16+4*i) // reads and writes of one byte
	}
	if err := a.poke(dr7, enable); err != nil {
		return err
	}
	return a.poke(dr6, 0)
}

func (a *audit) mapped(at uint64) bool {
	for _, m := range a.regions {
		if at >= m.Start && at < m.End {
			return true
		}
	}
	return false
}

// bytesToWatch is the ends of one of the instruction's accesses, another each
// time that it executes, and the bytes beside it. Where there is none, the
// bytes at the operand and at the stack's top should not be touched.
func (a *audit) bytesToWatch(in *step.Ins) []uint64 {
	n := a.asked[in.Addr]
	a.asked[in.Addr]++
	if len(in.Accesses) > 0 {
		x := &in.Accesses[(n*7+int(in.Addr))%len(in.Accesses)]
		end := x.Addr + uint64(x.Size)
		at := []uint64{x.Addr, end - 1, x.Addr - 1, end}
		if in.Enc != x86.EncLegacy && n > 0 { // masks leave holes
			first := in.Accesses[0].Addr
			at = []uint64{first + uint64(n*8)%64, first + uint64(n*8+4)%64, x.Addr, end}
		}
		return at
	}
	at := []uint64{in.Regs.Rsp - 8, in.Regs.Rsp}
	if in.NMem > 0 && in.Mems[0].Base == x86.RBX {
		at = append(at, in.Regs.Rbx+uint64(in.Mems[0].Disp))
	}
	return append(at, in.Regs.Rdi, in.Regs.Rsi)
}

// after compares what the processor did with what the instruction was said to
// do.
func (a *audit) after(in *step.Ins) error {
	if a.wrong > a.limit || in.Cat == x86.CatSYSCALL || in.Cat == x86.CatINTERRUPT {
		a.last = nil
		_ = a.findMemory() // no such process any more behind exit_group
		return nil
	}
	if !in.Complex() { // XSAVE writes components that its header then calls unused
		a.written(in)
	}
	one := in.Insn
	a.last, a.next, a.regs = &one, in.To, in.Regs
	for i := range in.Accesses { // a repeated instruction's iterations are not watched one by one
		if i > 0 && in.Attr&(x86.AttrRep|x86.AttrRepne) != 0 && in.CategoryName() == "STRINGOP" {
			return nil
		}
	}
	var b [8]byte
	if _, err := unix.PtracePeekUser(a.pid, dr6, b[:]); err != nil {
		return err
	}
	hit := binary.LittleEndian.Uint64(b[:])
	for i, at := range a.watched {
		got, want := hit>>i&1 != 0, covered(in, at, false)
		a.trapped++
		if got {
			a.hits++
		}
		if a.blind {
			continue
		}
		if got == want || coarse(in, got) || got && a.whole && within(in, at) {
			continue
		}
		text := fmt.Sprintf("the processor accessed %#x: %v; accesses say %v", at, got, want)
		if hit&15 != 0 {
			a.say(in, "%s", text)
			continue
		}
		if a.missed == nil {
			a.missed = make(map[execution]string)
		}
		a.missed[execution{in.Addr, a.asked[in.Addr]}] = a.line(in) + ": " + text
	}
	return nil
}

// coarse tells instructions that the processor does by microcode, which touches
// more bytes or fewer than the architecture says: masked ones that read or write
// their whole operand, state areas with reserved fields. touched says which of
// both it is.
func coarse(in *step.Ins, touched bool) bool {
	if in.Complex() {
		return true
	}
	switch name := in.ClassName(); {
	case strings.Contains(name, "maskmov"),
		strings.HasPrefix(name, "vpconflict"), strings.HasPrefix(name, "vextract"), strings.HasPrefix(name, "clflush"):
		return touched
	case strings.HasPrefix(name, "vbroadcast") && strings.Contains(name, "x"): // single elements of a tuple
		return !touched
	case name == "pop" && in.Map == 1: // of a selector
		return !touched
	case strings.HasPrefix(name, "fxsave"), strings.HasPrefix(name, "fxrstor"):
		return !touched
	case strings.Contains(name, "unpckl"), // the half that they use
		strings.HasPrefix(name, "psll"), strings.HasPrefix(name, "psrl"), strings.HasPrefix(name, "psra"): // a count
		return !touched
	}
	return false
}

// within tells whether a byte lies in an operand in memory of which a mask leaves elements out. AMD's manual lets data breakpoints
// report those, and its later processors (family 26) do; what is stored there is compared all the same.
func within(in *step.Ins, at uint64) bool {
	regs := general(&in.Regs)
	for _, o := range in.Insn.Accesses(nil) {
		if o.Mask != x86.MaskNone && at-o.Address(&regs, in.Regs.Fs_base, in.Regs.Gs_base) < uint64(o.Size)*uint64(o.Lanes) {
			return true
		}
	}
	return false
}

// covered tells whether an access of the instruction includes the byte.
func covered(in *step.Ins, at uint64, stores bool) bool {
	for i := range in.Accesses {
		x := &in.Accesses[i]
		if at-x.Addr < uint64(x.Size) && (x.Store || !stores) {
			return true
		}
	}
	return false
}

// written checks that all bytes that changed lie in stores.
func (a *audit) written(in *step.Ins) {
	now := make([]byte, 4096)
	for i, m := range a.regions {
		for off := uint64(0); off < m.End-m.Start; off += 4096 {
			if _, err := a.mem.ReadAt(now, int64(m.Start+off)); err != nil {
				return
			}
			old := a.memory[i][off:][:4096]
			if bytes.Equal(now, old) {
				continue
			}
			for k := range now {
				if at := m.Start + off + uint64(k); now[k] != old[k] && !covered(in, at, true) {
					a.say(in, "changed %#x, which no store covers", at)
					return
				}
			}
		}
	}
}

// registers checks what the instruction before changed.
func (a *audit) registers(now *sys.Regs) {
	in := a.last
	if in == nil || a.wrong > a.limit {
		return
	}
	old, cur := general(&a.regs), general(now)
	for r := range old {
		if old[r] != cur[r] && in.GPRWrite>>r&1 == 0 {
			a.wrong++
			a.t.Errorf("%#x %s changed general register %d, which it is not said to write", in.Addr, in.ClassName(), r)
		}
	}
	bit := [6]uint{11, 7, 6, 4, 2, 0} // OF SF ZF AF PF CF
	for f, b := range bit {
		if in.ClassName() == "vptest" { // clears all but two, which the tables don't know; it only makes flags seem to live longer
			break
		}
		if (a.regs.Eflags^now.Eflags)>>b&1 != 0 && in.FlagsWrite>>f&1 == 0 {
			a.wrong++
			a.t.Errorf("%#x %s changed flag bit %d, which it is not said to write", in.Addr, in.ClassName(), b)
		}
	}
}

func general(r *sys.Regs) [16]uint64 {
	return [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
}

func (a *audit) say(in *step.Ins, format string, args ...any) {
	a.wrong++
	a.t.Errorf("%s: "+format, append([]any{a.line(in)}, args...)...)
}

// line shows an instruction with its accesses.
func (a *audit) line(in *step.Ins) string {
	e := entry{addr: in.Addr, code: in.Bytes, taken: -1}
	for _, x := range in.Accesses {
		e.acc = append(e.acc, access{x.Addr, x.Size, x.Store, nil})
	}
	return text(&e)
}

func (a *audit) settle() {
	if a.mem != nil {
		a.mem.Close()
	}
	if a.trapped == 0 {
		a.t.Error("nothing was watched")
	}
}
