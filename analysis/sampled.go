package analysis

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"alleria/abp"
)

// SamplingReport says of how much of what was executed there are records, where only bursts were recorded. All counts of
// the process are estimates then: what was recorded, scaled.
type SamplingReport struct {
	// Recorded and Passed are instructions that threads executed while windows were open, in bursts and
	// between them; recorded or not by what the configuration selects.
	Recorded uint64 `json:"recorded"`
	Passed   uint64 `json:"passed"`
	Bursts   uint64 `json:"bursts"`
	// Threads overwrote their latest records, so many times and words, since nobody had made room.
	Lost      uint64 `json:"lost"`
	LostWords uint64 `json:"lost_words"`
	Words     uint64 `json:"words"` // that there are
	// ByTime is how many of Passed are nanoseconds of processor time, each taken for an instruction: counts are shares
	// of time then.
	ByTime uint64 `json:"by_time,omitempty"`
	// Error is by how much of itself the process's number of instructions may be wrong, with a confidence of 95 %.
	Error float64 `json:"error"`
}

// SamplingOf is nil where everything was recorded. Error is not filled in.
func SamplingOf(p *abp.Process) *SamplingReport {
	if len(p.Strata()) == 0 {
		return nil
	}
	r := new(SamplingReport)
	for _, s := range p.Strata() {
		r.Recorded += s.Recorded
		r.Passed += s.Passed
		r.Bursts += s.Bursts
		r.Lost += s.Lost
		r.LostWords += s.LostWords
		r.Words += s.Words
		r.ByTime += s.ByTime
	}
	return r
}

// Part is which part of the instructions was recorded; of everything (nil) all.
func (r *SamplingReport) Part() float64 {
	if r == nil {
		return 1
	}
	return float64(r.Recorded) / math.Max(float64(r.Recorded+r.Passed), 1)
}

// WriteText writes it in the head of a process's report.
func (r *SamplingReport) WriteText(w io.Writer) {
	if r.ByTime > 0 {
		fmt.Fprintf(w, "  sampled: %s instructions in %s bursts, which stand for %.3f s of processor time; counts are shares of that, a nanosecond an instruction, ± with a confidence of 95 %%\n",
			FormatExact(r.Recorded), FormatExact(r.Bursts), float64(r.ByTime)/1e9)
	} else {
		r.writeCounted(w)
	}
	if r.Lost > 0 {
		fmt.Fprintf(w, "  sampled: %s words were overwritten before they were consumed, in %s stretches (%.3g %% of what was recorded)\n",
			FormatExact(r.LostWords), FormatExact(r.Lost), 100*float64(r.LostWords)/float64(r.Words+r.LostWords))
	}
}

// writeCounted is the line of a process whose instructions were counted between bursts.
func (r *SamplingReport) writeCounted(w io.Writer) {
	fmt.Fprintf(w, "  sampled: %s instructions in %s bursts (%.3g %%), %s passed over; counts are estimates, ± with a confidence of 95 %%\n",
		FormatExact(r.Recorded), FormatExact(r.Bursts), 100*r.Part(), FormatExact(r.Passed))
}

// scaled is the counts times a factor.
func scaled(c abp.Counts, by float64) abp.Counts {
	if by == 1 {
		return c
	}
	f := func(n uint64) uint64 { return uint64(math.Round(float64(n) * by)) }
	return abp.Counts{Instructions: f(c.Instructions), MemInstructions: f(c.MemInstructions), Loads: f(c.Loads), Stores: f(c.Stores),
		BytesRead: f(c.BytesRead), BytesWritten: f(c.BytesWritten)}
}

// Spread tells how much what was counted differs from burst to burst, or from frame to frame, which says how far
// estimates may be off.
//
// A frame holds some bursts. What it counts of a function, y, is about as much as the function's share of all that
// the frame's bursts have executed, x. How much y is beside that differs by chance from one frame to the
// next: the sum of the squares of these differences gives the error of the ratio (successive differences, as for any
// sample that is taken evenly along something that changes). Refused: differences from the mean, by which a program that
// does one thing after the other has errors of ten times the true ones.
type Spread struct {
	n       int
	x, dxx  float64
	of      map[any]spreadOf
	beforeX float64
	before  map[any]float64
}

// spreadOf are sums over all frames: of a count, and of products of its differences.
type spreadOf struct{ y, dxy, dyy float64 }

// Add adds what follows what was added before: all that was executed, and what was counted of it by whatever names
// it. y is kept until the next one.
func (s *Spread) Add(x float64, y map[any]float64) {
	if s.of == nil {
		s.of = make(map[any]spreadOf)
	}
	s.x += x
	for k, v := range y {
		o := s.of[k]
		o.y += v
		s.of[k] = o
	}
	s.n++
	if s.n > 1 {
		dx := x - s.beforeX
		s.dxx += dx * dx
		differ := func(k any, dy float64) {
			o := s.of[k]
			o.dxy += dx * dy
			o.dyy += dy * dy
			s.of[k] = o
		}
		for k, v := range y {
			differ(k, v-s.before[k])
		}
		for k, v := range s.before {
			if _, both := y[k]; !both {
				differ(k, -v)
			}
		}
	}
	s.beforeX, s.before = x, y
}

// fewFrames is below how many frames nothing can be said of errors.
const fewFrames = 8

// Error is half of the interval of 95 % about what was estimated for a key, by that; part is which part was recorded. 1: nothing
// is known.
func (s *Spread) Error(key any, part float64) float64 {
	o := s.of[key]
	if o.y == 0 {
		return 0
	}
	n := float64(s.n)
	if n < fewFrames || s.x == 0 {
		return 1
	}
	r := o.y / s.x
	sum := math.Max(o.dyy-2*r*o.dxy+r*r*s.dxx, 0) * n / (2 * (n - 1)) * (1 - part)
	return math.Min(1.96*math.Sqrt(sum)/o.y, 1)
}

// frameSpread is a Spread of frames that are counted in no order: the keys are functions, images, and nil for the process.
type frameSpread struct {
	Spread
	frames []frameCounts
}

// frameCounts is what one frame counts.
type frameCounts struct {
	thread uint32
	seq    uint64
	x      float64
	y      map[any]float64
}

// frame adds a frame that was counted alone.
func (s *frameSpread) frame(sum *summary, thread uint32, counted *tally) {
	f := frameCounts{thread: thread, seq: counted.seq, y: make(map[any]float64)}
	for k, w := range counted.byWindows {
		for id, n := range w.runs {
			if n > 0 {
				f.x += float64(n) * float64(len(sum.proc.Block(uint32(id)).Ins)) * k.scale
			}
		}
	}
	counted.each(sum.proc, func(_ uint64, b *abp.Block, ins int, c abp.Counts) {
		n, img := float64(c.Instructions), sum.places.image(b)
		f.y[nil] += n
		f.y[img] += n
		f.y[functionKey{sum.places.function(b, ins), img}] += n
	})
	s.frames = append(s.frames, f)
}

// close puts the frames in order and sums up.
func (s *frameSpread) close() {
	slices.SortFunc(s.frames, func(a, b frameCounts) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.seq, b.seq)) })
	for i := range s.frames {
		s.Add(s.frames[i].x, s.frames[i].y)
	}
	s.frames = nil
}

// ErrorText is an error as reports show it.
func ErrorText(e float64) string {
	if e >= 1 {
		return "?"
	}
	return fmt.Sprintf("± %.2g %%", 100*e)
}
