package emit

import (
	"cmp"
	"slices"

	"alleria/abp"
)

// frameSums adds up what of a frame's counts does not follow from how often each block
// was executed, for readers that then need not decode it.
type frameSums struct {
	by   map[sumKey]*abp.Counts
	cuts map[sumKey]uint64
	last *abp.Counts // of lastKey, to which the next mostly belongs too
	key  sumKey
}

// sumKey is an instruction of a block, or a number of completed ones.
type sumKey struct {
	block uint32
	ins   int
}

// dynamic adds accesses of an instruction whose number or size its words told.
func (s *frameSums) dynamic(block uint32, ins int, c abp.Counts) {
	k := sumKey{block, ins}
	if s.last == nil || s.key != k {
		sum := s.by[k]
		if sum == nil {
			sum = new(abp.Counts)
			if s.by == nil {
				s.by = make(map[sumKey]*abp.Counts)
			}
			s.by[k] = sum
		}
		s.last, s.key = sum, k
	}
	s.last.Add(c, 1)
}

// cut adds an execution that was cut behind so many instructions.
func (s *frameSums) cut(block uint32, completed int) {
	if s.cuts == nil {
		s.cuts = make(map[sumKey]uint64)
	}
	s.cuts[sumKey{block, completed}]++
}

// rows are the sums by block and instruction, so that equal frames make equal files; nil
// if there are none.
func (s *frameSums) rows() *abp.FrameSums {
	if len(s.by)+len(s.cuts) == 0 {
		return nil
	}
	out := &abp.FrameSums{}
	for k, c := range s.by {
		if *c != (abp.Counts{}) {
			out.Dynamic = append(out.Dynamic, abp.DynamicSum{Block: k.block, Ins: uint16(k.ins), Counts: *c})
		}
	}
	for k, n := range s.cuts {
		out.Cuts = append(out.Cuts, abp.CutSum{Block: k.block, Completed: uint16(k.ins), Execs: n})
	}
	slices.SortFunc(out.Dynamic, func(a, b abp.DynamicSum) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Ins, b.Ins))
	})
	slices.SortFunc(out.Cuts, func(a, b abp.CutSum) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Completed, b.Completed))
	})
	return out
}
