package abp

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"alleria/abp/internal/wire"
)

// File is one open .abp file. Any number of goroutines may read it.
// Only reads at given places are used, so that goroutines need not take turns.
type File struct {
	path     string
	r        io.ReaderAt
	closer   io.Closer
	size     uint64
	header   Header
	sections []Section
	end      *EndInfo
	rebuilt  bool // the directory was rebuilt by a scan
	leftover uint64
	frames   []FrameRef // by place in the file
}

// FrameRef is a frame's header and its place in its file.
// References are into the file's own list, and stay good until it is closed.
type FrameRef struct {
	FrameHeader
	File    *File // that the frame is in
	Section int   // index in File.Sections
}

// maxPayload bounds what a table section may decompress to.
// It is far above any table met and keeps a damaged size from exhausting memory.
const maxPayload = 1 << 31

// OpenFile opens one file by itself: header, sections and frame headers, no
// tables.
//
// Errors: those of the file system; ErrNotProfile, ErrVersion for a file that is none
// or of another major version; ErrCutOff for one that has not even a header; ErrCorrupt.
// A file that merely lacks its end opens without one, see Complete.
func OpenFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open profile: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open profile: %w", errors.Join(err, f.Close()))
	}
	file, err := newFile(path, f, uint64(st.Size()))
	if err != nil {
		return nil, fmt.Errorf("open profile %s: %w", path, errors.Join(err, f.Close()))
	}
	file.closer = f
	return file, nil
}

// newFile reads what is needed to find everything else.
// The order is that of dependence: sections need the header's version, everything
// else the sections.
func newFile(path string, r io.ReaderAt, size uint64) (*File, error) {
	f := &File{path: path, r: r, size: size}
	fixed := make([]byte, HeaderSize)
	if err := f.readAt(fixed, 0); err != nil {
		return nil, err
	}
	if err := f.header.decodeFixed(fixed); err != nil {
		return nil, err
	}
	if err := f.findSections(); err != nil {
		return nil, err
	}
	if err := f.readSmall(); err != nil {
		return nil, err
	}
	if err := f.readFrameHeaders(); err != nil {
		return nil, err
	}
	f.completeHeader()
	return f, nil
}

// Close closes the file.
// Readers of the profile must be done.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Path returns the path that the file was opened by.
func (f *File) Path() string { return f.path }

// Header returns the file's header.
func (f *File) Header() *Header { return &f.header }

// Sections returns the file's sections in the order of their places, without
// the directory itself.
func (f *File) Sections() []Section { return f.sections }

// Frames returns the file's frames in the order of their places.
func (f *File) Frames() []FrameRef { return f.frames }

// Complete reports whether the file was closed in order. Otherwise its
// directory was rebuilt and what came last may be missing.
func (f *File) Complete() bool { return !f.rebuilt && f.end != nil }

// Leftover returns how many bytes behind the last complete section are unusable.
func (f *File) Leftover() uint64 { return f.leftover }

// readAt fills b from that place, or fails with ErrCutOff.
func (f *File) readAt(b []byte, off uint64) error {
	// Against the size at opening: a file that grows while it is read shows what
	// it was, and one that shrinks yields errors, not torn tables.
	if off > f.size || uint64(len(b)) > f.size-off {
		return fmt.Errorf("%d bytes at offset %d: %w", len(b), off, ErrCutOff)
	}
	if _, err := f.r.ReadAt(b, int64(off)); err != nil {
		return fmt.Errorf("read at offset %d: %w", off, err)
	}
	return nil
}

// ReadSection returns the payload of section i, checked and decompressed,
// appended to buf[:0] if it fits there.
// An uncompressed payload may be buf itself; a compressed one never is.
func (f *File) ReadSection(i int, buf []byte) ([]byte, error) {
	s := &f.sections[i]
	raw, err := f.readPayload(s, buf)
	if err != nil || s.Flags&SectionZstd == 0 {
		return raw, err
	}
	out, err := decompress(raw)
	if err != nil {
		return nil, fmt.Errorf("%s section at offset %d: %w: %w", s.Type, s.Offset, ErrCorrupt, err)
	}
	return out, nil
}

// readPayload returns a section's bytes as stored, after checking them.
// The checksum is verified at every read: memory between disk and here is not
// trusted any longer than needed, and CRC-32C costs less than the read.
func (f *File) readPayload(s *Section, buf []byte) ([]byte, error) {
	// Before anything is allocated: a damaged directory must not exhaust memory.
	if s.Length > f.size {
		return nil, fmt.Errorf("%s section at offset %d: %w", s.Type, s.Offset, ErrCutOff)
	}
	if uint64(cap(buf)) < s.Length {
		buf = make([]byte, s.Length)
	}
	buf = buf[:s.Length]
	if err := f.readAt(buf, s.Payload()); err != nil {
		return nil, err
	}
	if checksum(buf) != s.CRC {
		return nil, fmt.Errorf("%s section at offset %d: checksum: %w", s.Type, s.Offset, ErrCorrupt)
	}
	return buf, nil
}

// decompress decompresses a table section. A decoder is made for each: tables
// are few, and one kept for all would have to be guarded.
func decompress(b []byte) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(b, nil)
}

// readSmall reads the INFO and END sections.
func (f *File) readSmall() error {
	for i := range f.sections {
		var put func(uint16, *wire.Decoder)
		switch f.sections[i].Type {
		case SectionInfo:
			put = func(_ uint16, d *wire.Decoder) { f.header.decodeInfo(d) }
		case SectionEnd:
			put = func(_ uint16, d *wire.Decoder) {
				f.end = new(EndInfo)
				f.end.decode(d)
			}
		default:
			continue
		}
		payload, err := f.ReadSection(i, nil)
		if err != nil {
			return err
		}
		if err := eachRow(payload, put); err != nil {
			return fmt.Errorf("%s section: %w: %w", f.sections[i].Type, ErrCorrupt, err)
		}
	}
	return nil
}

// completeHeader fills in what the fixed header could not know when it was
// written.
func (f *File) completeHeader() {
	h := &f.header
	if f.end != nil {
		h.Ended = fromUnixNano(uint64(f.end.Ended))
		h.Counts = f.end.Counts
		if f.end.HighestAddr != 0 {
			h.LowestAddr, h.HighestAddr = f.end.LowestAddr, f.end.HighestAddr
		}
		return
	}
	// A run that was cut off: what the frames say is all there is.
	var last uint64
	for i := range f.frames {
		h.Counts.Add(f.frames[i].Counts, 1)
		last = max(last, f.frames[i].LastTSC)
	}
	if last != 0 {
		h.Ended = h.TimeOf(last)
	}
}
