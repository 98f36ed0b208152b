package abp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"alleria/abp/internal/wire"
)

// SectionType says what a section holds. Types from SectionUser on are for
// users; readers skip types that they do not know.
// Numbers are the file's: they are never used again for something else.
type SectionType uint32

// Section types.
const (
	SectionInfo          SectionType = iota + 1 // the header's strings
	SectionCPUID                                // CPUIDLeaf rows
	SectionProfile                              // one frame
	SectionBlocks                               // Block rows
	SectionWindows                              // WindowDef and WindowEvent rows
	SectionLLW                                  // Snapshot rows
	SectionInterceptors                         // captured calls
	SectionTypes                                // the configuration's types
	SectionProcessFamily                        // FamilyRow rows
	SectionImages                               // Image rows
	SectionFunctions                            // Function rows
	SectionSyscalls                             // Syscall rows
	SectionSignals                              // Signal rows
	SectionQueries                              // QueryMessage rows
	SectionSubProfiles                          // SubProfile rows
	SectionFrameIndex                           // the frames' headers again, with their places
	SectionEnd                                  // one EndInfo row
	SectionDirectory                            // where all sections are
	SectionFrameSums                            // what the frame in front does not list, see FrameSums
	SectionSampling                             // Sampling rows

	SectionUser SectionType = 0x80000000
)

// sectionNames are by number, for messages; never changed.
var sectionNames = [...]string{
	"", "INFO", "CPUID", "PROFILE", "BLOCKS", "WINDOWS", "LLW", "INTERCEPTORS", "TYPES",
	"PROCESS_FAMILY", "IMAGE_TABLE", "FUNC_TABLE", "SYSCALLS", "SIGNALS", "QUERIES",
	"SUBPROFILES", "FRAME_INDEX", "END", "DIRECTORY", "FRAME_SUMS", "SAMPLING",
}

// String returns the type's name.
func (t SectionType) String() string {
	if t > 0 && int(t) < len(sectionNames) {
		return sectionNames[t]
	}
	if t >= SectionUser {
		return fmt.Sprintf("USER+%d", uint32(t-SectionUser))
	}
	return fmt.Sprintf("TYPE %d", uint32(t))
}

// SectionFlags say how a section is stored.
// A reader must know every bit that is set: one that it does not know means that it
// cannot read the payload.
type SectionFlags uint16

// SectionZstd: the payload is one zstd frame, whose header has its decompressed
// size. PROFILE sections compress their own parts instead.
const SectionZstd SectionFlags = 1

// SectionHeaderSize is the size of the header that precedes each payload: sync
// word, type, length of the payload (uint64), CRC-32C of the payload, flags and
// a reserved uint16, a reserved uint32, and the CRC-32C of these bytes.
const SectionHeaderSize = 32

// sectionSync starts every section header, so that a scan behind a damaged one
// can find the next.
const sectionSync = 0x53504241 // "ABPS"

// Section is where a section lies.
type Section struct {
	Type   SectionType  // what it holds
	Flags  SectionFlags // how the payload is stored
	Offset uint64       // of its header in the file
	Length uint64       // of its payload
	CRC    uint32       // of its payload
}

// Payload returns the payload's place.
func (s *Section) Payload() uint64 { return s.Offset + SectionHeaderSize }

// End returns the place behind the payload.
func (s *Section) End() uint64 { return s.Payload() + s.Length }

// Errors of files that are ours, but broken.
var (
	// ErrCorrupt: bytes are not what was written.
	ErrCorrupt = errors.New("profile is corrupt")
	// ErrCutOff: the file ends before what should be there.
	ErrCutOff = errors.New("profile is cut off")
)

// AppendSection appends a section with this payload, its header included.
func AppendSection(dst []byte, t SectionType, flags SectionFlags, payload []byte) []byte {
	s := Section{Type: t, Flags: flags, Length: uint64(len(payload)), CRC: checksum(payload)}
	return append(s.appendHeader(dst), payload...)
}

