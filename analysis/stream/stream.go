package stream

import (
	"runtime"

	"alleria/abp"
	"alleria/analysis"
)

// Sink takes the executions of one thread in their order.
type Sink interface {
	// Stretch takes whole executions that follow one another: a block's number,
	// Block.Words words, and so on. state has the process, the thread, the open windows and
	// the segment bases during all of them, and no block. Both are overwritten afterwards.
	Stretch(state *abp.Exec, words []uint64)
	// Single takes an execution that may be cut short or emulated. It is overwritten
	// afterwards.
	Single(x *abp.Exec)
}

// Gapped is a Sink that wants to know where records are missing: between bursts.
type Gapped interface {
	Sink
	// Gap says that records are missing in front of what comes.
	Gap()
}

// Stacked is a Sink that wants to know who had called whom where a burst begins.
type Stacked interface {
	Sink
	// Callers says it of what comes. It is not called where it was not recorded.
	Callers(s abp.Stack)
}

// Scaled is a Sink that wants to know what its counts have to be multiplied by, where only bursts were recorded.
type Scaled interface {
	Sink
	// Scale says it of what comes. It is called in front of each frame.
	Scale(by float64)
}

// gaps tells a sink of bursts' ends, and what they stand for.
type gaps struct {
	proc  *abp.Process
	sink  Gapped // nil: it does not want to know
	scale Scaled // likewise
	stack Stacked
	told  *uint64 // the callers that it has been told last
	seen  uint64  // of the frame, so far
}

func newGaps(proc *abp.Process, sink Sink) *gaps {
	g := &gaps{proc: proc}
	g.sink, _ = sink.(Gapped)
	g.scale, _ = sink.(Scaled)
	g.stack, _ = sink.(Stacked)
	return g
}

// begin begins a frame.
func (g *gaps) begin(ref *abp.FrameRef) {
	if g.scale != nil {
		g.scale.Scale(g.proc.Scale(ref))
	}
}

// frame ends a frame, which has had so many.
func (g *gaps) frame(all uint64) {
	g.before(all)
	g.seen = 0
}

// before is about what comes behind so many of them.
func (g *gaps) before(n uint64) {
	if n == g.seen {
		return
	}
	if g.seen = n; g.sink != nil {
		g.sink.Gap()
	}
}

// at is before, for what comes in a state of the thread.
func (g *gaps) at(x *abp.Exec) {
	g.before(x.Gaps)
	if g.stack != nil && len(x.Callers) > 0 && g.told != &x.Callers[0] {
		g.told = &x.Callers[0]
		g.stack.Callers(abp.ParseStack(x.Callers))
	}
}

// Thread reads a thread of a process into the sink, and returns the first error of reading.
// What was handed over in front of an error is right.
func Thread(p *abp.Profile, proc *abp.Process, t *abp.Thread, progress *analysis.Progress, sink Sink) error {
	workers := min(runtime.GOMAXPROCS(0), len(t.Frames))
	if workers <= 1 {
		return alone(p, proc, t, progress, sink)
	}
	return ahead(p, proc, t, progress, sink, workers)
}

// alone decodes on the caller's goroutine.
func alone(p *abp.Profile, proc *abp.Process, t *abp.Thread, progress *analysis.Progress, sink Sink) error {
	r := p.FrameReader(abp.Query{})
	g := newGaps(proc, sink)
	for _, ref := range t.Frames {
		g.begin(ref)
		r.Frame(proc, ref)
		for r.NextStretch() {
			g.at(r.Exec())
			if words := r.Stretch(); words != nil {
				sink.Stretch(r.Exec(), words)
			} else {
				sink.Single(r.Exec())
			}
		}
		if r.Err() != nil {
			return r.Err()
		}
		g.frame(r.Exec().Gaps)
		progress.Add(ref.Execs)
	}
	return nil
}

// part is a stretch, or a single execution, of a decoded frame.
type part struct {
	x        abp.Exec
	from, to int // of the frame's words, in a stretch
	single   bool
}

// decoded is a frame, decoded. It is used again and again.
type decoded struct {
	words []uint64
	parts []part
	gaps  uint64
	err   error
}

// ahead decodes frames on goroutines of their own. Each has frames in turn, and two buffers:
// memory is two frames a processor, some 16 MB each, whatever the profile's length.
func ahead(p *abp.Profile, proc *abp.Process, t *abp.Thread, progress *analysis.Progress, sink Sink, workers int) error {
	full := make([]chan *decoded, workers)
	empty := make([]chan *decoded, workers)
	stop := make(chan struct{})
	defer close(stop)
	for w := range workers {
		full[w], empty[w] = make(chan *decoded, 2), make(chan *decoded, 2)
		empty[w] <- new(decoded)
		empty[w] <- new(decoded)
		go func() {
			r := p.FrameReader(abp.Query{})
			for i := w; i < len(t.Frames); i += workers {
				select {
				case d := <-empty[w]:
					d.read(r, proc, t.Frames[i])
					full[w] <- d
				case <-stop:
					return
				}
			}
		}()
	}
	g := newGaps(proc, sink)
	for i, ref := range t.Frames {
		d := <-full[i%workers]
		g.begin(ref)
		d.hand(sink, g)
		if d.err != nil {
			return d.err
		}
		progress.Add(ref.Execs)
		empty[i%workers] <- d
	}
	return nil
}

// read decodes a frame.
func (d *decoded) read(r *abp.Reader, proc *abp.Process, ref *abp.FrameRef) {
	d.words, d.parts = d.words[:0], d.parts[:0]
	r.Frame(proc, ref)
	for r.NextStretch() {
		if words := r.Stretch(); words != nil {
			d.stretch(r.Exec(), words)
		} else {
			d.single(r.Exec())
		}
	}
	d.err, d.gaps = r.Err(), r.Exec().Gaps
}

// stretch appends a stretch; to the part before if the state is the same, which it mostly is.
func (d *decoded) stretch(x *abp.Exec, words []uint64) {
	from := len(d.words)
	d.words = append(d.words, words...)
	if n := len(d.parts); n > 0 {
		last := &d.parts[n-1]
		if !last.single && last.x.Windows == x.Windows && last.x.FSBase == x.FSBase && last.x.GSBase == x.GSBase && last.x.TSC == x.TSC && last.x.Gaps == x.Gaps && sameCallers(&last.x, x) {
			last.to = len(d.words)
			return
		}
	}
	d.parts = append(d.parts, part{x: *x, from: from, to: len(d.words)})
}

// sameCallers tells whether two states are of a burst that began once: the slice is the same then.
func sameCallers(a, b *abp.Exec) bool {
	return len(a.Callers) == len(b.Callers) && (len(a.Callers) == 0 || &a.Callers[0] == &b.Callers[0])
}

// single appends one execution with copies of what it points at.
func (d *decoded) single(x *abp.Exec) {
	c := part{x: *x, single: true, from: len(d.words)}
	if x.IsEmulated {
		d.words = append(d.words, x.Emulated...)
	} else {
		d.words = append(d.words, x.Words...)
	}
	c.to = len(d.words)
	d.parts = append(d.parts, c)
}

// hand gives a decoded frame to the sink.
func (d *decoded) hand(sink Sink, g *gaps) {
	defer func() { g.frame(d.gaps) }()
	for i := range d.parts {
		p := &d.parts[i]
		g.at(&p.x)
		words := d.words[p.from:p.to]
		switch {
		case !p.single:
			sink.Stretch(&p.x, words)
			continue
		case p.x.IsEmulated:
			p.x.Emulated = words
		default:
			p.x.Words = words
		}
		sink.Single(&p.x)
	}
}
