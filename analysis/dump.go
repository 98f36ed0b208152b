package analysis

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

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
	// Alone dumps on one goroutine, for comparison.
	Alone bool
	// JSON writes an object a line in place of text.
	JSON bool
	// Backwards begins with the last instruction, or with From, and goes back. Stores leaves out, of such a
	// dump, instructions that do not write what the query matches.
	Backwards, Stores bool
}

// Dump writes what q matches as text: a line for each instruction, then one for
// each of its accesses, and lines for threads, windows and system calls; or as JSON,
// one object a line. It streams: memory does not grow with the profile.
//
// The query's filters apply as they do everywhere in abp. An error of the profile
// comes after everything before it was written, so that a cut-off profile is dumped
// up to its last complete frame.
//
// What has no system calls or signals to be put between instructions is written on all
// processors, with the same result.
func Dump(w io.Writer, p *abp.Profile, q abp.Query, o DumpOptions) error {
	if o.Backwards {
		return dumpBackwards(w, p, q, o)
	}
	outside := outsideOf(p, &q)
	if o.From == 0 && o.Count == 0 && !o.Alone && q.Order == abp.OrderThread && len(outside) == 0 {
		return dumpBeside(w, p, q, o)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	d, err := newDumper(out, p, o)
	if err != nil {
		return err
	}
	defer d.dis.Close()
	d.outside = outside
	r := p.Reader(q)
	if o.From > 0 {
		if err := d.seek(r, p, q); err != nil {
			return err
		}
	}
	for r.NextBut(d.wholeExecutions(out)) {
		if !d.entry(r.Entry()) {
			break
		}
	}
	if o.Count == 0 || d.shown < o.Count {
		d.rest()
	}
	d.form.end()
	if err := out.Flush(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return r.Err()
}

// newDumper makes a dumper that writes to out; its disassembler is to be closed.
func newDumper(out *bufio.Writer, p *abp.Profile, o DumpOptions) (*dumper, error) {
	dis, err := NewDisassembler(o.Syntax)
	if err != nil {
		return nil, err
	}
	d := &dumper{options: o, profile: p, dis: dis, places: map[program]*places{}}
	if o.JSON {
		d.form = &jsonDump{dumper: d, out: out, texts: map[textKey]string{}, targets: map[branchTarget]string{}}
	} else {
		d.form = &textDump{dumper: d, out: out, texts: map[textKey]string{}, targets: map[branchTarget]string{}}
	}
	return d, nil
}

// wholeExecutions returns what writes executions by blocks: those between which nothing else happened. It returns
// nil where one goroutine is to do it for comparison. The execution in which the dump begins, and the one in which it ends, are written by entries.
func (d *dumper) wholeExecutions(out *bufio.Writer) func(*abp.Exec) bool {
	if d.options.Alone {
		return nil
	}
	blocks := newBlockDump(d)
	var text []byte
	return func(x *abp.Exec) bool {
		k := threadKey{x.Process.Number(), x.Process.Generation(), x.Thread}
		n := uint64(len(x.Block.Ins))
		if x.Ordinal < d.options.From || d.options.Count > 0 && d.shown+n >= d.options.Count {
			return false
		}
		if !d.headed || d.outside[k].before(x.Ordinal+x.Block.Static.Instructions) {
			return false
		}
		var done bool
		if text, done = blocks.exec(text[:0], x); done {
			d.form.end()
			d.shown += n
			_, _ = out.Write(text) // the error waits for Flush
		}
		return done
	}
}

// dumpBeside has batches written side by side. A batch has whole executions, and its header
// where a thread begins, so that nothing is open in between.
func dumpBeside(w io.Writer, p *abp.Profile, q abp.Query, o DumpOptions) error {
	return OrderedText(w, p, q, nil, func() (TextWork, func(), error) {
		sink := &textSink{}
		out := bufio.NewWriterSize(sink, 1<<12)
		d, err := newDumper(out, p, o)
		if err != nil {
			return nil, nil, err
		}
		d.headed = true // no batch begins in the middle of what was asked for
		blocks := newBlockDump(d)
		return func(r *abp.Reader, _ *abp.Batch, t *Text) error {
			sink.text = t
			var failed error
			for r.NextBut(func(x *abp.Exec) bool { return blocks.write(t, out, x, &failed) }) && failed == nil {
				d.entry(r.Entry())
			}
			d.form.end()
			return cmp.Or(failed, out.Flush())
		}, d.dis.Close, nil
	})
}

// textSink writes into a Text.
type textSink struct{ text *Text }

// Write implements io.Writer.
func (s *textSink) Write(b []byte) (int, error) {
	s.text.Buf = append(s.text.Buf, b...)
	return len(b), s.text.Flush()
}

// branchTarget is where a branch goes in a program.
type branchTarget struct {
	places *places
	addr   uint64
	from   uint32 // image of the branch
}

// dumper goes through a profile and hands what it finds to a form, which writes it.
type dumper struct {
	form    dumpForm
	options DumpOptions
	profile *abp.Profile
	dis     *Disassembler
	places  map[program]*places
	shown   uint64 // instructions
	headed  bool   // a thread's header was written
	outside map[threadKey]*outside
	last    threadKey // whose header was written last
}

// dumpForm is how a dump is written. Errors of writing wait until it is flushed.
type dumpForm interface {
	// thread says whose the following is; tid 0 is not known.
	thread(k threadKey, tid uint32)
	// windows says which are open from here on.
	windows(e *abp.Entry)
	// instruction begins one; its accesses and where it branched to come behind it.
	instruction(e *abp.Entry)
	access(m *abp.Mem)
	branch(e *abp.Entry)
	// call and signal are what happened between instructions.
	call(k threadKey, s *abp.Syscall)
	signal(k threadKey, s *abp.Signal)
	// end completes what is still open.
	end()
	// open tells whether anything is.
	open() bool
}

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
				d.skipOutside(threadKey{proc.Number(), proc.Generation(), t.Number})
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
		d.form.windows(e)
	case abp.EntryIns:
		if d.options.Count > 0 && d.shown == d.options.Count {
			return false
		}
		if !d.headed {
			d.header(e) // the dump begins in the middle of a thread
		}
		d.before(threadKey{e.Process, e.Program, e.Thread}, e.Ins.Ordinal, e.Ins.Block.Branch == abp.BranchSyscall && e.Ins.Index == len(e.Ins.Block.Ins)-1)
		if !e.Ins.Part { // parts belong to the instruction that follows them
			d.shown++
		}
		d.form.instruction(e)
	case abp.EntryMem:
		d.form.access(&e.Mem)
	case abp.EntryBranch:
		d.form.branch(e)
	case abp.EntrySyscall:
		d.made(threadKey{e.Process, e.Program, e.Thread}, e.Syscall)
	}
	return true
}

