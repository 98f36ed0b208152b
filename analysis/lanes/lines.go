package lanes

import "alleria/abp"

// Lines takes whole executions to the lines that their accesses lie in.
type Lines struct {
	Plans
	shift  uint
	sample bool
	most   uint64
	passed uint64 // accesses of which there is no key
}

// NewLines is for lines of 1 << shift bytes; nil: the processor has no lanes.
func NewLines(shift uint) *Lines {
	if !Supported() {
		return nil
	}
	return &Lines{shift: shift & 63}
}

// Add makes a block known, all of whose accesses are plain but for a base of fs, if it is not too large.
func (l *Lines) Add(b *abp.Block) {
	l.add(b, func(a *abp.Access) uint64 { return uint64(a.Size) - 1 })
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
