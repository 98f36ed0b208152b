package abp

import (
	"encoding/binary"
	"fmt"

	"alleria/abp/internal/wire"
)

// A table section's payload is a sequence of rows. A row is its kind (uint16),
// two reserved bytes, the length of its fields (uint32) and the fields. Fields
// are only ever added at the end, so that an old reader stops early and a new
// one knows from the length what an old writer left out.
const (
	rowHeader = 8
	// rowPlain is the kind of the rows of a table that has only one.
	rowPlain = 1
	// rowChange is the kind of those of LLW that tell what is different since the row before; rowPlain is a whole snapshot.
	rowChange = 2
	// Rows of WINDOWS.
	rowWindowDef   = 1
	rowWindowEvent = 2
)

// encodeRow appends one row whose fields put writes. The length is filled in afterwards:
// rows are short and a second pass over their fields would say the same twice.
func encodeRow(e *wire.Encoder, kind uint16, put func(*wire.Encoder)) {
	start := len(e.B)
	e.U16(kind)
	e.U16(0)
	e.U32(0)
	put(e)
	binary.LittleEndian.PutUint32(e.B[start+4:], uint32(len(e.B)-start-rowHeader))
}

// appendRow appends one row to a section's payload.
func appendRow(dst []byte, kind uint16, put func(*wire.Encoder)) []byte {
	e := wire.Encoder{B: dst}
	encodeRow(&e, kind, put)
	return e.B
}

// eachRow calls f for every row of a table section's payload. f ignores kinds
// that it does not know.
// The first error ends it, with the number of the row. A row's decoder cannot reach
// into the next one, whatever its lengths claim.
func eachRow(payload []byte, f func(kind uint16, d *wire.Decoder)) error {
	for n := 0; len(payload) > 0; n++ {
		if len(payload) < rowHeader {
			return fmt.Errorf("row %d: %w", n, wire.ErrShort)
		}
		kind := binary.LittleEndian.Uint16(payload)
		size := int(binary.LittleEndian.Uint32(payload[4:]))
		payload = payload[rowHeader:]
		if size > len(payload) {
			return fmt.Errorf("row %d: %w", n, wire.ErrShort)
		}
		d := wire.Decoder{B: payload[:size]}
		f(kind, &d)
		if d.Err != nil {
			return fmt.Errorf("row %d: %w", n, d.Err)
		}
		payload = payload[size:]
	}
	return nil
}

// Append appends the row to a CPUID section's payload.
func (r *CPUIDLeaf) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		for _, v := range [...]uint32{r.Package, r.Leaf, r.Subleaf, r.EAX, r.EBX, r.ECX, r.EDX} {
			e.U32(v)
		}
	})
}

// The decode functions read what Append wrote. They do not look at errors: the
// decoder's is sticky, and eachRow asks for it.

// decode reads one row; the others are alike.
func (r *CPUIDLeaf) decode(d *wire.Decoder) {
	for _, p := range [...]*uint32{&r.Package, &r.Leaf, &r.Subleaf, &r.EAX, &r.EBX, &r.ECX, &r.EDX} {
		*p = d.U32()
	}
}

// Append appends the row to an IMAGE_TABLE section's payload.
func (r *Image) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Number)
		e.Bool(r.Main)
		e.Str(r.Path)
		e.Bytes(r.BuildID)
		e.U64(r.Base)
		e.U64(r.Loaded)
		e.U64(r.Unloaded)
		e.U32(uint32(len(r.Segments)))
		for _, s := range r.Segments {
			e.U64(s.Start)
			e.U64(s.End)
			e.U64(s.Offset)
			e.U32(s.Prot)
		}
	})
}

// 28 bytes is what a segment takes: count refuses more of them than there are bytes for.
func (r *Image) decode(d *wire.Decoder) {
	r.Number = d.U32()
	r.Main = d.Bool()
	r.Path = d.Str()
	r.BuildID = d.Bytes()
	r.Base = d.U64()
	r.Loaded = d.U64()
	r.Unloaded = d.U64()
	for range d.Count(28) {
		r.Segments = append(r.Segments, Segment{d.U64(), d.U64(), d.U64(), d.U32()})
	}
}

// Append appends the row to a FUNC_TABLE section's payload.
func (r *Function) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Number)
		e.U32(r.Image)
		e.Str(r.Name)
		e.Str(r.Demangled)
		e.U64(r.Addr)
		e.U64(r.Size)
		e.Str(r.File)
		e.U32(r.Line)
	})
}

func (r *Function) decode(d *wire.Decoder) {
	r.Number = d.U32()
	r.Image = d.U32()
	r.Name = d.Str()
	r.Demangled = d.Str()
	r.Addr = d.U64()
	r.Size = d.U64()
	r.File = d.Str()
	r.Line = d.U32()
}

// Append appends the row to a PROCESS_FAMILY section's payload.
func (r *FamilyRow) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Number)
		e.U32(r.PID)
		e.U32(r.Parent)
		e.Bool(r.Followed)
		e.U64(uint64(r.Started))
		e.U64(uint64(r.Ended))
		e.Bool(r.Exited)
		e.U32(uint32(r.ExitStatus))
		e.Strs(r.Command)
	})
}

func (r *FamilyRow) decode(d *wire.Decoder) {
	r.Number = d.U32()
	r.PID = d.U32()
	r.Parent = d.U32()
	r.Followed = d.Bool()
	r.Started = int64(d.U64())
	r.Ended = int64(d.U64())
	r.Exited = d.Bool()
	r.ExitStatus = int32(d.U32())
	r.Command = d.Strs()
}

// Append appends the row to a SUBPROFILES section's payload.
func (r *SubProfile) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Number)
		e.Str(r.Path)
	})
}

func (r *SubProfile) decode(d *wire.Decoder) {
	r.Number = d.U32()
	r.Path = d.Str()
}
