package abp

import (
	"cmp"
	"slices"

	"alleria/abp/internal/wire"
)

// Sampling is a row of SAMPLING: of which share of a thread's instructions there are records, where
// it was recorded in bursts. A row is about the thread's frames from a chunk on, up to the next row's.
// Instructions are those executed while windows were open, recorded or not by what the configuration selects.
type Sampling struct {
	Thread   uint32 // number within the process
	Chunk    uint64 // FrameHeader.Chunk of the first frame that it is about
	Recorded uint64 // instructions executed within bursts
	Passed   uint64 // instructions executed between bursts
	Bursts   uint64
	// The thread overwrote its latest records, so many times and words, as nobody had made room for them.
	Lost, LostWords uint64
	// ByTime is how many of Passed are nanoseconds of processor time, each taken for an instruction: nobody
	// has counted there. Counts are then shares of time. Since 1.10.
	ByTime uint64
}

// Append appends the row to a SAMPLING section's payload.
func (r *Sampling) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Thread)
		for _, v := range [...]uint64{r.Chunk, r.Recorded, r.Passed, r.Bursts, r.Lost, r.LostWords, r.ByTime} {
			e.U64(v)
		}
	})
}

func (r *Sampling) decode(d *wire.Decoder) {
	r.Thread = d.U32()
	for _, v := range [...]*uint64{&r.Chunk, &r.Recorded, &r.Passed, &r.Bursts, &r.Lost, &r.LostWords} {
		*v = d.U64()
	}
	if len(d.B) > 0 { // since 1.10
		r.ByTime = d.U64()
	}
}

// compare orders rows by thread and chunk.
func (r *Sampling) compare(o *Sampling) int {
	return cmp.Or(cmp.Compare(r.Thread, o.Thread), cmp.Compare(r.Chunk, o.Chunk))
}

// Stratum is a row of SAMPLING with what it makes of the frames that it is about.
type Stratum struct {
	Sampling
	Words uint64 // of these frames
	// Scale is what their counts have to be multiplied by, for an estimate of all that was executed.
	Scale float64
}

// Strata returns a process's samplings by thread and chunk; none: everything was recorded.
func (p *Process) Strata() []Stratum { return p.strata }

// Scale is what the counts of a frame have to be multiplied by, for an estimate of what the thread executed;
// 1 where everything was recorded.
func (p *Process) Scale(ref *FrameRef) float64 {
	if i := p.StratumOf(ref); i >= 0 {
		return p.strata[i].Scale
	}
	return 1
}

// StratumOf is which of Strata a frame belongs to, -1 where everything was recorded.
func (p *Process) StratumOf(ref *FrameRef) int {
	at := Sampling{Thread: ref.Thread, Chunk: ref.Chunk}
	i, found := slices.BinarySearchFunc(p.strata, &at, func(s Stratum, at *Sampling) int { return s.compare(at) })
	if !found {
		i--
	}
	if i < 0 || p.strata[i].Thread != ref.Thread {
		return -1
	}
	return i
}

// scale finds the strata's scales once the frames are known.
//
// Words that were overwritten are taken to have told what the others of the stratum tell.
func (p *Process) scale() {
	p.strata = nil
	rows := p.sampling
	for i := range rows {
		if i+1 < len(rows) && rows[i].compare(&rows[i+1]) == 0 { // written again
			continue
		}
		p.strata = append(p.strata, Stratum{Sampling: rows[i]})
	}
	for i := range p.threads {
		for _, ref := range p.threads[i].Frames {
			if s := p.StratumOf(ref); s >= 0 {
				p.strata[s].Words += ref.Words
			}
		}
	}
	for i := 0; i < len(p.strata); {
		n := i + 1
		for n < len(p.strata) && p.strata[n].Thread == p.strata[i].Thread {
			n++
		}
		scaleThread(p.strata[i:n])
		i = n
	}
}

// scaleThread finds the scales of a thread's strata. Those of which more than half was overwritten are
// taken together with what follows, or behind the last with what came before: what little is left of one may be
// of anything.
func scaleThread(strata []Stratum) {
	var start []int // of groups
	open := true
	var recorded, there float64
	for i := range strata {
		if open {
			start, open, recorded, there = append(start, i), false, 0, 0
		}
		recorded += float64(strata[i].Recorded)
		there += strata[i].there()
		open = there > recorded/2
	}
	if !open && len(start) > 1 {
		start = start[:len(start)-1]
	}
	for k, from := range start {
		to := len(strata)
		if k+1 < len(start) {
			to = start[k+1]
		}
		var all, there float64
		for i := from; i < to; i++ {
			all += float64(strata[i].Recorded + strata[i].Passed)
			there += strata[i].there()
		}
		for i := from; i < to; i++ {
			strata[i].Scale = 1
			if there > 0 {
				strata[i].Scale = all / there
			}
		}
	}
}

// there is how many of the instructions in bursts there are records of.
func (s *Stratum) there() float64 {
	if s.Words == 0 {
		return 0
	}
	return float64(s.Recorded) * float64(s.Words) / float64(s.Words+s.LostWords)
}
