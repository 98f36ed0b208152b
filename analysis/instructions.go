package analysis

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"alleria/abp"
)

// InsCount is one instruction of a process, over all its threads.
type InsCount struct {
	Addr     uint64
	Code     []byte        // its bytes; of one version, where code was changed
	Function *abp.Function // nil: in none
	Image    *abp.Image    // nil: in none; see Code
	abp.Counts
}

// Instructions counts by instruction what q matches, in the order of addresses. progress may
// be nil. Nothing has to be decoded where frames list what they hold.
func Instructions(p *abp.Profile, proc *abp.Process, q abp.Query, progress *Progress) ([]InsCount, error) {
	s := newSummary(proc)
	s.instructions = map[Code]*InsCount{}
	_, err := eachFrame(proc, q, progress, func(threads []abp.Thread) func() frameWorker {
		all := newTallies(s, threads)
		return func() frameWorker {
			return &tallyWorker{all: all, reader: p.FrameReader(q), proc: proc, entries: picksInstructions(q), execs: picksExecutions(q), decode: q.Decode}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("instructions of %s: %w", p.Path(), err)
	}
	out := make([]InsCount, 0, len(s.instructions))
	for _, c := range s.instructions {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b InsCount) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(imageNumber(a.Image), imageNumber(b.Image)))
	})
	return out, nil
}

// Place is where it is.
func (c *InsCount) Place() Code { return Code{c.Addr, c.Image} }

// imageNumber is an image's number in its process, 0 none.
func imageNumber(img *abp.Image) uint32 {
	if img == nil {
		return 0
	}
	return img.Number
}

// instruction adds to an instruction's count.
func (s *summary) instruction(b *abp.Block, ins int, c abp.Counts) {
	k := s.places.code(b, ins)
	sum := s.instructions[k]
	if sum == nil {
		sum = &InsCount{Addr: k.Addr, Code: b.InsCode(ins), Function: s.places.function(b, ins), Image: k.Image}
		s.instructions[k] = sum
	}
	sum.Add(c, 1)
}

// Liner finds the source of an address of an image's file.
type Liner func(img *abp.Image, addr uint64) (file string, line int, ok bool)

// LineCount is one line of source, or the code of an image that has none.
type LineCount struct {
	File  string `json:"file,omitempty"` // empty: no line is known
	Line  int    `json:"line,omitempty"`
	Image string `json:"image"`
	abp.Counts
}

// ByLine sums instructions up by line, the busiest first.
func ByLine(all []InsCount, line Liner) []LineCount {
	type key struct {
		file  string
		line  int
		image *abp.Image
	}
	by := map[key]*LineCount{}
	for i := range all {
		c := &all[i]
		k := key{image: c.Image}
		if c.Image != nil {
			if file, n, ok := line(c.Image, c.Addr); ok {
				k.file, k.line = file, n
			}
		}
		sum := by[k]
		if sum == nil {
			sum = &LineCount{File: k.file, Line: k.line, Image: imageName(c.Image)}
			by[k] = sum
		}
		sum.Add(c.Counts, 1)
	}
	out := make([]LineCount, 0, len(by))
	for _, c := range by {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b LineCount) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Image, b.Image))
	})
	return out
}

// Name is a line as tables have it: the file's last parts.
func (l *LineCount) Name() string {
	if l.File == "" {
		return "[no line]"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(l.File), l.Line)
}
