package lanes

import "alleria/abp"

// Lines takes whole executions to the lines that their accesses lie in.
type Lines struct {
	Plans
	shift uint
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
}
