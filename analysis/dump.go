package analysis

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"alleria/abp"
)

// DumpOptions say what a dump shows.
type DumpOptions struct {
	// Syntax is how instructions are written.
	Syntax Syntax
	// Count ends the dump after so many instructions; 0: none.
	Count uint64
	// From skips to that instruction (from 0) of the thread, which the query must
	// name together with its process.
	From uint64
	// NoCode leaves out the instructions' bytes.
	NoCode bool
}

// Dump writes what q matches as text: a line for each instruction, then one for
// each of its accesses, and lines for threads, windows and system calls. It
// streams: memory does not grow with the profile.
//
// The query's filters apply as they do everywhere in abp. An error of the profile
// comes after everything before it was written, so that a cut-off profile is dumped
// up to its last complete frame.
func Dump(w io.Writer, p *abp.Profile, q abp.Query, o DumpOptions) error {
	dis, err := NewDisassembler(o.Syntax)
	if err != nil {
		return err
	}
	defer dis.Close()
	d := &dumper{
		out: bufio.NewWriterSize(w, 1<<16), options: o, profile: p, dis: dis,
		places: map[uint32]*places{}, texts: map[textKey]string{},
	}
	d.outside = outsideOf(p, &q)
	r := p.Reader(q)
	if o.From > 0 {
		if err := d.seek(r, p, q); err != nil {
			return err
		}
	}
	for r.Next() {
		if !d.entry(r.Entry()) {
			break
		}
	}
	if o.Count == 0 || d.shown < o.Count {
		d.rest()
	}
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return r.Err()
}

