package plan

import (
	"slices"
	"sync"

	"alleria/abp"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// Sites tells which windows select which instructions, for analyses that do something else for each window. Windows
// are numbered as in the configuration.
//
// The recording notes it as code is translated, and analyses ask while the program runs.
type Sites struct {
	// Entries are the windows that mean functions' first instructions alone, Blocks those that mean the first
	// ones of basic blocks: bit i is window i. They are set before the recording begins.
	Entries, Blocks uint64
	// If has, by window, conditions all of which hold of an execution that is wanted; none: each is. Windows behind its end have none. They are set before the recording begins.
	If [][]Condition

	mu sync.RWMutex
	of map[site]uint64 // windows; guarded by mu
}

// Condition is what makes an execution of an instruction worth a record.
type Condition struct {
	Of          engine.ConditionOf
	Reg         abp.Register // of OfRegister
	Least, Most uint64       // both included
}

// conditions are those of a window as the engine has them.
func conditions(list []Condition) (out []engine.Condition) {
	for _, c := range list {
		out = append(out, engine.Condition{Of: c.Of, Reg: records.Reg(c.Reg), Least: c.Least, Most: c.Most})
	}
	return out
}

// site is an instruction. Code that has changed has the same address and, mostly, another length.
type site struct {
	process, generation uint32
	addr                uint64
	length              uint8
}

// Of returns the windows that select an instruction of a process. Those that were not open when it was
// translated may be missing.
func (s *Sites) Of(p *abp.Process, addr uint64, length uint8) uint64 {
	h := p.Header()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[site{h.Process, h.Generation, addr, length}]
}

// note adds windows that select instructions.
func (s *Sites) note(process, generation int, ins []x86.Insn, windows []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[site]uint64)
	}
	for i, w := range windows {
		if w != 0 {
			s.of[site{uint32(process), uint32(generation), ins[i].Addr, ins[i].Len}] |= w
		}
	}
}

// apart answers for several windows, each by a planner of its own, where it matters which of them an answer is of.
type apart struct {
	sites               *Sites
	process, generation int
	each                []*Planner // by window; nil: it is not open
	want                []engine.Want
	windows             []uint64 // by instruction
}

// Apart has a planner answer for each of several windows by itself, and tells sites which selects what. each is by window; nil: it is not open.
func (p *Planner) Apart(s *Sites, process, generation int, each []*Planner) {
	p.apart = &apart{sites: s, process: process, generation: generation, each: each}
}

// plan is Planner.Plan: everything that some window wants.
func (a *apart) plan(ins []x86.Insn, want []engine.Want) (image uint32) {
	a.windows = append(a.windows[:0], make([]uint64, len(ins))...)
	for w, p := range a.each {
		if p == nil {
			continue
		}
		a.want = append(a.want[:0], make([]engine.Want, len(ins))...)
		image = p.Plan(ins, a.want)
		for i := range ins {
			one := &a.want[i]
			if one.Flags&records.InsRecorded == 0 || !a.meant(w, p, ins, i) {
				continue
			}
			a.windows[i] |= 1 << w
			if w < len(a.sites.If) && len(a.sites.If[w]) > 0 {
				one.If = [][]engine.Condition{conditions(a.sites.If[w])}
			}
			merge(&want[i], one)
		}
	}
	a.sites.note(a.process, a.generation, ins, a.windows)
	return image
}

// meant tells whether a window that selects an instruction means this one.
func (a *apart) meant(w int, p *Planner, ins []x86.Insn, i int) bool {
	if a.sites.Entries&(1<<w) != 0 {
		l, _ := p.tables.Symbols.ByAddr(ins[i].Addr)
		if l == nil {
			return false
		}
		fn := l.Image.Lookup(l.Address(ins[i].Addr))
		return fn != nil && fn.Addr == l.Address(ins[i].Addr)
	}
	return a.sites.Blocks&(1<<w) == 0 || i == 0 || ins[i-1].Next() != ins[i].Addr || branches(&ins[i-1])
}

// branches tells whether a basic block ends with the instruction.
func branches(in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL, x86.CatRET, x86.CatSYSCALL:
		return true
	}
	return false
}

// merge adds to what is wanted of an instruction.
func merge(to, from *engine.Want) {
	switch {
	case to.Flags == 0:
		to.If = from.If
	case to.If == nil || from.If == nil: // one of both wants all
		to.If = nil
	default:
		to.If = append(to.If, from.If...)
	}
	to.Flags |= from.Flags
	to.Func = from.Func
	for _, r := range from.Regs {
		if !slices.Contains(to.Regs, r) {
			to.Regs = append(to.Regs[:len(to.Regs):len(to.Regs)], r)
		}
	}
}
