package convert

import (
	"fmt"
	"io"
	"math/bits"

	"alleria/abp"
	"alleria/analysis"
)

// row is an access or an instruction on its way into a table. What it points at is valid until
// the next one.
type row struct {
	process, thread uint32
	program         uint32 // which of the process's recorded programs, from 1
	windows         uint64
	ins             *abp.Instruction
	time            int64    // ns since the process's start, -1: not recorded
	mem             *abp.Mem // of an access
	branch          *abp.Branch
}

// rowForm appends rows to text.
type rowForm interface {
	// head is what comes before the first row.
	head(dst []byte, rows Rows) []byte
	access(dst []byte, r *row, s *static) []byte
	instruction(dst []byte, r *row, s *static) []byte
}

// static is what all executions of an instruction have in common.
type static struct {
	access []byte // made by the form from the instruction, for its accesses
	ins    []byte // for the instruction itself
}

// rowWorker makes the rows of batches, on one goroutine.
type rowWorker struct {
	options *Options
	dis     *analysis.Disassembler
	proc    *abp.Process
	places  *analysis.Places
	statics [][]static // by block, then instruction; of proc
	clock   clock
}

// writeText writes rows as text.
func writeText(w io.Writer, o *Options, form func(w *rowWorker) rowForm) error {
	if err := o.needRows(); err != nil {
		return err
	}
	if _, err := w.Write(form(&rowWorker{options: o}).head(nil, o.Rows)); err != nil {
		return err
	}
	return analysis.OrderedText(w, o.Profile, o.Query, o.Progress, func() (analysis.TextWork, func(), error) {
		rw, err := newRowWorker(o)
		if err != nil {
			return nil, nil, err
		}
		f := form(rw)
		return func(r *abp.Reader, b *abp.Batch, t *analysis.Text) error {
			return rw.batch(r, b, func(one *row) error {
				s := rw.static(one.ins)
				if o.Rows == Instructions {
					t.Buf = f.instruction(t.Buf, one, s)
				} else {
					t.Buf = f.access(t.Buf, one, s)
				}
				return t.Flush()
			})
		}, rw.dis.Close, nil
	})
}

// needRows refuses profiles without what rows are made of.
func (o *Options) needRows() error {
	switch o.Rows {
	case Accesses:
		return o.needAccesses()
	case Instructions:
		return o.need(abp.FlagInstructions, "instructions")
	}
	return fmt.Errorf("rows are accesses or instructions, not %q: %w", o.Rows, ErrUsage)
}

// newRowWorker makes one; its disassembler is to be closed.
func newRowWorker(o *Options) (*rowWorker, error) {
	dis, err := analysis.NewDisassembler(analysis.Intel)
	if err != nil {
		return nil, err
	}
	return &rowWorker{options: o, dis: dis}, nil
}

// batch calls f for each row of what r yields.
func (w *rowWorker) batch(r *abp.Reader, b *abp.Batch, f func(*row) error) error {
	if p := b.Process(); p != w.proc {
		w.proc, w.places, w.statics, w.clock = p, analysis.NewPlaces(p), make([][]static, len(p.Blocks())), clockOf(p)
	}
	one := row{process: b.Process().Number(), program: max(1, b.Process().Generation()), thread: b.Thread()}
	if w.options.Rows == Instructions {
		return w.instructions(r, &one, f)
	}
	for r.Next() {
		e := r.Entry()
		if e.Kind != abp.EntryMem {
			if e.Kind == abp.EntryIns {
				one.time = w.clock.at(e.Ins.TSC, e.Ins.Timed)
			}
			continue
		}
		one.windows, one.ins, one.mem = e.Windows, &e.Ins, &e.Mem
		if err := f(&one); err != nil {
			return err
		}
	}
	return nil
}

// instructions is batch for a row an instruction.
func (w *rowWorker) instructions(r *abp.Reader, one *row, f func(*row) error) error {
	for r.NextTrace() {
		t := r.Trace()
		if t.Ins.Part {
			continue
		}
		one.windows, one.ins, one.branch = t.Windows, &t.Ins, t.Branch
		one.time = w.clock.at(t.Ins.TSC, t.Ins.Timed)
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// static returns the place of an instruction's text; the form fills it in once.
func (w *rowWorker) static(in *abp.Instruction) *static {
	list := w.statics[in.Block.ID]
	if list == nil {
		list = make([]static, len(in.Block.Ins))
		w.statics[in.Block.ID] = list
	}
	return &list[in.Index]
}

// clock turns time stamps into nanoseconds since the start of a process.
type clock struct{ start, frequency uint64 }

func clockOf(p *abp.Process) clock {
	return clock{p.Header().TSCAtStart, p.Header().TSCFrequency}
}

// at returns -1 where there is no time.
func (c clock) at(tsc uint64, timed bool) int64 {
	if !timed || c.frequency == 0 || tsc < c.start {
		return -1
	}
	hi, lo := bits.Mul64(tsc-c.start, 1e9)
	if hi >= c.frequency {
		return -1
	}
	ns, _ := bits.Div64(hi, lo, c.frequency)
	return int64(ns)
}
