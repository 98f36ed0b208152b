package live

import (
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/coherence"
	"alleria/analysis/paths"
	"alleria/analysis/reuse"
	"alleria/analysis/stream"
	"alleria/analysis/strides"
)

// callsAnalysis follows calls.
type callsAnalysis struct{ b *calls.Builder }

func newCalls(p *abp.Process, q calls.Query) *callsAnalysis {
	return &callsAnalysis{calls.NewBuilder(p, q)}
}

// OneByOne has some analyses follow calls without the loop in C, paths step by step, and distances and caches in one goroutine, for comparison.
func OneByOne(specs []Spec) []Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		switch s := &specs[i]; {
		case s.custom:
		case s.Kind == KindCalls:
			q, _ := callsQuery(s.Options) // it has been read before
			s.make = func(p *abp.Process) Analysis { return &callsAnalysis{calls.NewBuilder(p, q).OneByOne()} }
		case s.Kind == kindPaths:
			s.make = func(p *abp.Process) Analysis { return &pathAnalysis{paths.NewTotals(p).OneByOne()} }
		default:
			made := s.make
			s.make = func(p *abp.Process) Analysis {
				a := made(p)
				switch a := a.(type) {
				case *distances:
					a.all.AtOnce()
				case *caches:
					a.all.AtOnce()
				}
				return a
			}
		}
	}
	return specs
}

func (a *callsAnalysis) Thread() stream.Sink              { return a.b.Thread() }
func (a *callsAnalysis) Add(s stream.Sink, scale float64) { a.b.Add(s.(*calls.Tracker), scale) }
func (a *callsAnalysis) Result() Result                   { return a.b.Tree() }

// caches simulates caches.
type caches struct{ all *cache.Totals }

func newCaches(p *abp.Process, o cache.Options) *caches { return &caches{cache.NewTotals(p, o)} }

// simulating is a simulator and what feeds it.
type simulating struct {
	stream.Walker
	s *cache.Simulator
}

// Gap is stream.Gapped's.
func (s *simulating) Gap() { s.Walker.(stream.Gapped).Gap() }

func (a *caches) Thread() stream.Sink {
	s := a.all.Sink()
	if sim, ok := s.(*cache.Simulator); ok {
		return &simulating{stream.Warm(sim), sim}
	}
	return s // on several processors; they would wait for each other where bursts change what counts
}

func (a *caches) Add(s stream.Sink, scale float64) {
	if w, ok := s.(*simulating); ok {
		a.all.AddWarmed(w.s, scale)
		return
	}
	a.all.AddSink(s, scale)
}

func (a *caches) Result() Result { return a.all.Result() }

// orderedCaches simulates caches of which the last is shared. All threads meet in it.
type orderedCaches struct{ all *cache.Ordered }

func newOrderedCaches(p *abp.Process, o cache.Options) *orderedCaches {
	return &orderedCaches{cache.NewOrdered(p, o)}
}

func (a *orderedCaches) Thread() stream.Sink          { return a.all.Thread() }
func (a *orderedCaches) Add(s stream.Sink, _ float64) { a.all.End(s.(*stream.Ahead)) }
func (a *orderedCaches) Result() Result               { return a.all.Result() }

// distances counts reuse distances.
type distances struct{ all *reuse.Totals }

// counting is a counter and what feeds it.
type counting struct {
	stream.Walker
	c *reuse.Counter
}

func newReuse(p *abp.Process, line uint64, sample int) *distances {
	return &distances{reuse.NewTotals(p, reuse.Options{Line: line, Limit: sample})}
}

func (a *distances) Thread() stream.Sink {
	c, sink := a.all.Thread()
	return &counting{stream.Warm(sink), c}
}

// Gap is stream.Gapped's.
func (c *counting) Gap() { c.Walker.(stream.Gapped).Gap() }

// LeftOut is leaver's.
func (c *counting) LeftOut(b *abp.Block, times uint64) { c.c.LeftOut(b, times) }

// Follows is leaver's.
func (c *counting) Follows() uint64 { return c.c.Follows() }

func (a *distances) Add(s stream.Sink, scale float64) { a.all.Add(s.(*counting).c, scale) }
func (a *distances) Result() Result                   { return a.all.Result() }

// heat counts accesses by address.
type heat struct {
	p     *abp.Process
	block uint64
	all   *analysis.Heat
}

func newHeat(p *abp.Process, block uint64) *heat { return &heat{p, block, analysis.NewHeat(block)} }

func (a *heat) Thread() stream.Sink { return analysis.NewHeatCount(a.block) }

func (a *heat) Add(s stream.Sink, scale float64) {
	h := s.(*analysis.HeatCount).Heat()
	h.Scaled(scale)
	a.all.Merge(h)
}

func (a *heat) Result() Result { return heatResult(a.p, a.all) }

// pathAnalysis counts paths.
type pathAnalysis struct{ all *paths.Totals }

func newPaths(p *abp.Process) *pathAnalysis { return &pathAnalysis{paths.NewTotals(p)} }

func (a *pathAnalysis) Thread() stream.Sink              { return a.all.Thread() }
func (a *pathAnalysis) Add(s stream.Sink, scale float64) { a.all.Add(s.(*paths.Counter), scale) }
func (a *pathAnalysis) Result() Result                   { return a.all.Result() }

// strideAnalysis follows how instructions walk through memory.
type strideAnalysis struct{ all *strides.Totals }

func newStrides(p *abp.Process) *strideAnalysis { return &strideAnalysis{strides.NewTotals(p)} }

func (a *strideAnalysis) Thread() stream.Sink              { return a.all.Thread() }
func (a *strideAnalysis) Add(s stream.Sink, scale float64) { a.all.Add(s.(*strides.Counter), scale) }
func (a *strideAnalysis) Result() Result                   { return a.all.Result() }

// sharing simulates private caches that are kept coherent. All threads meet in it.
type sharing struct{ all *coherence.Ordered }

func newSharing(p *abp.Process, o coherence.Options) *sharing {
	return &sharing{coherence.NewOrdered(p, o)}
}

func (a *sharing) Thread() stream.Sink          { return a.all.Thread() }
func (a *sharing) Add(s stream.Sink, _ float64) { a.all.End(s.(*stream.Ahead)) }
func (a *sharing) Result() Result               { return a.all.Result() }
