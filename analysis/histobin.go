package analysis

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"sync"

	"alleria/abp"
)

// Bits counts the ones and zeros of values.
type Bits struct {
	Values     uint64 `json:"values"`      // accesses whose value was recorded
	Missing    uint64 `json:"missing"`     // others
	LoadOnes   uint64 `json:"load_ones"`   // of what was read
	LoadZeros  uint64 `json:"load_zeros"`  // likewise
	StoreOnes  uint64 `json:"store_ones"`  // of what was written
	StoreZeros uint64 `json:"store_zeros"` // likewise
	ZeroLoads  uint64 `json:"zero_loads"`  // values that are 0
	ZeroStores uint64 `json:"zero_stores"` // likewise
}

// add adds o.
func (b *Bits) add(o *Bits) {
	b.Values += o.Values
	b.Missing += o.Missing
	b.LoadOnes += o.LoadOnes
	b.LoadZeros += o.LoadZeros
	b.StoreOnes += o.StoreOnes
	b.StoreZeros += o.StoreZeros
	b.ZeroLoads += o.ZeroLoads
	b.ZeroStores += o.ZeroStores
}

// value counts one access.
func (b *Bits) value(m *abp.Mem) {
	if m.Value == nil {
		b.Missing++
		return
	}
	b.Values++
	ones := uint64(0)
	v := m.Value
	for ; len(v) >= 8; v = v[8:] {
		ones += uint64(bits.OnesCount64(binary.LittleEndian.Uint64(v)))
	}
	for _, c := range v {
		ones += uint64(bits.OnesCount8(c))
	}
	zeros := 8*uint64(len(m.Value)) - ones
	if m.Store {
		b.StoreOnes, b.StoreZeros = b.StoreOnes+ones, b.StoreZeros+zeros
		if ones == 0 {
			b.ZeroStores++
		}
		return
	}
	b.LoadOnes, b.LoadZeros = b.LoadOnes+ones, b.LoadZeros+zeros
	if ones == 0 {
		b.ZeroLoads++
	}
}

// bitSums are Bits with fractions, where they are estimates.
type bitSums [8]float64

// add adds b, times scale.
func (s *bitSums) add(b *Bits, scale float64) {
	for i, n := range [...]uint64{b.Values, b.Missing, b.LoadOnes, b.LoadZeros, b.StoreOnes, b.StoreZeros, b.ZeroLoads, b.ZeroStores} {
		s[i] += float64(n) * scale
	}
}

// rounded is whole numbers of it.
func (s *bitSums) rounded() Bits {
	n := func(i int) uint64 { return uint64(math.Round(s[i])) }
	return Bits{n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7)}
}

// bitTotals is what all workers have counted.
type bitTotals struct {
	code  map[*abp.Block][]bitSums // by instruction
	pages map[uint64]*bitSums
}

// add adds a worker's counts.
func (t *bitTotals) add(w *bitsWorker) {
	for b, all := range w.code {
		sums := t.code[b]
		if sums == nil {
			sums = make([]bitSums, len(all))
			t.code[b] = sums
		}
		for i := range all {
			sums[i].add(&all[i], w.scale)
		}
	}
	for k, b := range w.pages {
		if t.pages[k] == nil {
			t.pages[k] = new(bitSums)
		}
		t.pages[k].add(b, w.scale)
	}
}

// BitsRow is a function, or a region of memory.
type BitsRow struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	Bits
}

// HistoBin is the ones and zeros of the values of a process.
type HistoBin struct {
	Process   uint32    `json:"process"`
	Command   []string  `json:"command"`
	Total     Bits      `json:"total"`
	Functions []BitsRow `json:"functions"` // the most bits first
	Regions   []BitsRow `json:"regions"`   // of memory, likewise
	// Sampling is there where only bursts were recorded: all counts are estimates.
	Sampling *SamplingReport `json:"sampling,omitempty"`
}

// bitsWorker counts frames on one goroutine.
type bitsWorker struct {
	reader *abp.Reader
	proc   *abp.Process
	query  bool
	code   map[*abp.Block][]Bits // by instruction, whose function is looked up afterwards
	cur    []Bits                // of the block that is being executed
	block  *abp.Block
	pages  map[uint64]*Bits
	last   uint64 // page that was looked up last, plus one
	page   *Bits
	scale  float64 // what counts are to be multiplied by
	merge  func(w *bitsWorker)
}

// HistoBinOf counts the values of a process that q matches. progress may be nil.
// It is the published profiler's HistoBin (Alleria, section 2.8.1), by function and region.
func HistoBinOf(p *abp.Profile, proc *abp.Process, q abp.Query, progress *Progress) (*HistoBin, error) {
	all := &bitTotals{code: map[*abp.Block][]bitSums{}, pages: map[uint64]*bitSums{}}
	var lock sync.Mutex // guards all
	_, err := eachFrame(proc, q, progress, func([]abp.Thread) func() frameWorker {
		return func() frameWorker {
			w := &bitsWorker{reader: p.FrameReader(q), proc: proc, query: picksInstructions(q) || picksExecutions(q), merge: func(w *bitsWorker) {
				lock.Lock()
				defer lock.Unlock()
				all.add(w)
			}}
			w.begin(1)
			return w
		}
	})
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", p.Path(), err)
	}
	return all.result(proc), nil
}

