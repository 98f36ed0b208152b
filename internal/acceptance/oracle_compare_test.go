package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/abp"
	"alleria/engine/x86"
)

// modelled records a program under windows and compares everything that the
// profile holds with what the model finds: openings and closings, instructions,
// fields. It returns what differs, nothing if all is well. The files have the given
// name; the directory is that of oracleRun, since its name is on the program's stack.
func (tr *oracleTrace) modelled(t *testing.T, dir, name string, windows []*oracleWindow, flags ...string) string {
	t.Helper()
	var config strings.Builder
	config.WriteString(`<AlleriaConfig version="1.0">`)
	for k, w := range windows {
		config.WriteString(w.xml(fmt.Sprintf("w%d", k)))
	}
	config.WriteString(`</AlleriaConfig>`)
	file, out := filepath.Join(dir, name+".xml"), filepath.Join(dir, name+".out")
	if err := os.WriteFile(file, []byte(config.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{alleria(), "-q", "record", "--no-aslr", "--force", "-c", file, "-o", out}, flags...)
	r := run(t, command{argv: append(append(argv, "--"), tr.prog), dir: dir})
	if slices.Contains(flags, "--cache") { // the second time with what the first has left
		r = run(t, command{argv: append(append(argv, "--"), tr.prog), dir: dir})
	}
	if r.status != 0 {
		return fmt.Sprintf("status %d: %s\n%s", r.status, clip(r.stderr), config.String())
	}
	if r := run(t, command{argv: []string{alleria(), "verify", out}, dir: dir}); r.status != 0 {
		return fmt.Sprintf("verify: %s\n%s", clip(r.stdout), config.String())
	}
	if msg := tr.compare(t, out, windows); msg != "" {
		return msg + "\n" + config.String()
	}
	return ""
}

// compare is modelled for a profile that is there.
func (tr *oracleTrace) compare(t *testing.T, path string, windows []*oracleWindow) string {
	t.Helper()
	p, err := abp.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := runWindows(windows, len(tr.facts))
	if msg := tr.compareChanges(p, want.changes); msg != "" {
		return msg
	}
	if msg := tr.compareCalls(p, windows, &want); msg != "" {
		return msg
	}
	r := p.Reader(abp.Query{Threads: []uint32{1}})
	i := 0
	// Of a repeated string instruction that is recorded in pieces: what it has accessed,
	// and the registers before the first.
	var parts []abp.Mem
	var registers []abp.RegisterValue
	for r.NextTrace() {
		got := r.Trace()
		if len(parts) > 0 || got.Ins.Part {
			for _, m := range got.Mems {
				m.Value = bytes.Clone(m.Value)
				parts = append(parts, m)
			}
			if len(parts) == len(got.Mems) {
				for _, r := range got.Ins.Registers {
					registers = append(registers, abp.RegisterValue{Register: r.Register, Value: bytes.Clone(r.Value)})
				}
			}
			if got.Ins.Part {
				continue
			}
			got.Mems, got.Ins.Registers, parts, registers = parts, registers, nil, nil
		}
		for found := false; !found; i++ {
			if i == len(tr.facts) {
				return fmt.Sprintf("recorded %#x behind all that should be", got.Ins.Addr)
			}
			w := tr.wants(windows, want.open[i], &tr.facts[i])
			if w == nil {
				continue
			}
			msg := tr.compareEntry(p, got, &tr.facts[i], w, want.open[i])
			if found = msg == ""; !found && w.sample <= 1 { // else it was not kept
				return fmt.Sprintf("%s\n%s; wanted %+v, got %+v, %d accesses: %+v", tr.around(i), msg, w, got.Ins, len(got.Mems), got.Mems)
			}
		}
	}
	if err := r.Err(); err != nil {
		return err.Error()
	}
	for ; i < len(tr.facts); i++ {
		if w := tr.wants(windows, want.open[i], &tr.facts[i]); w != nil && w.sample <= 1 {
			return fmt.Sprintf("%s\nnot recorded", tr.around(i))
		}
	}
	return ""
}

// compareChanges compares WINDOWS, window by window: of what happens at one place
// no order between windows is promised.
func (tr *oracleTrace) compareChanges(p *abp.Profile, all []oracleChange) string {
	for k := range uint32(64) {
		var got []abp.WindowEvent
		for _, proc := range p.Processes() {
			err := proc.EachWindowEvent(func(e *abp.WindowEvent) error { got = append(got, *e); return nil })
			if err != nil {
				return err.Error()
			}
		}
		// What is open at the end closes there.
		got = slices.DeleteFunc(got, func(e abp.WindowEvent) bool {
			return e.Window != k || strings.HasPrefix(e.Reason, "end of the process")
		})
		want := slices.DeleteFunc(slices.Clone(all), func(c oracleChange) bool { return c.window != int(k) })
		for n, w := range want {
			what := fmt.Sprintf("%s: window %d, %t", tr.around(w.at), w.window, w.opened)
			if n >= len(got) {
				return fmt.Sprintf("%s\n%d changes, not %d", what, len(got), len(want))
			}
			g := &got[n]
			switch {
			// There is one thread: no count is exceeded but within an instruction.
			case g.Opened != w.opened || g.Overshoot > 64:
				return fmt.Sprintf("%s\nchange %d of %d is %+v", what, n, len(want), g)
			// At a signal it is where the thread was interrupted, and where it returns
			// from one, what follows the call.
			case g.Addr != 0 && !tr.facts[w.at].signalled && tr.callBefore(w.at) != unix.SYS_RT_SIGRETURN && g.Addr != tr.facts[w.at].addr:
				return fmt.Sprintf("%s\nchange %d of %d is before %#x: %+v", what, n, len(want), g.Addr, g)
			}
		}
		if len(got) > len(want) {
			return fmt.Sprintf("%d changes of window %d, not %d; the first besides is %+v", len(got), k, len(want), got[len(want)])
		}
	}
	return ""
}

// callBefore is the number of the system call in front of an instruction.
func (tr *oracleTrace) callBefore(i int) uint64 {
	if i == 0 {
		return 0
	}
	return tr.facts[i-1].call
}

// windowEvents is the rows of WINDOWS of the profile in a directory.
func windowEvents(t *testing.T, dir string) (out []abp.WindowEvent) {
	t.Helper()
	p, err := abp.Open(filepath.Join(dir, profileDir))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, proc := range p.Processes() {
		err := proc.EachWindowEvent(func(e *abp.WindowEvent) error { out = append(out, *e); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// compareEntry compares an instruction with all that hangs on it.
func (tr *oracleTrace) compareEntry(p *abp.Profile, got *abp.Trace, f *oracleFact, want *oracleWant, open uint64) string {
	timed := want.has("timeStamp")
	fn := ""
	if want.has("routineId") && f.function != nil {
		fn = f.function.names[0]
	}
	switch {
	case got.Ins.Addr != f.addr:
		return fmt.Sprintf("recorded %#x", got.Ins.Addr)
	case !bytes.Equal(got.Ins.Code, f.code):
		return fmt.Sprintf("recorded as % x", got.Ins.Code)
	case got.Windows != open:
		return fmt.Sprintf("recorded with windows %b, not %b", got.Windows, open)
	case got.Ins.Timed != timed:
		return fmt.Sprintf("time %t, not %t", got.Ins.Timed, timed)
	case (got.Ins.Func != 0) != (fn != ""):
		return fmt.Sprintf("function %d, not %q", got.Ins.Func, fn)
	case fn != "" && !slices.Contains(f.function.names, p.Process(got.Process).Function(got.Ins.Func).Name):
		return fmt.Sprintf("function %s, not %v", p.Process(got.Process).Function(got.Ins.Func).Name, f.function.names)
	}
	for _, msg := range []string{compareAccesses(got, f, want), compareBranch(got, f, want), compareRegisters(got, f, want)} {
		if msg != "" {
			return msg
		}
	}
	return ""
}

// compareAccesses compares what was accessed.
func compareAccesses(got *abp.Trace, f *oracleFact, want *oracleWant) string {
	values := want.has("accessValue")
	acc := f.acc
	if !values && !want.has("accessAddressAndSize") {
		acc = nil
	}
	if len(got.Mems) != len(acc) {
		return fmt.Sprintf("%d accesses, not %d", len(got.Mems), len(acc))
	}
	for i, a := range acc {
		g := &got.Mems[i]
		if g.Addr != a.Addr || g.Size != a.Size || g.Store != a.Store {
			return fmt.Sprintf("access %d: %+v, not %+v", i, g, a)
		}
		switch {
		case !values && g.Value != nil:
			return fmt.Sprintf("access %d has a value", i)
		case values && g.Value == nil && a.Value != nil && !valueless(&f.in):
			return fmt.Sprintf("access %d has no value", i)
		case g.Value != nil && a.Value != nil && !bytes.Equal(g.Value, a.Value) && !tellsItself(&f.in) && !overwritten(f, i):
			return fmt.Sprintf("access %d: value %x, not %x", i, g.Value, a.Value)
		}
	}
	return ""
}

// valueless tells the instructions whose values are not recorded, which
// docs/format.md lists.
func valueless(in *x86.Insn) bool {
	switch in.Mnem {
	case x86.MBT, x86.MBTS, x86.MBTR, x86.MBTC:
		return in.Ops[1].Kind == x86.OpReg
	}
	name := in.ClassName()
	return in.Bcast == 2 && in.Mems[0].Size == 4 && in.MaskReg != 0 ||
		in.MaskReg != 0 && strings.HasPrefix(name, "vbroadcast") && strings.Contains(name, "x") || in.Complex()
}

// tellsItself tells the instructions that store where the last x87 instruction was,
// which in the code cache is elsewhere.
func tellsItself(in *x86.Insn) bool {
	name := in.ClassName()
	return strings.HasPrefix(name, "fxsave") || strings.HasPrefix(name, "fnsave") || strings.HasPrefix(name, "fnstenv") ||
		strings.HasPrefix(name, "fxrstor") || strings.HasPrefix(name, "frstor") || strings.HasPrefix(name, "fldenv")
}

// overwritten tells a store that a later one of the same instruction overlaps: the
// oracle sees what is left in the end.
func overwritten(f *oracleFact, k int) bool {
	a := &f.acc[k]
	for _, b := range f.acc[k+1:] {
		if a.Store && b.Store && b.Addr < a.Addr+uint64(a.Size) && a.Addr < b.Addr+uint64(b.Size) {
			return true
		}
	}
	return false
}

// compareBranch compares where it went.
func compareBranch(got *abp.Trace, f *oracleFact, want *oracleWant) string {
	branches := want.has("branch") && f.branch
	switch b := got.Branch; {
	case (b != nil) != branches:
		return fmt.Sprintf("branch recorded: %t", b != nil)
	case !branches:
	case b.Taken != f.taken:
		return fmt.Sprintf("taken: %t", b.Taken)
	case b.Taken && b.Target != f.to:
		return fmt.Sprintf("to %#x, not %#x", b.Target, f.to)
	}
	return ""
}

// compareRegisters compares what registers held, but for the number of the process.
func compareRegisters(got *abp.Trace, f *oracleFact, want *oracleWant) string {
	names := slices.Clone(want.registers)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(got.Ins.Registers) != len(names) {
		return fmt.Sprintf("%d registers, not %v", len(got.Ins.Registers), names)
	}
	for _, g := range got.Ins.Registers {
		if f.pid && (g.Register.String() == "rax" || g.Register.String() == "ah") {
			continue
		}
		v, asked := f.regs[g.Register.String()]
		if !asked || !slices.Contains(names, g.Register.String()) {
			return fmt.Sprintf("register %s", g.Register)
		}
		if !bytes.Equal(g.Value, v[:len(g.Value)]) {
			return fmt.Sprintf("%s: %x, not %x", g.Register, g.Value, v)
		}
	}
	return ""
}

// around shows the instructions up to one.
func (tr *oracleTrace) around(i int) string {
	var b strings.Builder
	for k := max(0, i-5); k <= i; k++ {
		f := &tr.facts[k]
		fn := ""
		if f.function != nil {
			fn = fmt.Sprintf("%s+%d", f.function.names[0], f.addr-f.function.value)
		}
		fmt.Fprintf(&b, "%8d: %#x %s %s [% x]", k, f.addr, fn, f.key["form"], f.code)
		if f.entered != nil {
			b.WriteString(" entered")
		}
		for r := range f.returned {
			b.WriteString(" behind " + r.names[0])
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
