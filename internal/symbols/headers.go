package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// The headers are parsed here and not by debug/elf, because debug/elf refuses
// files that the kernel runs (a damaged section table), reads every section
// header before it answers, and makes a string and a struct for every symbol:
// 8 ms and 6 MB for the C library's debug file, of which a tenth is needed.
// debug/elf still supplies the constants, and the sections that debug/dwarf
// wants.

const (
	headerSize  = 64 // of ELF64
	segmentSize = 56
	sectionSize = 64

	// maxSections bounds the table of an image whose size is not known.
	maxSections = 1 << 16
	// maxInterp is the kernel's own limit for the path in PT_INTERP.
	maxInterp = 4096
	// maxNotes bounds what is searched for a build-id.
	maxNotes = 1 << 20
	// pnXnum in e_phnum says that the count is in the first section header.
	// The kernel does not know it, so a program cannot have it.
	pnXnum = 0xffff
)

// header is what is needed of the ELF file header.
// Counts are as they stand in the file: what they say may be false.
type header struct {
	phoff, shoff              uint64
	phnum, shnum, shsize, str uint16
}

// section is an entry of the section table, or of the stand-in for one.
type section struct {
	name       string
	nameOff    uint32 // where the name is in the table of section names
	kind       elf.SectionType
	flags      uint64
	vaddr      uint64
	off, size  uint64
	link, info uint32
	entsize    uint64
}

// checkIdent judges the first bytes of a file: is it an ELF file that this
// processor runs in 64-bit mode. Like the kernel it goes by the machine and the
// size of a program header and does not look at the bytes for class and byte
// order, which some packers falsify to keep debuggers off.
//
// The order of the cases decides which reason a file is refused for: that it is for 32
// bits says more than that its headers are odd.
func checkIdent(b []byte) error {
	if len(b) < headerSize || !bytes.Equal(b[:4], []byte(elf.ELFMAG)) {
		return ErrNotExecutable
	}
	machine := elf.Machine(binary.LittleEndian.Uint16(b[18:]))
	size, count := binary.LittleEndian.Uint16(b[54:]), binary.LittleEndian.Uint16(b[56:])
	switch {
	case machine == elf.EM_386:
		return fmt.Errorf("%w (i386)", Err32Bit)
	case machine == elf.EM_X86_64 && size == 32:
		return fmt.Errorf("%w (x32)", Err32Bit)
	case machine == elf.EM_X86_64 && size != segmentSize && count != 0:
		return fmt.Errorf("%w (program headers of %d bytes)", ErrNotExecutable, size)
	case machine == elf.EM_X86_64:
		return nil
	case elf.Data(b[elf.EI_DATA]) == elf.ELFDATA2MSB:
		machine = elf.Machine(binary.BigEndian.Uint16(b[18:]))
	}
	return fmt.Errorf("%w (%s)", ErrForeign, machineName(machine))
}

// machineName gives an architecture the name that uname -m has for it where
// debug/elf's constant does not tell.
func machineName(m elf.Machine) string {
	if m == elf.EM_AARCH64 {
		return "aarch64"
	}
	if s := m.String(); strings.HasPrefix(s, "EM_") {
		return strings.ToLower(s[3:])
	}
	return fmt.Sprintf("machine %d", m)
}

// readHeader parses the file header into the image and the rest for the others.
func (im *Image) readHeader() (header, error) {
	// An empty file is not an error of reading but no program.
	var b [headerSize]byte
	n, err := im.src.readAt(b[:], 0)
	if n == 0 && err != nil && im.src.size != 0 {
		return header{}, err
	}
	if err := checkIdent(b[:n]); err != nil {
		return header{}, err
	}
	c := cursor{b: b[:], off: 16}
	im.Type = elf.Type(c.u16())
	c.take(2 + 4) // machine, version
	im.Entry = c.u64()
	h := header{phoff: c.u64(), shoff: c.u64()}
	c.take(4 + 2) // flags, size of this header
	c.take(2)     // size of a program header, checked above
	h.phnum = c.u16()
	h.shsize, h.shnum, h.str = c.u16(), c.u16(), c.u16()
	return h, nil
}

// readSegments parses the program headers: without them there is no image, so
// this is the part whose damage is an error. A debug file has them too.
//
// The kernel refuses what is refused here; everything else, such as overlapping
// segments, it runs.
func (im *Image) readSegments(h header) error {
	if h.phnum == 0 {
		return nil // an object file; Classify refuses it, its symbols are readable
	}
	if h.phnum == pnXnum {
		return fmt.Errorf("%w: more program headers than the kernel takes", ErrNotExecutable)
	}
	b, err := im.src.bytes(h.phoff, uint64(h.phnum)*segmentSize)
	if err != nil {
		return fmt.Errorf("%w: program headers: %w", ErrNotExecutable, err)
	}
	for c := (cursor{b: b}); c.left() > 0; {
		kind, flags := elf.ProgType(c.u32()), elf.ProgFlag(c.u32())
		s := Segment{Offset: c.u64(), Vaddr: c.u64()}
		c.take(8) // physical address
		s.FileSize, s.MemSize = c.u64(), c.u64()
		c.take(8) // alignment
		im.addSegment(kind, flags, s)
	}
	return nil
}

