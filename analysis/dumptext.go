package analysis

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"alleria/abp"
)

// textDump is a dump as text. Errors of writing wait in out for its Flush.
type textDump struct {
	*dumper
	out     *bufio.Writer
	texts   map[textKey]string // disassembled instructions
	line    []byte
	targets map[branchTarget]string // lines of where branches go
}

// textKey names an instruction by its block and not by its address: code that
// changes has another block at the same address.
type textKey struct {
	block *abp.Block
	ins   int
}

// maxTexts bounds the memory that remembered disassembly takes. JITs make
// blocks without end; starting over is cheaper than knowing which are cold.
const maxTexts = 1 << 17

// thread names the thread that the lines from here on are of. It begins with
// # so that scripts can leave it out.
// The format of these lines is what scripts split a dump by: fields may be added
// behind, never changed.
func (d *textDump) thread(k threadKey, tid uint32) {
	fmt.Fprintf(d.out, "# process %s thread %d", abp.ProgramName(k.process, k.program), k.thread)
	if tid != 0 {
		fmt.Fprintf(d.out, " (tid %d)", tid)
	}
	fmt.Fprintln(d.out)
}

// windows writes which windows are open from here on.
func (d *textDump) windows(e *abp.Entry) {
	names := strings.Join(d.windowNames(e), ", ")
	if names == "" {
		names = "none"
	}
	fmt.Fprintf(d.out, "# windows open: %s\n", names)
}

// end is dumpForm's: nothing is kept back.
func (d *textDump) end() {}

// open is dumpForm's.
func (d *textDump) open() bool { return false }

// instruction writes ordinal, address, place, bytes and disassembly, then the
// time where there is one. Lines are put together by hand here and in access:
// dumps have millions of them, and package fmt takes three quarters of the time.
func (d *textDump) instruction(e *abp.Entry) {
	in := &e.Ins
	l := appendPadded(d.line[:0], in.Ordinal, 10)
	l = appendAddr(append(l, ' '), in.Addr)
	l = append(append(l, "  "...), d.text(e)...)
	if in.Part {
		l = append(l, "  (in part)"...)
	}
	if in.Timed {
		l = strconv.AppendUint(append(l, "  @"...), in.TSC, 10)
	}
	d.flush(append(l, '\n'))
	if len(in.Registers) > 0 {
		d.registers(in.Registers)
	}
}

// registers writes what registers held before the instruction above: those of
// up to eight bytes as numbers, longer ones as bytes from the lowest on, as access
// does it.
func (d *textDump) registers(list []abp.RegisterValue) {
	l := append(d.line[:0], "           before"...)
	for _, r := range list {
		l = append(append(append(l, ' '), r.Register.String()...), " = "...)
		l = appendValue(l, r.Value)
	}
	d.flush(append(l, '\n'))
}

// appendValue appends a value of any size.
func appendValue(l, value []byte) []byte {
	if len(value) > 8 {
		return hex.AppendEncode(l, value)
	}
	var v uint64
	for i, b := range value {
		v |= uint64(b) << (8 * i)
	}
	return appendHex(append(l, "0x"...), v)
}

// flush writes a line and keeps its memory for the next.
func (d *textDump) flush(l []byte) {
	d.line = l
	_, _ = d.out.Write(l) // the error waits for Flush
}

// appendAddr appends 0x and sixteen digits.
// All addresses have one width, so that columns stay columns and sorting lines as
// text sorts them by address.
func appendAddr(l []byte, v uint64) []byte {
	return appendHex16(append(l, "0x"...), v)
}

// appendPadded appends a decimal number to the right of a column.
// A number wider than its column pushes the line to the right; nothing is cut.
func appendPadded(l []byte, v uint64, width int) []byte {
	var room [20]byte
	n := strconv.AppendUint(room[:0], v, 10)
	for i := len(n); i < width; i++ {
		l = append(l, ' ')
	}
	return append(l, n...)
}

