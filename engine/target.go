package engine

import (
	"fmt"
	"math"
	"sync"

	"golang.org/x/sys/cpu"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// newSettings translates the options, and asks the processor.
func newSettings(o *Options) translate.Settings {
	s := translate.Settings{Budgets: translate.Budgets{Words: layout.BudgetWords}}
	s.Switches = translate.Switches{NoFollow: o.NoFollow, NoHuge: o.NoHuge, NoSuper: o.NoSuper, Sizes: o.Sizes, NoLate: o.NoLate,
		Predict: o.Predict, NoFastReturn: o.NoFastReturn, NoState: o.NoState, NoBehind: o.NoBehind, NoCallees: o.NoCallees, Buffering: o.buffering(), ShortAfter: translate.ManyBlocks}
	switch {
	case o.NoShort:
		s.ShortAfter = math.MaxUint32
	case o.Short:
		s.ShortAfter = 0
	}
	if o.NoSpread {
		s.Words = 1
	}
	x := &cpu.X86
	s.Features = translate.Features{HasAVX: x.HasAVX, HasBMI2: x.HasBMI2, HasVBMI2: x.HasAVX512VBMI2, States: sync.OnceValue(x86.States),
		HasAVX512: x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ}
	return s
}

// codeKey is what translations depend on besides the code, and that is the same in all of a run: whoever begins with those of another run compares it. What may
// differ between processes is looked at for each (Process.general, RecordsLike).
func (o *Options) codeKey() string {
	s := newSettings(o)
	s.States = nil
	return fmt.Sprintf("%+v %+v %+v chunk %d %d %t", s, cpu.X86, o.Switches, o.ChunkBytes, o.Chunks, o.Lossy)
}

// mostCode is how much code a region of the cache holds at most, 0: as much as it has room for.
func (o *Options) mostCode() int {
	if o.SmallCache {
		return 1 << 20
	}
	return 0
}

// target is a process as its translator sees it.
type target struct{ p *Process }

// LookAround is for what was taken over, and for what was set aside.
func (g target) LookAround(addr uint64) bool {
	g.p.lookAround()
	return g.p.code.PutBack(addr&^(appcode.PageSize-1)) || g.p.from != nil
}

func (g target) Fetch(addr uint64, n int) []byte              { return g.p.code.Fetch(addr, n) }
func (g target) Executable(addr uint64) bool                  { return g.p.code.Executable(addr) }
func (g target) Changing(addr uint64) bool                    { return g.p.code.Changing(addr) }
func (g target) Made(addr uint64) bool                        { return g.p.code.Made(addr) }
func (g target) Changes(ins []x86.Insn) bool                  { return g.p.code.Changes(ins) }
func (g target) Splits(addr uint64) bool                      { return g.p.points.Splits(addr) }
func (g target) EntryFrom(from, to uint64) codecache.Entry    { return g.p.points.EntryFrom(from, to) }
func (g target) Publish(checks []uint64, v codecache.Variant) { g.p.publishChecks(checks, v) }

func (g target) WithProbes(code []byte, addr uint64) []byte { return g.p.points.WithProbes(code, addr) }

func (g target) Mapping(addr uint64) (start, end uint64) {
	m := g.p.code.Mapping(addr)
	if m == nil {
		return 0, 0
	}
	return m.Start, m.End
}

func (g target) Plan(plan int, ins []x86.Insn, want []translate.Want) (image uint32) {
	return g.p.client.Plan(g.p, plan, ins, want)
}

func (g target) Captures() translate.Captures                 { return g.p.points.Captures() }
func (g target) Point(addr uint64) (translate.Point, bool)    { return g.p.points.At(addr) }
func (g target) EntriesAround(addr uint64) (entries []uint64) { return g.p.points.EntriesAround(addr) }
