package live

import (
	"io"

	"alleria/abp"
	"alleria/analysis/stream"
)

// Analysis is one analysis of one process.
type Analysis interface {
	// Thread returns what takes the executions of an application thread. It may be called from any
	// goroutine, by one at a time.
	Thread() stream.Sink
	// Add adds what a thread's sink has found, times scale, when it gets nothing more. Likewise.
	Add(s stream.Sink, scale float64)
	// Result gives what was found, behind the last Add.
	Result() Result
}

// Result is what an analysis has found. It is written as JSON.
type Result interface {
	// WriteText writes it for people, with at most top rows a table (0: all).
	WriteText(w io.Writer, top int) error
}

// part is some of what a chunk holds: a stretch of whole executions or a single one.
type part struct {
	x        abp.Exec
	words    []uint64
	single   bool
	gapAhead bool
	callers  []uint64 // who had called whom, where a burst begins with it; nil: it does not, or nobody knows
}

// feed hands parts to a sink.
func feed(s stream.Sink, parts []part) {
	g, _ := s.(stream.Gapped)
	c, _ := s.(stream.Stacked)
	for i := range parts {
		p := &parts[i]
		if p.gapAhead && g != nil {
			g.Gap()
		}
		if len(p.callers) > 0 && c != nil {
			c.Callers(abp.ParseStack(p.callers))
		}
		if p.single {
			s.Single(&p.x)
		} else {
			s.Stretch(&p.x, p.words)
		}
	}
}
