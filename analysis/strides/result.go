package strides

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/lanes"
	"alleria/analysis/stream"
)

// Patterns of an operand's addresses.
const (
	Once      = "once"      // a single access
	Same      = "same"      // nine in ten at the address before
	Strided   = "strided"   // nine in ten by one distance
	Mixed     = "mixed"     // nine in ten by one of four distances
	Irregular = "irregular" // anything else
)

// Result is what was found of a process. It is the documented JSON.
type Result struct {
	Process  uint32    `json:"process"`
	Command  []string  `json:"command"`
	Operands []Operand `json:"operands"` // the most executed first
	// Unscaled is there where only bursts were recorded: counts are those of what is recorded, and no estimates.
	Unscaled *analysis.SamplingReport `json:"unscaled_sampling,omitempty"`
}

// Operand is the loads, or the stores, of an instruction.
type Operand struct {
	Address  uint64   `json:"address"`
	Function string   `json:"function,omitempty"`
	Offset   uint64   `json:"offset,omitempty"` // in its function
	Image    string   `json:"image,omitempty"`
	Store    bool     `json:"store"`
	Size     uint32   `json:"size"` // bytes of the first access
	Accesses uint64   `json:"accesses"`
	Pattern  string   `json:"pattern"`
	Low      uint64   `json:"lowest_address"`
	High     uint64   `json:"highest_address"`
	Strides  []Stride `json:"strides"` // the most frequent first
	Others   uint64   `json:"other_strides,omitempty"`
}

// Stride is a distance, and how often it came.
type Stride struct {
	Bytes int64  `json:"bytes"`
	Count uint64 `json:"count"`
}

// Totals puts together what was counted of a process's threads, each by itself.
type Totals struct {
	proc    *abp.Process
	places  *analysis.Places
	numbers map[place]uint32
	all     []total
	strides tallies
}

// place is an operand by what lay at its address, which may have been loaded there several times.
type place struct {
	analysis.Code
	store bool
}

// total is what is known of an operand in all threads.
type total struct {
	operand
	walk
	n         uint64 // accesses
	low, high uint64 // of the addresses
}

// NewTotals begins with nothing.
func NewTotals(p *abp.Process) *Totals {
	return &Totals{proc: p, places: analysis.NewPlaces(p), numbers: map[place]uint32{}}
}

// Thread returns what counts a thread.
func (t *Totals) Thread() *Counter { return NewCounter(t.proc) }

// Add adds what was counted of a thread, times scale.
func (t *Totals) Add(c *Counter, scale float64) {
	scaled := func(n uint64) uint64 {
		if scale == 1 {
			return n
		}
		return uint64(math.Round(float64(n) * scale))
	}
	for key, number := range c.numbers {
		o, k := c.tracks.At(number)
		if o.Stride[k] == lanes.Nothing {
			continue // without an access
		}
		c.end(number)
		w := &c.walks[number]
		at := place{t.places.Code(w.block, w.ins), key.store}
		n, known := t.numbers[at]
		if !known {
			n = uint32(len(t.all))
			t.numbers[at] = n
			t.all = append(t.all, total{operand: key, walk: *w, low: o.Low[k], high: o.High[k]})
			t.strides.grow(len(t.all))
		}
		sum := &t.all[n]
		sum.n += scaled(c.strides.all(number) + 1)
		sum.low, sum.high = min(sum.low, o.Low[k]), max(sum.high, o.High[k])
		for _, s := range c.strides.sorted(number) { // in an order of its own: there may be no room for all
			if many := scaled(s.Count); many > 0 {
				t.strides.add(n, uint64(s.Bytes), many)
			}
		}
		t.strides.addOthers(n, scaled(c.strides.others(number)))
	}
}

// Result lists what was found.
func (t *Totals) Result() *Result {
	out := &Result{Process: t.proc.Number(), Command: t.proc.Header().CommandLine, Operands: []Operand{}, Unscaled: analysis.SamplingOf(t.proc)}
	for i := range t.all {
		w := &t.all[i]
		o := Operand{Address: w.code, Store: w.store, Size: w.size, Accesses: w.n, Low: w.low, High: w.high,
			Strides: t.strides.sorted(uint32(i)), Others: t.strides.others(uint32(i))}
		o.Pattern = o.pattern()
		if f := t.proc.Function(w.block.Ins[w.ins].Func); f != nil {
			o.Function, o.Offset = f.Display(), w.code-f.Addr
		}
		if im := t.proc.Image(w.block.Image); im != nil {
			o.Image = im.Path[strings.LastIndexByte(im.Path, '/')+1:]
		}
		out.Operands = append(out.Operands, o)
	}
	slices.SortFunc(out.Operands, func(a, b Operand) int {
		return cmp.Or(cmp.Compare(b.Accesses, a.Accesses), cmp.Compare(a.Address, b.Address), order(a.Store, b.Store))
	})
	return out
}

// order has loads come before stores.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// pattern is what the strides make.
func (o *Operand) pattern() string {
	all, four := o.Others, uint64(0)
	for i, s := range o.Strides {
		all += s.Count
		if i < 4 {
			four += s.Count
		}
	}
	switch {
	case all == 0:
		return Once
	case 10*o.Strides[0].Count >= 9*all && o.Strides[0].Bytes == 0:
		return Same
	case 10*o.Strides[0].Count >= 9*all:
		return Strided
	case 10*four >= 9*all:
		return Mixed
	}
	return Irregular
}

// Count counts the threads of a process, each by itself. threads names them, none: all; progress may be nil.
func Count(p *abp.Profile, proc *abp.Process, threads []uint32, part stream.Part, progress *analysis.Progress) (*Result, error) {
	wanted := func(t *abp.Thread) bool { return len(threads) == 0 || slices.Contains(threads, t.Number) }
	list := proc.Threads()
	for i := range list {
		if wanted(&list[i]) {
			progress.Expect(&list[i])
		}
	}
	all := NewTotals(proc)
	for i := range list {
		if !wanted(&list[i]) {
			continue
		}
		c := all.Thread()
		if err := stream.Thread(p, proc, &list[i], progress, stream.Only(part, c)); err != nil {
			return nil, err
		}
		all.Add(c, 1)
	}
	return all.Result(), nil
}

// WriteText writes a result for people, with at most top operands (0: all).
func (r *Result) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n\n", r.Process, analysis.PrintableCommand(r.Command))
	t := analysis.NewTextTable("instruction", "access", "pattern", "image", "accesses", "strides", "of", "range")
	t.Text = 4
	for i := range r.Operands {
		if top > 0 && i == top {
			t.More = len(r.Operands) - i
			break
		}
		o := &r.Operands[i]
		place := fmt.Sprintf("%#x", o.Address)
		if o.Function != "" {
			place = fmt.Sprintf("%s+%#x", o.Function, o.Offset)
		}
		access := fmt.Sprintf("load %d", o.Size)
		if o.Store {
			access = fmt.Sprintf("store %d", o.Size)
		}
		t.Add(place, access, o.Pattern, o.Image, analysis.FormatExact(o.Accesses), o.strides(), fmt.Sprint(len(o.Strides)), analysis.FormatBytes(o.High-o.Low+uint64(o.Size)))
	}
	t.Write(out, "  ")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write strides: %w", err)
	}
	return nil
}

// strides writes the most frequent ones with their shares.
func (o *Operand) strides() string {
	var text []string
	for i, s := range o.Strides {
		if i == 3 {
			break
		}
		text = append(text, fmt.Sprintf("%+d %.0f %%", s.Bytes, 100*float64(s.Count)/float64(max(o.Accesses-1, 1))))
	}
	return strings.Join(text, ", ")
}