// begin has nothing counted, for frames whose counts are to be multiplied by that.
func (w *bitsWorker) begin(scale float64) {
	w.scale, w.code, w.pages = scale, map[*abp.Block][]Bits{}, map[uint64]*Bits{}
	w.block, w.cur, w.last, w.page = nil, nil, 0, nil
}

// at returns a sum of a map, made if it is new.
func at[K comparable](m map[K]*Bits, k K) *Bits {
	b := m[k]
	if b == nil {
		b = new(Bits)
		m[k] = b
	}
	return b
}

// enter makes a block the current one.
func (w *bitsWorker) enter(b *abp.Block) {
	if b == w.block {
		return
	}
	w.block, w.cur = b, w.code[b]
	if w.cur == nil {
		w.cur = make([]Bits, len(b.Ins))
		w.code[b] = w.cur
	}
}

// see counts an access.
func (w *bitsWorker) see(m *abp.Mem) {
	w.cur[m.Ins].value(m)
	if page := m.Addr / touchPage; page+1 != w.last {
		w.last, w.page = page+1, at(w.pages, page)
	}
	w.page.value(m)
}

// frame counts a frame.
func (w *bitsWorker) frame(_ int, ref *abp.FrameRef) error {
	if scale := w.proc.Scale(ref); scale != w.scale {
		w.merge(w)
		w.begin(scale)
	}
	r := w.reader
	r.Frame(w.proc, ref)
	if w.query {
		for r.Next() {
			if e := r.Entry(); e.Kind == abp.EntryMem {
				m := e.Mem
				w.enter(e.Ins.Block)
				m.Ins = uint16(e.Ins.Index)
				w.see(&m)
			}
		}
		return r.Err()
	}
	for r.NextStretch() {
		words := r.Stretch()
		if words == nil {
			w.enter(r.Exec().Block)
			r.Exec().ForEachAccess(w.see)
			continue
		}
		for i := 0; i < len(words); {
			x := r.StretchExec(i)
			w.enter(x.Block)
			x.ForEachAccess(w.see)
			i += 1 + x.Block.Words
		}
	}
	return r.Err()
}

// done hands over what was counted.
func (w *bitsWorker) done() { w.merge(w) }

// result sums up by function and region.
func (t *bitTotals) result(proc *abp.Process) *HistoBin {
	h := &HistoBin{Process: proc.Number(), Command: proc.Header().CommandLine, Sampling: SamplingOf(proc)}
	places := newPlaces(proc)
	functions, regions := map[functionKey]*Bits{}, map[string]*Bits{}
	for b, all := range t.code {
		for i := range all {
			if sum := all[i].rounded(); sum != (Bits{}) {
				h.Total.add(&sum)
				at(functions, functionKey{places.function(b, i), places.image(b)}).add(&sum)
			}
		}
	}
	named := Regions(proc)
	for page, b := range t.pages {
		name := "[other memory]"
		addr := page * touchPage
		if i := slices.IndexFunc(named, func(r Region) bool { return addr < r.Hi && addr+touchPage > r.Lo }); i >= 0 {
			name = named[i].Name
		}
		sum := b.rounded()
		at(regions, name).add(&sum)
	}
	h.Functions, h.Regions = []BitsRow{}, []BitsRow{}
	for k, b := range functions {
		row := BitsRow{Name: noFunction, Image: imageName(k.image), Bits: *b}
		if k.function != nil {
			row.Name = k.function.Display()
		}
		h.Functions = append(h.Functions, row)
	}
	for name, b := range regions {
		h.Regions = append(h.Regions, BitsRow{Name: name, Bits: *b})
	}
	for _, rows := range [][]BitsRow{h.Functions, h.Regions} {
		slices.SortFunc(rows, func(a, b BitsRow) int {
			return cmp.Or(cmp.Compare(b.all(), a.all()), cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
		})
	}
	return h
}

// all is how many bits were counted.
func (b *Bits) all() uint64 { return b.LoadOnes + b.LoadZeros + b.StoreOnes + b.StoreZeros }

// WriteText writes the counts for people, with at most top functions and regions (0: all).
func (h *HistoBin) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n", h.Process, joinCommand(h.Command))
	if h.Sampling != nil {
		h.Sampling.WriteText(out)
	}
	fmt.Fprintf(out, "  %s values; of %s accesses none was recorded\n", FormatExact(h.Total.Values), FormatExact(h.Total.Missing))
	head := []string{"loaded ones", "zeros", "% ones", "stored ones", "zeros", "% ones"}
	write := func(rows []BitsRow, text int, names ...string) {
		t := NewTextTable(append(names, head...)...)
		t.Text = text
		for i := range rows {
			r := &rows[i]
			if top > 0 && i == top {
				t.More = len(rows) - i
				break
			}
			cells := []string{cut(r.Name, 50)}
			if text == 2 {
				cells = append(cells, cut(r.Image, 30))
			}
			t.Add(append(cells, FormatExact(r.LoadOnes), FormatExact(r.LoadZeros), share(r.LoadOnes, r.LoadOnes+r.LoadZeros),
				FormatExact(r.StoreOnes), FormatExact(r.StoreZeros), share(r.StoreOnes, r.StoreOnes+r.StoreZeros))...)
		}
		t.Write(out, "\n  ")
	}
	write([]BitsRow{{Name: "all", Bits: h.Total}}, 1, "")
	write(h.Functions, 2, "function", "image")
	write(h.Regions, 1, "region")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	return nil
}
