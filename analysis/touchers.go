package analysis

import (
	"cmp"
	"slices"
	"sync"

	"alleria/abp"
)

// codeLimit is how many places of code are named for a line.
const codeLimit = 5

// toucherKey is an instruction that touches a line.
type toucherKey struct {
	line, code uint64
	image      uint32 // of its block
}

// touchedBy is a toucherKey by what lay at the address.
type touchedBy struct {
	line uint64
	code Code
}

// toucherSum is how often, with fractions where these are estimates.
type toucherSum struct{ reads, writes float64 }

// touchers reads the profile once more and names the code that touches some lines, and the
// regions that these are in. The first time the lines that matter are not known yet, and
// counts by code of all of them would take more memory than the program had.
func touchers(p *abp.Profile, proc *abp.Process, q abp.Query, lines []TouchedLine, shift uint) error {
	index := make(map[uint64]int, len(lines))
	for i := range lines {
		index[lines[i].Address>>shift] = i
	}
	all := map[touchedBy]toucherSum{}
	places := newPlaces(proc)
	var lock sync.Mutex // guards all
	_, err := eachFrame(proc, q, nil, func([]abp.Thread) func() frameWorker {
		return func() frameWorker {
			w := &toucherWorker{touchWorker: touchWorker{reader: p.FrameReader(q), proc: proc, scale: 1}, counts: map[toucherKey]*TouchedCode{}}
			w.query = picksExecutions(q) || picksInstructions(q)
			w.see = func(b *abp.Block, m *abp.Mem) {
				for l := m.Addr >> shift; l <= (m.Addr+uint64(max(m.Size, 1))-1)>>shift; l++ {
					if _, ok := index[l]; ok {
						w.count(toucherKey{l, b.InsAddr(int(m.Ins)), b.Image}, m.Store)
					}
				}
			}
			w.give = func() {
				lock.Lock()
				defer lock.Unlock()
				for k, c := range w.counts {
					by := touchedBy{k.line, places.codeIn(k.image, k.code)}
					o := all[by]
					all[by] = toucherSum{o.reads + float64(c.Reads)*w.scale, o.writes + float64(c.Writes)*w.scale}
				}
				clear(w.counts)
			}
			return w
		}
	})
	if err != nil {
		return err
	}
	for k, c := range all {
		l := &lines[index[k.line]]
		l.Code = append(l.Code, TouchedCode{k.code.Addr, places.describeCode(k.code), whole(c.reads), whole(c.writes)})
	}
	regions := Regions(proc)
	for i := range lines {
		l := &lines[i]
		slices.SortFunc(l.Code, func(a, b TouchedCode) int {
			return cmp.Or(cmp.Compare(b.Reads+b.Writes, a.Reads+a.Writes), cmp.Compare(a.Address, b.Address))
		})
		l.Code = l.Code[:min(len(l.Code), codeLimit)]
		l.Region = RegionAt(regions, l.Address)
	}
	return nil
}

// toucherWorker counts the code that touches some lines, on one goroutine.
type toucherWorker struct {
	touchWorker
	counts map[toucherKey]*TouchedCode
	query  bool // a filter has to be asked
	see    func(b *abp.Block, m *abp.Mem)
	give   func()
}

// count adds an access.
func (w *toucherWorker) count(k toucherKey, store bool) {
	c := w.counts[k]
	if c == nil {
		c = new(TouchedCode)
		w.counts[k] = c
	}
	if store {
		c.Writes++
	} else {
		c.Reads++
	}
}

// frame counts a frame.
func (w *toucherWorker) frame(_ int, ref *abp.FrameRef) error {
	if scale := w.proc.Scale(ref); scale != w.scale {
		w.give()
		w.scale = scale
	}
	r := w.reader
	r.Frame(w.proc, ref)
	if w.query {
		for r.Next() {
			if e := r.Entry(); e.Kind == abp.EntryMem {
				m := e.Mem
				m.Ins = uint16(e.Ins.Index)
				w.see(e.Ins.Block, &m)
			}
		}
		return r.Err()
	}
	var b *abp.Block
	each := func(m *abp.Mem) { w.see(b, m) }
	for r.NextStretch() {
		words := r.Stretch()
		if words == nil {
			b = r.Exec().Block
			r.Exec().ForEachAccess(each)
			continue
		}
		for i := 0; i < len(words); {
			x := r.StretchExec(i)
			b = x.Block
			x.ForEachAccess(each)
			i += 1 + b.Words
		}
	}
	return r.Err()
}

// done hands over what was counted.
func (w *toucherWorker) done() { w.give() }