// appendHeader appends the header, whose checksum covers all that precedes it.
func (s *Section) appendHeader(dst []byte) []byte {
	start := len(dst)
	e := wire.Encoder{B: dst}
	e.U32(sectionSync)
	e.U32(uint32(s.Type))
	e.U64(s.Length)
	e.U32(s.CRC)
	e.U16(uint16(s.Flags))
	e.U16(0)
	e.U32(0)
	e.U32(checksum(e.B[start:]))
	return e.B
}

// decodeHeader reads a section's header. The offset is the caller's to set.
// Errors: ErrCutOff for too few bytes, ErrCorrupt for wrong ones.
func (s *Section) decodeHeader(b []byte) error {
	if len(b) < SectionHeaderSize {
		return ErrCutOff
	}
	b = b[:SectionHeaderSize]
	if binary.LittleEndian.Uint32(b) != sectionSync ||
		binary.LittleEndian.Uint32(b[SectionHeaderSize-4:]) != checksum(b[:SectionHeaderSize-4]) {
		return fmt.Errorf("section header: %w", ErrCorrupt)
	}
	d := wire.Decoder{B: b[4:]}
	s.Type = SectionType(d.U32())
	s.Length = d.U64()
	s.CRC = d.U32()
	s.Flags = SectionFlags(d.U16())
	if s.Length > 1<<56 { // keeps sums of offsets from wrapping
		return fmt.Errorf("section of %d bytes: %w", s.Length, ErrCorrupt)
	}
	return nil
}

// The DIRECTORY section's payload is a sequence of entries of directoryEntry
// bytes; behind the section, at the file's very end, stands the trailer that
// finds it.
const (
	directoryEntry = 32
	trailerSize    = 24
	trailerMagic   = "ABPDIREC"
)

// appendDirectory repeats the sections' headers, so that finding one needs a single
// read at the end of the file and not one a section.
func appendDirectory(dst []byte, sections []Section) []byte {
	e := wire.Encoder{B: dst}
	for i := range sections {
		s := &sections[i]
		e.U32(uint32(s.Type))
		e.U16(uint16(s.Flags))
		e.U16(0)
		e.U64(s.Offset)
		e.U64(s.Length)
		e.U32(s.CRC)
		e.U32(0)
	}
	return e.B
}

// decodeDirectory reads it; whether the entries are true is not its question.
func decodeDirectory(b []byte) ([]Section, error) {
	if len(b)%directoryEntry != 0 {
		return nil, fmt.Errorf("directory of %d bytes: %w", len(b), ErrCorrupt)
	}
	sections := make([]Section, 0, len(b)/directoryEntry)
	d := wire.Decoder{B: b}
	for len(d.B) > 0 {
		s := Section{Type: SectionType(d.U32()), Flags: SectionFlags(d.U16())}
		d.U16()
		s.Offset, s.Length, s.CRC = d.U64(), d.U64(), d.U32()
		d.U32()
		sections = append(sections, s)
	}
	return sections, nil
}

// appendTrailer appends the file's last bytes: magic, offset of the DIRECTORY
// section's header, the CRC-32C of both, and a reserved uint32.
func appendTrailer(dst []byte, directory uint64) []byte {
	start := len(dst)
	e := wire.Encoder{B: append(dst, trailerMagic...)}
	e.U64(directory)
	e.U32(checksum(e.B[start:]))
	e.U32(0)
	return e.B
}

// decodeTrailer returns the DIRECTORY section's offset.
func decodeTrailer(b []byte) (directory uint64, ok bool) {
	if len(b) != trailerSize || string(b[:8]) != trailerMagic {
		return 0, false
	}
	d := wire.Decoder{B: b[8:]}
	directory = d.U64()
	sum, reserved := d.U32(), d.U32()
	return directory, sum == checksum(b[:16]) && reserved == 0
}