// dumper writes one dump. Errors of writing wait in out for its Flush.
type dumper struct {
	out     *bufio.Writer
	options DumpOptions
	profile *abp.Profile
	dis     *Disassembler
	places  map[uint32]*places // by process
	texts   map[textKey]string // disassembled instructions
	line    []byte
	shown   uint64 // instructions
	headed  bool   // a thread's header was written
	outside map[threadKey]*outside
	last    threadKey // whose header was written last
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

// seek goes to the instruction that the dump begins with: the thread is the one
// that the query names, else the only one.
//
// An ordinal counts the recorded instructions of one thread: without a thread there
// is no such thing as "the millionth". Where the query names none, the first is meant.
func (d *dumper) seek(r *abp.Reader, p *abp.Profile, q abp.Query) error {
	for _, proc := range p.Processes() {
		if !wants(q.Processes, proc.Number()) {
			continue
		}
		for _, t := range proc.Threads() {
			if wants(q.Threads, t.Number) {
				return r.SeekIn(proc, t.Number, d.options.From)
			}
		}
	}
	return fmt.Errorf("dump: no such thread: %w", abp.ErrNoSuchPlace)
}

// entry writes one entry; false: the dump is at its end.
//
// Kinds that it does not know are passed over: a profile of a newer minor version
// may have them.
func (d *dumper) entry(e *abp.Entry) bool {
	switch e.Kind {
	case abp.EntryHeader:
		d.header(e)
	case abp.EntryWindows:
		fmt.Fprintf(d.out, "# windows open: %s\n", d.windowNames(e))
	case abp.EntryIns:
		if d.options.Count > 0 && d.shown == d.options.Count {
			return false
		}
		if d.shown == 0 && !d.headed {
			d.header(e) // the dump begins in the middle of a thread
		}
		d.before(threadKey{e.Process, e.Thread}, e.Ins.Ordinal)
		d.shown++
		d.instruction(e)
	case abp.EntryMem:
		d.access(&e.Mem)
	case abp.EntryBranch:
		d.branch(e)
	case abp.EntrySyscall:
		d.made(threadKey{e.Process, e.Thread}, e.Syscall)
	}
	return true
}

// header names the thread that the lines from here on are of. It begins with
// # so that scripts can leave it out.
// The format of these lines is what scripts split a dump by: fields may be added
// behind, never changed.
func (d *dumper) header(e *abp.Entry) {
	d.headed = true
	if k := (threadKey{e.Process, e.Thread}); d.last != k {
		d.before(d.last, ^uint64(0))
		d.last = k
	}
	fmt.Fprintf(d.out, "# process %d thread %d (tid %d)\n", e.Process, e.Thread, e.OSID)
}

// instruction writes ordinal, address, place, bytes and disassembly, then the
// time where there is one. Lines are put together by hand here and in access:
// dumps have millions of them, and package fmt takes three quarters of the time.
func (d *dumper) instruction(e *abp.Entry) {
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
func (d *dumper) registers(list []abp.RegisterValue) {
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
	return strconv.AppendUint(append(l, "0x"...), v, 16)
}

// flush writes a line and keeps its memory for the next.
func (d *dumper) flush(l []byte) {
	d.line = l
	_, _ = d.out.Write(l) // the error waits for Flush
}

// appendAddr appends 0x and sixteen digits.
// All addresses have one width, so that columns stay columns and sorting lines as
// text sorts them by address.
func appendAddr(l []byte, v uint64) []byte {
	const digits = "0123456789abcdef"
	l = append(l, "0x"...)
	for shift := 60; shift >= 0; shift -= 4 {
		l = append(l, digits[v>>shift&15])
	}
	return l
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
func (d *dumper) text(e *abp.Entry) string {
	key := textKey{e.Ins.Block, e.Ins.Index}
	if s, ok := d.texts[key]; ok {
		return s
	}
	if len(d.texts) >= maxTexts {
		clear(d.texts)
	}
	var s strings.Builder
	pl := d.placesOf(e.Process)
	place := ""
	if f := pl.function(e.Ins.Block, e.Ins.Index); f != nil {
		place = withOffset(f.Display(), e.Ins.Addr-f.Addr)
	} else {
		place = pl.describe(e.Ins.Addr)
	}
	fmt.Fprintf(&s, "%-32s ", place)
	if !d.options.NoCode {
		fmt.Fprintf(&s, "%-22s ", hex.EncodeToString(e.Ins.Code))
	}
	s.WriteString(d.dis.Text(e.Ins.Code, e.Ins.Addr))
	d.texts[key] = s.String()
	return d.texts[key]
}

// placesOf makes a process's index of addresses when its first entry comes: a
// filter may leave most processes out.
func (d *dumper) placesOf(process uint32) *places {
	pl := d.places[process]
	if pl == nil {
		pl = newPlaces(d.profile.Process(process))
		d.places[process] = pl
	}
	return pl
}

// access writes one access. Numbers of up to eight bytes are written as numbers,
// longer values as bytes in the order of their addresses.
//
// Its eleven spaces set it apart from instructions, whose numbers are indented by nine
// at the most, for scripts that want only the ones or the others. Lane and mask are those of gathers, scatters and masked
// moves, of which only active lanes are accesses.
func (d *dumper) access(m *abp.Mem) {
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
func (d *dumper) branch(e *abp.Entry) {
	if !e.Branch.Taken {
		fmt.Fprintln(d.out, "           not taken")
		return
	}
	place := d.placesOf(e.Process).describe(e.Branch.Target)
	if place != "" {
		place = " " + place
	}
	fmt.Fprintf(d.out, "           taken to %#x%s\n", e.Branch.Target, place)
}

// windowNames lists the open windows.
//
// The stream's mark has 64 bits, one a window; configurations with more keep the
// further ones out of it. A bit that no definition explains (the table was lost) is
// shown as it is and not dropped.
func (d *dumper) windowNames(e *abp.Entry) string {
	var names []string
	for _, def := range d.profile.Process(e.Process).WindowDefs() {
		if def.Index < 64 && e.Windows>>def.Index&1 != 0 {
			names = append(names, def.Name)
		}
	}
	if len(names) == 0 && e.Windows == 0 {
		return "none"
	}
	if len(names) == 0 {
		return fmt.Sprintf("%#x", e.Windows)
	}
	return strings.Join(names, ", ")
}
