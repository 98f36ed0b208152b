package analysis

import (
	"fmt"
	"io"
	"math"

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
	// CallersUnknown is the part of all instructions in bursts of which not all callers are known, who then are missing in inclusive counts. Only
	// where calls were followed.
	CallersUnknown float64 `json:"callers_unknown,omitempty"`
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

// Spread tells how much what was counted differs from burst to burst, or from row to row of SAMPLING, which says how far
// estimates may be off.
//
// How much was executed is known to the instruction, so that estimates are off only by the share that is counted of it. How much
// the shares of stretches that follow each other differ gives the error of one (balanced differences of five, as for
// any sample that is taken evenly along something that changes: a share that stays, or changes steadily, has none). Refused: differences from the mean, by which a program that
// does one thing after the other has errors of ten times the true ones; differences of counts, by which stretches
// that are not equally long differ though their shares are the same; and of two neighbours, which know nothing of steady change.
type Spread struct {
	n, m int // stretches, and how often five of them were compared
	x    float64
	of   map[any]spreadOf
	last []stretch
	by   map[any]float64 // memory of Add's
}

// spreadOf is what is known of a count: its sum, and that of the squares of its differences.
type spreadOf struct{ y, squares float64 }

// stretch is what Add was told.
type stretch struct {
	x float64
	y map[any]float64
}

// balanced are the weights by which shares that follow each other are compared; the sum of their squares is 3.5.
func balanced() [5]float64 { return [...]float64{0.5, -1, 1, -1, 0.5} }

// Add adds what follows what was added before: all that was executed, and what was counted of it by whatever names
// it. y is kept until four more were added.
func (s *Spread) Add(x float64, y map[any]float64) {
	if x <= 0 {
		return
	}
	if s.of == nil {
		s.of, s.by = make(map[any]spreadOf), make(map[any]float64)
	}
	for k, v := range y {
		o := s.of[k]
		o.y += v
		s.of[k] = o
	}
	s.n++
	s.x += x
	weights := balanced()
	if s.last = append(s.last, stretch{x, y}); len(s.last) < len(weights) {
		return
	}
	clear(s.by)
	s.m++
	mean := 0.0
	for i, f := range s.last {
		mean += f.x / float64(len(weights))
		for k, v := range f.y {
			s.by[k] += weights[i] * v / f.x
		}
	}
	for k, d := range s.by {
		o := s.of[k]
		o.squares += mean * d * mean * d / 3.5
		s.of[k] = o
	}
	s.last = append(s.last[:0], s.last[1:]...)
}

// Executed is all that Add was told was executed.
func (s *Spread) Executed() float64 { return s.x }

// apart says that what comes does not follow what was added before.
func (s *Spread) apart() { s.last = nil }

// fewCompared is below how many comparisons nothing can be said of errors.
const fewCompared = 8

// Error is half of the interval of 95 % about what was estimated for a key, by that; part is which part was recorded. 1: nothing
// is known.
func (s *Spread) Error(key any, part float64) float64 {
	o := s.of[key]
	if o.y == 0 {
		return 0
	}
	if s.m < fewCompared {
		return 1
	}
	variance := o.squares * float64(s.n) / float64(s.m) * (1 - part)
	return math.Min(1.96*math.Sqrt(variance)/o.y, 1)
}

// frameSpread is a Spread of rows of SAMPLING, whose frames are counted in no order: the keys are functions, images, and nil for the process.
type frameSpread struct {
	Spread
	rows map[int]map[any]float64 // by number among the process's strata
}

// frame adds a frame that was counted alone.
func (s *frameSpread) frame(sum *summary, counted *tally) {
	y := s.rows[counted.row]
	if y == nil {
		if s.rows == nil {
			s.rows = make(map[int]map[any]float64)
		}
		y = make(map[any]float64)
		s.rows[counted.row] = y
	}
	counted.each(sum.proc, func(_ uint64, b *abp.Block, ins int, c abp.Counts) {
		n, img := float64(c.Instructions), sum.places.image(b)
		y[nil] += n
		y[img] += n
		y[functionKey{sum.places.function(b, ins), img}] += n
	})
}

// close sums up: of each thread the rows from the first that something was counted of to the last. Of those in between that nothing was
// counted of it is known all the same how much was executed.
func (s *frameSpread) close(strata []abp.Stratum) {
	for from := 0; from < len(strata); {
		to := from
		first, last := -1, -1
		for ; to < len(strata) && strata[to].Thread == strata[from].Thread; to++ {
			if s.rows[to] != nil {
				if last = to; first < 0 {
					first = to
				}
			}
		}
		s.apart()
		for i := first; i >= 0 && i <= last; i++ {
			s.Add(float64(strata[i].Recorded+strata[i].Passed), s.rows[i])
		}
		from = to
	}
	s.rows = nil
}

// ErrorText is an error as reports show it.
func ErrorText(e float64) string {
	if e >= 1 {
		return "?"
	}
	return fmt.Sprintf("± %.2g %%", 100*e)
}

// SampledProcess is a process of which only bursts were recorded, in what is about several.
type SampledProcess struct {
	Profile string `json:"profile"`
	Process uint32 `json:"process"`
	*SamplingReport
}

// SampledProcesses lists those of profiles that q picks.
func SampledProcesses(profiles []*abp.Profile, q abp.Query) (all []SampledProcess) {
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			if s := SamplingOf(proc); s != nil && wants(q.Processes, proc.Number()) {
				all = append(all, SampledProcess{p.Path(), proc.Number(), s})
			}
		}
	}
	return all
}
