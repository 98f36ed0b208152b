package abp

import (
	"errors"
	"fmt"
)

// findSections fills f.sections from the directory at the end, or by a scan
// where there is none (the run was cut off) or where it is damaged.
//
// The scan is the slow way, one small read a section, and the only one when the
// recorder was killed: such a file is to be readable up to its last whole section.
func (f *File) findSections() error {
	if f.readDirectory() == nil {
		return nil
	}
	f.rebuilt = true
	var err error
	f.sections, f.leftover, err = f.scan()
	return err
}

// readDirectory reads the directory that the trailer points at. Any error means
// the same to the caller: scan instead.
// It must end exactly where the trailer begins: bytes between them mean that
// something was appended later, and then a scan knows better.
func (f *File) readDirectory() error {
	if f.size < HeaderSize+trailerSize {
		return ErrCutOff
	}
	trailer := make([]byte, trailerSize)
	if err := f.readAt(trailer, f.size-trailerSize); err != nil {
		return err
	}
	at, ok := decodeTrailer(trailer)
	if !ok {
		return ErrCutOff
	}
	s, err := f.sectionAt(at)
	if err != nil {
		return err
	}
	if s.Type != SectionDirectory || s.End() != f.size-trailerSize {
		return fmt.Errorf("directory: %w", ErrCorrupt)
	}
	payload, err := f.readPayload(&s, nil)
	if err != nil {
		return err
	}
	sections, err := decodeDirectory(payload)
	if err != nil {
		return err
	}
	for i := range sections {
		// Bounds only: whether each entry is true is found when it is read, and
		// by Verify.
		if s := &sections[i]; s.Offset > f.size || s.Length > f.size || s.End() > f.size {
			return fmt.Errorf("directory entry %d: %w", i, ErrCorrupt)
		}
	}
	f.sections = sections
	return nil
}

// sectionAt reads the section header at that place. Whether the payload is all
// there is the caller's to ask.
func (f *File) sectionAt(off uint64) (Section, error) {
	s := Section{Offset: off}
	var b [SectionHeaderSize]byte
	if err := f.readAt(b[:], off); err != nil {
		return s, err
	}
	return s, s.decodeHeader(b[:])
}

// scan walks the sections from the first to the last complete one. The last
// one's checksum is verified, because what a crash of the whole machine leaves
// behind may have the right length and the wrong bytes; those before it are
// verified when they are read.
//
// A damaged header ends the walk, although a search for the next sync word could go on
// behind it: what was lost between would go unnoticed, and Verify is there to say where
// the damage is. leftover is what remains unread.
func (f *File) scan() (sections []Section, leftover uint64, err error) {
	at := uint64(HeaderSize)
	for at < f.size {
		s, err := f.sectionAt(at)
		if err != nil && !errors.Is(err, ErrCutOff) && !errors.Is(err, ErrCorrupt) {
			return nil, 0, err
		}
		if err != nil || s.End() > f.size {
			break
		}
		// Sections behind a directory cannot be: it comes last.
		if s.Type == SectionDirectory {
			break // its trailer was cut or damaged
		}
		sections = append(sections, s)
		at = s.End()
	}
	if n := len(sections); n > 0 {
		if _, err := f.readPayload(&sections[n-1], nil); errors.Is(err, ErrCorrupt) {
			at = sections[n-1].Offset
			sections = sections[:n-1]
		} else if err != nil {
			return nil, 0, err
		}
	}
	return sections, f.size - at, nil
}

// readFrameHeaders fills f.frames from the index, or from the frames themselves
// where there is none.
// The index is read before any frame so that opening a file of many gigabytes reads
// kilobytes.
func (f *File) readFrameHeaders() error {
	for i := range f.sections {
		if f.sections[i].Type == SectionFrameIndex {
			payload, err := f.ReadSection(i, nil)
			if err != nil {
				return err
			}
			return f.decodeFrameIndex(payload)
		}
	}
	// Without an index each frame is asked: one small read a frame, the payloads
	// are skipped.
	head := make([]byte, FrameHeaderSize)
	for i := range f.sections {
		s := &f.sections[i]
		if s.Type != SectionProfile {
			continue
		}
		ref := FrameRef{File: f, Section: i}
		err := error(ErrCorrupt)
		if s.Length >= FrameHeaderSize {
			if err = f.readAt(head, s.Payload()); err == nil {
				_, err = ref.decode(head)
			}
		}
		if err != nil {
			return fmt.Errorf("frame at offset %d: %w", s.Offset, err)
		}
		f.frames = append(f.frames, ref)
	}
	return nil
}

// decodeFrameIndex takes the headers from the index.
//
// The FRAME_INDEX section's payload is a sequence of frame headers, one for
// each PROFILE section of the file, in their order.
func (f *File) decodeFrameIndex(payload []byte) error {
	n := 0
	for i := range f.sections {
		if f.sections[i].Type != SectionProfile {
			continue
		}
		ref := FrameRef{File: f, Section: i}
		if len(payload) < (n+1)*FrameHeaderSize {
			return fmt.Errorf("frame index: %w", ErrCorrupt)
		}
		if _, err := ref.decode(payload[n*FrameHeaderSize:]); err != nil {
			return fmt.Errorf("frame index: %w", err)
		}
		f.frames = append(f.frames, ref)
		n++
	}
	if len(payload) != n*FrameHeaderSize {
		return fmt.Errorf("frame index: %w", ErrCorrupt)
	}
	return nil
}
