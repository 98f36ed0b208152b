package symbols

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// dynamic is what the program headers say about the tables that the dynamic
// loader uses. They are all that is left in an image without section headers
// (in a process's memory, or stripped of them by sstrip and packers).
type dynamic struct {
	seg   Segment // PT_DYNAMIC
	ehHdr Segment // PT_GNU_EH_FRAME
	tags  map[elf.DynTag]uint64
}

// maxDynTags bounds the dynamic section; real ones have about thirty entries.
const maxDynTags = 4096

// df1PIE is DF_1_PIE of <elf.h>: linked as a program.
const df1PIE = 0x08000000

// readDynamic parses the dynamic section into tags. Of tags that repeat
// (DT_NEEDED) the last stays: nobody here asks for those.
// PIE is settled here too: only the dynamic section tells a program from a library.
func (im *Image) readDynamic() error {
	defer func() {
		flagged := im.dyn.tags[elf.DT_FLAGS_1]&df1PIE != 0
		im.PIE = im.Type == elf.ET_DYN && im.Entry != 0 && (flagged || im.Interp != "")
	}()
	if im.dyn.seg.FileSize == 0 {
		return nil
	}
	b, err := im.src.bytes(im.dyn.seg.Offset, min(im.dyn.seg.FileSize&^15, maxDynTags*16))
	if err != nil {
		return fmt.Errorf("%s: dynamic section: %w", im.Name, err)
	}
	im.dyn.tags = make(map[elf.DynTag]uint64)
	for c := (cursor{b: b}); c.left() > 0; {
		tag, value := elf.DynTag(c.u64()), c.u64()
		if tag == elf.DT_NULL {
			break
		}
		im.dyn.tags[tag] = value
	}
	return nil
}

// synthesize stands in for a missing section table with what the dynamic
// section and the program headers tell, under the usual names, so that nothing
// else has to know the difference. PLT sections can't be had in this way: their
// stubs stay nameless.
func (im *Image) synthesize() {
	if len(im.sections) > 0 {
		return
	}
	// A table that exists is trusted even where it is incomplete: mixing both would
	// list symbols twice.
	t := im.dyn.tags
	im.sections = append(im.sections, section{}) // index 0 means none, as in a real table
	str, ok := im.pointed(".dynstr", elf.DT_STRTAB, t[elf.DT_STRSZ])
	sym, ok2 := im.pointed(".dynsym", elf.DT_SYMTAB, 0)
	if ok && ok2 {
		n := im.countSymbols()
		sym.kind, sym.size, sym.entsize, sym.link = elf.SHT_DYNSYM, n*symbolSize, symbolSize, 1
		im.sections = append(im.sections, str, sym)
		// Their order is of no importance, but .dynstr has to stay at index 1, which
		// the links below refer to.
		for _, s := range []struct {
			name string
			kind elf.SectionType
			tag  elf.DynTag
			size uint64
		}{
			{".gnu.version", elf.SHT_GNU_VERSYM, elf.DT_VERSYM, n * 2},
			{".gnu.version_d", elf.SHT_GNU_VERDEF, elf.DT_VERDEF, im.toEnd(t[elf.DT_VERDEF])},
			{".rela.dyn", elf.SHT_RELA, elf.DT_RELA, t[elf.DT_RELASZ]},
			{".rela.plt", elf.SHT_RELA, elf.DT_JMPREL, t[elf.DT_PLTRELSZ]},
		} {
			if p, ok := im.pointed(s.name, s.tag, s.size); ok {
				p.kind, p.link, p.info = s.kind, 1, uint32(t[elf.DT_VERDEFNUM])
				im.sections = append(im.sections, p)
			}
		}
	}
	im.synthesizeUnwind()
}

