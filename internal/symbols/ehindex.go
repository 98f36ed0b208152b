package symbols

import (
	"encoding/binary"
	"sort"
)

// indexSorted is the table of .eh_frame_hdr that linkers make: pairs of 32-bit offsets
// from the section, the start of a function and its record, sorted (DW_EH_PE_datarel |
// DW_EH_PE_sdata4).
const indexSorted = peDatrel | peS4

// unwindSize is how long the code is that an unwind record describes which begins at an
// address, 0 if that cannot be told without reading .eh_frame from end to end, which for a
// compiler takes ten milliseconds.
func (im *Image) unwindSize(addr uint64) uint64 {
	hdr, ok := im.section(".eh_frame_hdr")
	frames, ok2 := im.section(".eh_frame")
	if !ok || !ok2 || hdr.size < 12 {
		return 0
	}
	head, err := im.src.bytes(hdr.off, 12)
	if err != nil || head[2] != peU4 || head[3] != indexSorted {
		return 0
	}
	c := cursor{b: head, off: 4}
	c.encoded(head[1], hdr.vaddr, hdr.vaddr)
	n := uint64(c.u32())
	if c.bad || n > (hdr.size-c.off)/8 {
		return 0
	}
	pair := func(i int) (start, record uint64) {
		var b [8]byte
		if got, _ := im.src.readAt(b[:], hdr.off+c.off+uint64(i)*8); got < len(b) {
			return 0, 0
		}
		return hdr.vaddr + uint64(int64(int32(binary.LittleEndian.Uint32(b[:])))),
			hdr.vaddr + uint64(int64(int32(binary.LittleEndian.Uint32(b[4:]))))
	}
	i := sort.Search(int(n), func(i int) bool { start, _ := pair(i); return start >= addr })
	if i == int(n) {
		return 0
	}
	start, record := pair(i)
	if at := record - frames.vaddr; start == addr && at < frames.size {
		return im.unwindRecord(frames, at, addr)
	}
	return 0
}

// unwindRecord reads the one record at an offset of .eh_frame, which is to begin at addr,
// and the one that says how addresses are written in it.
func (im *Image) unwindRecord(frames section, at, addr uint64) uint64 {
	const room = 64 // for what is needed of either
	read := func(off uint64) []byte {
		b := make([]byte, min(room, frames.size-off))
		n, _ := im.src.readAt(b, frames.off+off)
		return b[:n]
	}
	c := cursor{b: read(at)}
	length, id := c.u32(), uint64(c.u32())
	if c.bad || length >= 0xfffffff0 || id == 0 || id > at+4 {
		return 0
	}
	// The lengths of the pieces are not the records': they are cut off here, and what
	// is looked at lies in front.
	cie := at + 4 - id
	b := read(cie)
	if len(b) < 4 {
		return 0
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	t := unwindTable{b: b, encodings: make(map[uint64]byte)}
	enc, ok := t.encoding(0)
	start := c.encoded(enc, frames.vaddr+at, 0)
	size := c.encoded(enc&peFormat, frames.vaddr+at, 0)
	s, _ := im.segment(addr)
	if !ok || c.bad || start != addr || s.Prot&Exec == 0 {
		return 0
	}
	return min(size, s.Vaddr+s.MemSize-addr)
}