// header names the thread that the lines from here on are of.
func (d *dumper) header(e *abp.Entry) {
	d.headed = true
	k := threadKey{e.Process, e.Program, e.Thread}
	if d.last != k {
		d.before(d.last, ^uint64(0), false)
		d.last = k
	}
	d.form.thread(k, e.OSID)
}

// program names a recorded program of a process.
type program struct{ process, generation uint32 }

// placesOf makes a process's index of addresses when its first entry comes: a
// filter may leave most processes out.
func (d *dumper) placesOf(e *abp.Entry) *places {
	return d.placesIn(program{e.Process, e.Program})
}

// placesIn is placesOf for a program.
func (d *dumper) placesIn(k program) *places {
	pl := d.places[k]
	if pl == nil {
		pl = newPlaces(d.profile.Program(k.process, k.generation))
		d.places[k] = pl
	}
	return pl
}

// place is an instruction's function and where in it, else its image, as far as known.
func (d *dumper) place(e *abp.Entry) string {
	pl := d.placesOf(e)
	if f := pl.function(e.Ins.Block, e.Ins.Index); f != nil {
		return withOffset(f.Display(), e.Ins.Addr-f.Addr)
	}
	return pl.describeCode(pl.code(e.Ins.Block, e.Ins.Index))
}

// windowNames lists the open windows.
//
// The stream's mark has 64 bits, one a window; configurations with more keep the
// further ones out of it. A bit that no definition explains (the table was lost) is
// shown as it is and not dropped.
func (d *dumper) windowNames(e *abp.Entry) []string {
	var names []string
	for _, def := range d.profile.Program(e.Process, e.Program).WindowDefs() {
		if def.Index < 64 && e.Windows>>def.Index&1 != 0 {
			names = append(names, def.Name)
		}
	}
	if len(names) == 0 && e.Windows != 0 {
		names = append(names, fmt.Sprintf("%#x", e.Windows))
	}
	return names
}