// text returns what is the same for each execution of an instruction.
// The place, the bytes and the disassembly are made once and remembered: a line of
// a loop is written as often as the loop runs, and making this text takes far
// longer than the rest of the line.
func (d *textDump) text(e *abp.Entry) string {
	key := textKey{e.Ins.Block, e.Ins.Index}
	if s, ok := d.texts[key]; ok {
		return s
	}
	if len(d.texts) >= maxTexts {
		clear(d.texts)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%-32s ", d.place(e))
	if !d.options.NoCode {
		fmt.Fprintf(&s, "%-22s ", hex.EncodeToString(e.Ins.Code))
	}
	s.WriteString(d.dis.Text(e.Ins.Code, e.Ins.Addr))
	d.texts[key] = s.String()
	return d.texts[key]
}

// access writes one access. Numbers of up to eight bytes are written as numbers,
// longer values as bytes in the order of their addresses.
//
// Its eleven spaces set it apart from instructions, whose numbers are indented by nine
// at the most, for scripts that want only the ones or the others. Lane and mask are those of gathers, scatters and masked
// moves, of which only active lanes are accesses.
func (d *textDump) access(m *abp.Mem) {
	l := append(d.line[:0], "           load  "...)
	if m.Store {
		l = append(d.line[:0], "           store "...)
	}
	l = appendAddr(l, m.Addr)
	l = strconv.AppendUint(append(l, ' '), uint64(m.Size), 10)
	if m.Value != nil {
		l = appendValue(append(l, " = "...), m.Value)
	}
	if m.Mask != 0 {
		l = fmt.Appendf(l, " (lane %d of mask %#x)", m.Lane, m.Mask)
	}
	if m.Phys != 0 {
		l = fmt.Appendf(l, " (physical %#x)", m.Phys)
	}
	d.flush(append(l, '\n'))
}

// branch writes where the instruction above went. Only those that were not
// taken need saying so.
// The place is that of the target: the branch itself has been named on its line.
func (d *textDump) branch(e *abp.Entry) {
	if !e.Branch.Taken {
		_, _ = d.out.WriteString(notTaken)
		return
	}
	_, _ = d.out.WriteString(d.target(branchTarget{d.placesOf(e), e.Branch.Target, e.Ins.Block.Image})) // the error waits for Flush
}

// notTaken is the line of a branch that was not.
const notTaken = "           not taken\n"

// target returns the line of a branch that was taken.
func (d *textDump) target(k branchTarget) string {
	line, ok := d.targets[k]
	if !ok {
		if len(d.targets) >= maxTexts {
			clear(d.targets)
		}
		if line = k.places.describeFrom(k.from, k.addr); line != "" {
			line = " " + line
		}
		line = fmt.Sprintf("           taken to %#x%s\n", k.addr, line)
		d.targets[k] = line
	}
	return line
}

// ordinalOf is blockForm's.
func (d *textDump) ordinalOf(threadKey) (string, bool) { return "", true }

// insParts is blockForm's.
func (d *textDump) insParts(e *abp.Entry) insText {
	return insText{behind: string(append(append(appendAddr([]byte(" "), e.Ins.Addr), "  "...), d.text(e)...)), time: "  @", timeEnd: "\n"}
}

// accessParts is blockForm's.
func (d *textDump) accessParts(a *abp.Access, _ bool) accessText {
	t := accessText{before: "           load  0x", size: " " + strconv.FormatUint(uint64(a.Size), 10), value: " = ", end: "\n"}
	if a.Store {
		t.before = "           store 0x"
	}
	return t
}

// accessesEnd is blockForm's.
func (d *textDump) accessesEnd() string { return "" }

// went is blockForm's.
func (d *textDump) went(k branchTarget, taken bool) string {
	if !taken {
		return notTaken
	}
	return d.target(k)
}

// call writes a system call with its name, arguments, result and duration.
func (d *textDump) call(_ threadKey, s *abp.Syscall) {
	name := abp.SyscallName(s.Number)
	if name == "" {
		name = "?"
	}
	fmt.Fprintf(d.out, "    syscall %d %s(%#x, %#x, %#x, %#x, %#x, %#x)", s.Number, name,
		s.Args[0], s.Args[1], s.Args[2], s.Args[3], s.Args[4], s.Args[5])
	switch {
	case s.EndTSC == 0:
		fmt.Fprint(d.out, " does not return")
	case s.Errno != 0:
		fmt.Fprintf(d.out, " = -1 (errno %d)", s.Errno)
	default:
		fmt.Fprintf(d.out, " = %#x", uint64(s.Result))
	}
	if s.EndTSC > s.TSC {
		fmt.Fprintf(d.out, " in %d ticks", s.EndTSC-s.TSC)
	}
	fmt.Fprintln(d.out)
}

// signal writes a signal: where the thread was, and who sent it or what address it
// is about.
func (d *textDump) signal(_ threadKey, s *abp.Signal) {
	var b strings.Builder
	fmt.Fprintf(&b, "    signal %d %s code %d at %#x", s.Number, abp.SignalName(s.Number), s.Code, s.IP)
	if s.Sender != 0 {
		fmt.Fprintf(&b, " from process %d", s.Sender)
	} else if s.Addr != 0 {
		fmt.Fprintf(&b, " about %#x", s.Addr)
	}
	fmt.Fprintln(d.out, b.String())
}
