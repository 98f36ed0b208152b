package analysis

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"alleria/abp"
)

// backwards writes a dump from its end: the instructions of each thread in the opposite order, each with its accesses as always. Frames
// are decoded forwards, and what of each matches is kept as text until it is turned round: of a bounded dump not more than is asked for.
// Windows, system calls and signals, which lie between instructions, are left out.
type backwards struct {
	*dumper
	text  *bytes.Buffer
	out   *bufio.Writer // of the dumper, into text
	texts []backText
	data  abp.Range
	wrote bool   // the instruction that is open writes what the query matches
	last  uint64 // number of the instruction that was written last, plus one; 0: none of this thread
	again int    // texts are not trimmed again before there are so many
}

// backText is where the text of an instruction begins, or that of a part of one, and the instruction's number: parts have the
// same, and count once.
type backText struct {
	from   int
	number uint64
}

// dumpBackwards is Dump with DumpOptions.Backwards.
func dumpBackwards(w io.Writer, p *abp.Profile, q abp.Query, o DumpOptions) error {
	b := &backwards{text: new(bytes.Buffer), data: q.Data}
	b.out = bufio.NewWriter(b.text)
	d, err := newDumper(b.out, p, o)
	if err != nil {
		return err
	}
	defer d.dis.Close()
	b.dumper = d
	found := false
	for _, proc := range p.Processes() {
		if !wants(q.Processes, proc.Number()) || len(q.Programs) > 0 && !slices.Contains(q.Programs, proc.Generation()) {
			continue
		}
		for i := range proc.Threads() {
			t := &proc.Threads()[i]
			if !wants(q.Threads, t.Number) {
				continue
			}
			found = true
			if err := b.thread(w, p, proc, t, q); err != nil {
				return err
			}
			if o.From > 0 || o.Count > 0 && b.shown == o.Count { // a number is of one thread's instructions
				return nil
			}
		}
	}
	if o.From > 0 && !found {
		return fmt.Errorf("dump: no such thread: %w", abp.ErrNoSuchPlace)
	}
	return nil
}

// thread writes one thread.
func (b *backwards) thread(w io.Writer, p *abp.Profile, proc *abp.Process, t *abp.Thread, q abp.Query) error {
	o := &b.options
	if o.From > 0 {
		q.Ordinals.To = o.From + 1
	}
	r := p.FrameReader(q)
	headed := false
	b.last = 0
	for i := len(t.Frames) - 1; i >= 0 && (o.Count == 0 || b.shown < o.Count || b.goesOn(t, i)); i-- {
		if o.From > 0 && t.Frames[i].Ordinal > o.From {
			continue
		}
		r.Frame(proc, t.Frames[i])
		if err := b.frame(r); err != nil {
			return err
		}
		if len(b.texts) > 0 && !headed {
			headed = true
			if err := b.head(w, proc, t); err != nil {
				return err
			}
		}
		if err := b.turn(w); err != nil {
			return err
		}
	}
	return nil
}

// goesOn tells whether parts of the instruction that was written last may be in frame i, as it is the first of the frame behind.
func (b *backwards) goesOn(t *abp.Thread, i int) bool {
	return i+1 < len(t.Frames) && b.last == t.Frames[i+1].Ordinal+1
}

// head writes whose the following is.
func (b *backwards) head(w io.Writer, proc *abp.Process, t *abp.Thread) error {
	at := b.text.Len()
	b.form.thread(threadKey{proc.Number(), proc.Generation(), t.Number}, t.OSID)
	if err := b.out.Flush(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	_, err := w.Write(b.text.Bytes()[at:])
	b.text.Truncate(at)
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// frame takes what matches of a frame.
func (b *backwards) frame(r *abp.Reader) error {
	for r.Next() {
		switch e := r.Entry(); e.Kind {
		case abp.EntryIns:
			b.close()
			b.trim()
			b.texts = append(b.texts, backText{b.text.Len(), e.Ins.Ordinal})
			b.form.instruction(e)
		case abp.EntryMem:
			data := b.data
			b.wrote = b.wrote || e.Mem.Store && (data.To == 0 || e.Mem.Addr < data.To) && e.Mem.Addr+uint64(e.Mem.Size) > data.From
			b.form.access(&e.Mem)
		case abp.EntryBranch:
			b.form.branch(e)
		}
	}
	b.close()
	return r.Err()
}

// close completes the instruction that is open, and drops it if it does not write and only those that do are wanted.
func (b *backwards) close() {
	b.form.end()
	_ = b.out.Flush() // into memory
	if n := len(b.texts); n > 0 && b.options.Stores && !b.wrote {
		b.text.Truncate(b.texts[n-1].from)
		b.texts = b.texts[:n-1]
	}
	b.wrote = false
}

// trim drops what lies too far from the end to be shown.
func (b *backwards) trim() {
	left := b.options.Count - b.shown
	if left == 0 || b.options.Count == 0 || uint64(len(b.texts)) < 2*left+1000 || len(b.texts) < b.again {
		return
	}
	first := len(b.texts)
	for n := uint64(0); first > 0; first-- {
		if first == len(b.texts) || b.texts[first-1].number != b.texts[first].number {
			if n++; n > left {
				break
			}
		}
	}
	from := b.text.Len()
	if first < len(b.texts) {
		from = b.texts[first].from
	}
	b.text.Next(from)
	rest := slices.Clone(b.text.Bytes())
	b.text.Reset()
	b.text.Write(rest)
	b.texts = append(b.texts[:0], b.texts[first:]...)
	for i := range b.texts {
		b.texts[i].from -= from
	}
	b.again = 2 * len(b.texts)
}

// turn writes what was taken, the last first.
func (b *backwards) turn(w io.Writer) error {
	text := b.text.Bytes()
	for i := len(b.texts) - 1; i >= 0; i-- {
		t := &b.texts[i]
		if t.number+1 != b.last {
			if b.options.Count > 0 && b.shown == b.options.Count {
				break
			}
			b.shown++
			b.last = t.number + 1
		}
		if _, err := w.Write(text[t.from:]); err != nil {
			return fmt.Errorf("dump: %w", err)
		}
		text = text[:t.from]
	}
	b.text.Reset()
	b.texts, b.again = b.texts[:0], 0
	return nil
}
