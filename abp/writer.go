package abp

import (
	"fmt"
	"io"
)

// Writer appends sections to one file. It does not lock and does not buffer:
// a section is handed to the file in one write, so that whatever ends the
// recorder leaves whole sections behind.
//
// After an error the file is left as it is: everything up to Size is whole. There is no
// way to change what was written, by design of the format.
type Writer struct {
	w        io.Writer
	sections []Section
	index    []byte // frame headers, for FRAME_INDEX
	size     uint64 // of whole sections
	buf      []byte
	err      error // the first error; the file is left alone after it
}

// NewWriter writes the header and returns a Writer for what follows.
// The header must be final: nothing of it is written again. What is only known at
// the end is END's.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	out := &Writer{w: w}
	out.put(h.AppendFixed(nil))
	if out.err != nil {
		return nil, fmt.Errorf("profile header: %w", out.err)
	}
	if err := out.Section(SectionInfo, 0, h.AppendInfo(nil)); err != nil {
		return nil, err
	}
	return out, nil
}

// put writes, unless something went wrong before.
func (w *Writer) put(b []byte) {
	if w.err != nil {
		return
	}
	if _, w.err = w.w.Write(b); w.err == nil {
		w.size += uint64(len(b))
	}
}

// Size returns how many bytes the file has up to its last whole section. What a
// failed write left behind it may be cut off.
// It is what limits on a profile's size are compared with.
func (w *Writer) Size() uint64 { return w.size }

// Section appends a section.
// The payload is copied, and may be used again by the caller.
func (w *Writer) Section(t SectionType, flags SectionFlags, payload []byte) error {
	if w.err != nil {
		return w.err
	}
	s := Section{Type: t, Flags: flags, Offset: w.size, Length: uint64(len(payload)), CRC: checksum(payload)}
	w.buf = append(s.appendHeader(w.buf[:0]), payload...)
	w.put(w.buf)
	if w.err != nil {
		return fmt.Errorf("%s section: %w", t, w.err)
	}
	w.sections = append(w.sections, s)
	return nil
}

// FrameRoom is how many bytes Frame wants in front of a body, for headers.
const FrameRoom = SectionHeaderSize + FrameHeaderSize

// Frame appends a PROFILE section: a frame's header and its encoded body; and behind it, if
// sums has anything to say, a FRAME_SUMS section, in the same write. sums may be nil.
//
// body has FrameRoom bytes in front of what an encoder made, which are written here: bodies are
// megabytes, and copying one behind its headers would take its memory twice. Bytes may also be appended
// to it. It may be used again afterwards.
func (w *Writer) Frame(h *FrameHeader, body []byte, sums *FrameSums) error {
	if w.err != nil {
		return w.err
	}
	h.Append(body[:SectionHeaderSize])
	payload := body[SectionHeaderSize:]
	s := Section{Type: SectionProfile, Offset: w.size, Length: uint64(len(payload)), CRC: checksum(payload)}
	s.appendHeader(body[:0])
	added := []Section{s}
	buf := body
	if sums != nil {
		sums.Thread, sums.Seq = h.Thread, h.Seq
		if rows := sums.Append(nil); len(rows) > 0 {
			t := Section{Type: SectionFrameSums, Offset: s.End(), Length: uint64(len(rows)), CRC: checksum(rows)}
			buf = append(t.appendHeader(buf), rows...)
			added = append(added, t)
		}
	}
	w.index = append(w.index, body[SectionHeaderSize:FrameRoom]...)
	w.put(buf)
	if w.err != nil {
		return fmt.Errorf("%s section: %w", s.Type, w.err)
	}
	w.sections = append(w.sections, added...)
	return nil
}

// Finish appends the index of the frames, the END section, the directory and
// the trailer. The caller closes the file.
// A Writer that was finished is not used again.
func (w *Writer) Finish(end *EndInfo) error {
	if len(w.index) > 0 {
		if err := w.Section(SectionFrameIndex, 0, w.index); err != nil {
			return err
		}
	}
	if err := w.Section(SectionEnd, 0, end.Append(nil)); err != nil {
		return err
	}
	at := w.size
	buf := AppendSection(nil, SectionDirectory, 0, appendDirectory(nil, w.sections))
	w.put(appendTrailer(buf, at))
	if w.err != nil {
		return fmt.Errorf("directory: %w", w.err)
	}
	return nil
}
