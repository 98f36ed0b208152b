package convert

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"alleria/abp"
	"alleria/analysis"
)

// drcovFormat is version 2 of DynamoRIO's coverage format, which Lighthouse, bncov, Ghidra's and
// Binary Ninja's plugins read.
func drcovFormat() *Format {
	return &Format{
		Name: "drcov", Ending: ".drcov.log", Split: SplitProcess, Binary: true,
		Summary: "drcov version 2 for Lighthouse and other coverage viewers: which code was executed",
		Needs:   "every instruction (--select any)",
		write:   writeDrcov,
	}
}

// drcovBlock is a stretch of executed code: offset from its module, size, and the module.
type drcovBlock struct {
	start  uint32
	size   uint16
	module uint16
}

// writeDrcov writes one process.
func writeDrcov(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, p := range o.processes() {
		blocks, left, err := o.drcovBlocks(p)
		if err != nil {
			return err
		}
		if left > 0 {
			o.Note("%d pieces of code in no image are left out: drcov has no place for them", left)
		}
		images := p.Images()
		fmt.Fprintf(out, "DRCOV VERSION: 2\nDRCOV FLAVOR: alleria\nModule Table: version 2, count %d\nColumns: id, base, end, entry, path\n", len(images))
		for i := range images {
			low, high := bounds(&images[i])
			fmt.Fprintf(out, "%3d, %#016x, %#016x, %#016x, %s\n", i, low, high, 0, analysis.Printable(images[i].Path))
		}
		fmt.Fprintf(out, "BB Table: %d bbs\n", len(blocks))
		for _, b := range blocks {
			_ = binary.Write(out, binary.LittleEndian, b) // the error waits for Flush
		}
	}
	return out.Flush()
}

// bounds returns where an image begins and ends.
func bounds(img *abp.Image) (low, high uint64) {
	for i, s := range img.Segments {
		if i == 0 || s.Start < low {
			low = s.Start
		}
		high = max(high, s.End)
	}
	return low, high
}

// drcovBlocks lists the executed pieces of a process's blocks, without gaps in each, by module
// and address. left is how many are in no image.
func (o *Options) drcovBlocks(p *abp.Process) (list []drcovBlock, left int, err error) {
	places := analysis.NewPlaces(p)
	numbers := map[*abp.Image]int{}
	for i := range p.Images() {
		numbers[&p.Images()[i]] = i
	}
	ran := map[*abp.Block][]bool{}
	err = analysis.EachCount(o.Profile, p, o.Query, o.Progress, func(c *analysis.InsSum) {
		if ran[c.Block] == nil {
			ran[c.Block] = make([]bool, len(c.Block.Ins))
		}
		ran[c.Block][c.Ins] = true
	})
	seen := map[drcovBlock]bool{}
	lost := map[uint64]bool{}
	for b, which := range ran {
		img := places.Image(b)
		pieces(b, which, func(addr, size uint64) {
			if img == nil {
				lost[addr] = true
				return
			}
			low, _ := bounds(img)
			seen[drcovBlock{uint32(addr - low), uint16(size), uint16(numbers[img])}] = true
		})
	}
	for b := range seen {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b drcovBlock) int {
		return cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(a.start, b.start), cmp.Compare(a.size, b.size))
	})
	return list, len(lost), err
}

// pieces calls f for each stretch of instructions that ran and lie behind one another.
func pieces(b *abp.Block, ran []bool, f func(addr, size uint64)) {
	from, to := uint64(0), uint64(0)
	for i := range b.Ins {
		addr, n := b.InsAddr(i), uint64(b.Ins[i].Len)
		if ran[i] && to == addr && to > from && to+n-from < 1<<16 {
			to += n
			continue
		}
		if to > from {
			f(from, to-from)
		}
		from, to = 0, 0
		if ran[i] {
			from, to = addr, addr+n
		}
	}
	if to > from {
		f(from, to-from)
	}
}