// addSegment takes in one program header.
// PT_LOAD must be in the order of addresses by the standard; the kernel maps any
// order, and nothing here depends on it.
func (im *Image) addSegment(kind elf.ProgType, flags elf.ProgFlag, s Segment) {
	switch kind {
	case elf.PT_LOAD:
		if s.MemSize < s.FileSize {
			s.FileSize = s.MemSize // the kernel refuses it; reading past is worse
		}
		if s.Vaddr+s.MemSize < s.Vaddr || s.MemSize == 0 {
			return
		}
		s.Prot = protOf(flags)
		im.Segments = append(im.Segments, s)
	case elf.PT_INTERP:
		if b, err := im.src.bytes(s.Offset, min(s.FileSize, maxInterp)); err == nil {
			b, _, _ = bytes.Cut(b, []byte{0})
			im.Interp = string(b)
		}
	// Several note segments are usual; the build-id is in one of them.
	case elf.PT_NOTE:
		if b, err := im.src.bytes(s.Offset, min(s.FileSize, maxNotes)); err == nil && im.BuildID == "" {
			im.BuildID = parseBuildID(b)
		}
	case elf.PT_DYNAMIC:
		im.Dynamic = true
		im.dyn.seg = s
	// Found again by dynamic.go should the section table be missing.
	case elf.PT_GNU_EH_FRAME:
		im.dyn.ehHdr = s
	}
}

// protOf translates ELF's bits, which run the other way round.
func protOf(flags elf.ProgFlag) (p Prot) {
	if flags&elf.PF_R != 0 {
		p |= Read
	}
	if flags&elf.PF_W != 0 {
		p |= Write
	}
	if flags&elf.PF_X != 0 {
		p |= Exec
	}
	return p
}

// readSections parses the section table, if there is one.
//
// An error leaves the image usable: names and bounds then come from the dynamic section
// and the program headers, see synthesize.
func (im *Image) readSections(h header) error {
	// Packers and hand-made programs have none, or nonsense; the kernel never looks.
	if h.shoff == 0 || h.shsize != sectionSize {
		return nil
	}
	n := uint64(h.shnum)
	str := uint64(h.str)
	first, err := im.src.bytes(h.shoff, sectionSize)
	if err != nil {
		// An image in a process's memory ends before the section table.
		if im.src.size < 0 {
			return nil
		}
		return fmt.Errorf("%s: section table: %w", im.Name, err)
	}
	// Counts that don't fit 16 bits are in the first entry.
	zero := parseSection(&cursor{b: first})
	if n == 0 {
		n = zero.size
	}
	if str == uint64(elf.SHN_XINDEX) {
		str = uint64(zero.link)
	}
	if n > maxSections && (im.src.size < 0 || n > uint64(im.src.size)/sectionSize) {
		return fmt.Errorf("%s: section table of %d entries: %w", im.Name, n, errTruncated)
	}
	b, err := im.src.bytes(h.shoff, n*sectionSize)
	if err != nil {
		return fmt.Errorf("%s: section table: %w", im.Name, err)
	}
	im.sections = make([]section, 0, n)
	for c := (cursor{b: b}); c.left() > 0; {
		im.sections = append(im.sections, parseSection(&c))
	}
	return im.nameSections(str)
}

// parseSection reads one entry; its name is set by nameSections.
func parseSection(c *cursor) section {
	s := section{nameOff: c.u32(), kind: elf.SectionType(c.u32()), flags: c.u64(), vaddr: c.u64()}
	s.off, s.size, s.link, s.info = c.u64(), c.u64(), c.u32(), c.u32()
	c.take(8) // alignment
	s.entsize = c.u64()
	return s
}

// nameSections replaces offsets by names.
func (im *Image) nameSections(str uint64) error {
	// Sections without names are useless here but harmless, so they are kept, and
	// what follows behaves as in an image without the ones it asks for.
	var names []byte
	var err error
	if str < uint64(len(im.sections)) {
		names, err = im.src.bytes(im.sections[str].off, im.sections[str].size)
	}
	for i := range im.sections {
		if off := uint64(im.sections[i].nameOff); off < uint64(len(names)) {
			b, _, _ := bytes.Cut(names[off:], []byte{0})
			im.sections[i].name = string(b)
			im.golang = im.golang || bytes.HasSuffix(b, []byte(goTableSection))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: section names: %w", im.Name, err)
	}
	return nil
}

// section finds the first section of a name that has contents in this file: a
// separate debug file lists the program's sections without them.
// Of two sections of one name, which a linker script may make, the first serves.
func (im *Image) section(name string) (section, bool) {
	for _, s := range im.sections {
		if s.name == name && s.kind != elf.SHT_NOBITS {
			return s, true
		}
	}
	return section{}, false
}

// HasSection tells whether the file lists a section of that name; separate debug files are not looked at.
func (im *Image) HasSection(name string) bool {
	return slices.ContainsFunc(im.sections, func(s section) bool { return s.name == name })
}

// contents reads a section.
// It is read anew each time: who needs it twice keeps it.
func (im *Image) contents(s section) ([]byte, error) {
	b, err := im.src.bytes(s.off, s.size)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", im.Name, s.name, err)
	}
	return b, nil
}

// buildIDFromSections serves files whose notes no segment covers: kernels'
// and debug files' of some tool chains.
func (im *Image) buildIDFromSections() {
	s, ok := im.section(".note.gnu.build-id")
	if !ok || s.size > maxNotes {
		return
	}
	if b, err := im.contents(s); err == nil {
		im.BuildID = parseBuildID(b)
	}
}
