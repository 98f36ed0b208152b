package lanes

import "alleria/abp"

// Lines takes whole executions to the lines that their accesses lie in.
type Lines struct {
	Plans
	shift  uint
	sample bool
	most   uint64
	passed uint64 // accesses of which there is no key
	counts bool
	runs   []uint64 // by block: executions that were counted
}

// NewLines is for lines of 1 << shift bytes; nil: the processor has no lanes.
func NewLines(shift uint) *Lines {
	if !Supported() {
		return nil
	}
	return &Lines{shift: shift & 63}
}

// Add makes a block known, all of whose accesses are plain, if it is not too large.
func (l *Lines) Add(b *abp.Block) {
	l.add(b, func(a *abp.Access) uint64 { return uint64(a.Size) - 1 })
	l.runs = append(l.runs, make([]uint64, max(len(l.plans)-len(l.runs), 0))...)
}

// Count says whether Run counts executions by block: it does not from the start.
func (l *Lines) Count(on bool) { l.counts = on }

// Ran counts an execution that Run has left to its caller.
func (l *Lines) Ran(id uint32) {
	if n := int(id) + 1 - len(l.runs); n > 0 {
		l.runs = append(l.runs, make([]uint64, n)...)
	}
	l.runs[id]++
}

// Runs calls f for blocks of which executions were counted.
func (l *Lines) Runs(f func(id uint32, times uint64)) {
	for id, n := range l.runs {
		if n > 0 {
			f(uint32(id), n)
		}
	}
}

// Sample has Run give keys of lines alone whose hash is not more than most.
func (l *Lines) Sample(most uint64) { l.sample, l.most = true, most }

// Passed is how many accesses there were since it was asked last of which there is no key.
func (l *Lines) Passed() uint64 {
	n := l.passed
	l.passed = 0
	return n
}

// hashFactor is what Hash is made of.
const hashFactor = 0x5851f42d

// Hash is a hash of a line's number. Its upper bits depend on all of the number, and are for thresholds; the lowest are few numbers' alone, as it is a square. A program's threads leave
// out by it what accesses no line of a sample (translate.LineHash).
func Hash(line uint64) uint64 {
	line *= hashFactor
	return line * line
}