// pointed makes a section of a table that the dynamic section points to.
func (im *Image) pointed(name string, tag elf.DynTag, size uint64) (section, bool) {
	vaddr, ok := im.dyn.tags[tag]
	if !ok {
		return section{}, false
	}
	off, ok := im.offsetOf(vaddr)
	return section{name: name, kind: elf.SHT_STRTAB, vaddr: vaddr, off: off, size: size}, ok
}

// toEnd is how many bytes of its segment's file part follow an address: the
// bound of tables that only their contents end.
func (im *Image) toEnd(vaddr uint64) uint64 {
	// In offsets rather than addresses, since those need no thought about the bias.
	off, ok := im.offsetOf(vaddr)
	if !ok {
		return 0
	}
	for _, s := range im.Segments {
		if off-s.Offset < s.FileSize {
			return s.FileSize - (off - s.Offset)
		}
	}
	return 0
}

// countSymbols finds the size of the dynamic symbol table, which nothing
// states: the old hash table has it, with the new one it is one more than the
// highest symbol that a chain reaches.
func (im *Image) countSymbols() uint64 {
	if v, ok := im.dyn.tags[elf.DT_HASH]; ok {
		if b := im.table(v, 8); b != nil {
			return im.plausible(uint64(binary.LittleEndian.Uint32(b[4:])))
		}
	}
	at, ok := im.dyn.tags[elf.DT_GNU_HASH]
	if !ok {
		return 0
	}
	// The layout: four counts, a bloom filter of 64-bit words, the first symbol of
	// each bucket, and a chain word for each hashed symbol, whose lowest bit ends a
	// bucket. Symbols before "first" are not hashed: the undefined ones.
	head := cursor{b: im.table(at, 16)}
	buckets, first, bloom := uint64(head.u32()), uint64(head.u32()), uint64(head.u32())
	if head.bad || buckets > im.toEnd(at)/4 {
		return 0
	}
	at += 16 + bloom*8
	last := uint64(0)
	for c := (cursor{b: im.table(at, buckets*4)}); c.left() >= 4; {
		last = max(last, uint64(c.u32()))
	}
	if last < first {
		return first // only undefined symbols
	}
	at += buckets*4 + (last-first)*4
	// The highest bucket start is in the highest chain; follow that to its end.
	chain := cursor{b: im.table(at, im.toEnd(at)&^3)}
	for chain.left() >= 4 && chain.u32()&1 == 0 {
		last++
	}
	return im.plausible(last + 1)
}

// plausible bounds a number of symbols by the room there is for them.
func (im *Image) plausible(n uint64) uint64 {
	return min(n, im.toEnd(im.dyn.tags[elf.DT_SYMTAB])/symbolSize)
}

// table reads n bytes at an address, nil when they aren't all there.
func (im *Image) table(vaddr, n uint64) []byte {
	off, ok := im.offsetOf(vaddr)
	if !ok || n > im.toEnd(vaddr) {
		return nil
	}
	b, err := im.src.bytes(off, n)
	if err != nil {
		return nil
	}
	return b
}

// synthesizeUnwind finds .eh_frame through its index, of which a program header
// says where it is. Where .eh_frame ends is not stated: at its terminator, at
// the latest where the segment does.
func (im *Image) synthesizeUnwind() {
	h := im.dyn.ehHdr
	if h.FileSize < 8 {
		return
	}
	im.sections = append(im.sections, section{
		name: ".eh_frame_hdr", kind: elf.SHT_PROGBITS, vaddr: h.Vaddr, off: h.Offset, size: h.FileSize,
	})
	b, err := im.src.bytes(h.Offset, min(h.FileSize, 16))
	if err != nil {
		return
	}
	// Version and three encodings, then the pointer.
	c := cursor{b: b, off: 4}
	vaddr := c.encoded(b[1], h.Vaddr, h.Vaddr)
	if off, ok := im.offsetOf(vaddr); ok && !c.bad {
		im.sections = append(im.sections, section{
			name: ".eh_frame", kind: elf.SHT_PROGBITS, vaddr: vaddr, off: off, size: im.toEnd(vaddr),
		})
	}
}
