package abp

import (
	"encoding/binary"
	"fmt"
)

// A table section's payload is a sequence of rows. A row is its kind (uint16),
// two reserved bytes, the length of its fields (uint32) and the fields. Fields
// are only ever added at the end, so that an old reader stops early and a new
// one knows from the length what an old writer left out.
const (
	rowHeader = 8
	// rowPlain is the kind of the rows of a table that has only one.
	rowPlain = 1
	// Rows of WINDOWS.
	rowWindowDef   = 1
	rowWindowEvent = 2
)

// row appends one row whose fields put writes. The length is filled in afterwards:
// rows are short and a second pass over their fields would say the same twice.
func (e *wireEnc) row(kind uint16, put func(*wireEnc)) {
	start := len(e.b)
	e.u16(kind)
	e.u16(0)
	e.u32(0)
	put(e)
	binary.LittleEndian.PutUint32(e.b[start+4:], uint32(len(e.b)-start-rowHeader))
}

// appendRow appends one row to a section's payload.
func appendRow(dst []byte, kind uint16, put func(*wireEnc)) []byte {
	e := wireEnc{dst}
	e.row(kind, put)
	return e.b
}

// eachRow calls f for every row of a table section's payload. f ignores kinds
// that it does not know.
// The first error ends it, with the number of the row. A row's decoder cannot reach
// into the next one, whatever its lengths claim.
func eachRow(payload []byte, f func(kind uint16, d *wireDec)) error {
	for n := 0; len(payload) > 0; n++ {
		if len(payload) < rowHeader {
			return fmt.Errorf("row %d: %w", n, errShort)
		}
		kind := binary.LittleEndian.Uint16(payload)
		size := int(binary.LittleEndian.Uint32(payload[4:]))
		payload = payload[rowHeader:]
		if size > len(payload) {
			return fmt.Errorf("row %d: %w", n, errShort)
		}
		d := wireDec{b: payload[:size]}
		f(kind, &d)
		if d.err != nil {
			return fmt.Errorf("row %d: %w", n, d.err)
		}
		payload = payload[size:]
	}
	return nil
}

// Append appends the row to a CPUID section's payload.
func (r *CPUIDLeaf) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		for _, v := range [...]uint32{r.Package, r.Leaf, r.Subleaf, r.EAX, r.EBX, r.ECX, r.EDX} {
			e.u32(v)
		}
	})
}

// The decode functions read what Append wrote. They do not look at errors: the
// decoder's is sticky, and eachRow asks for it.

// decode reads one row; the others are alike.
func (r *CPUIDLeaf) decode(d *wireDec) {
	for _, p := range [...]*uint32{&r.Package, &r.Leaf, &r.Subleaf, &r.EAX, &r.EBX, &r.ECX, &r.EDX} {
		*p = d.u32()
	}
}

// Append appends the row to an IMAGE_TABLE section's payload.
func (r *Image) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Number)
		e.bool(r.Main)
		e.str(r.Path)
		e.bytes(r.BuildID)
		e.u64(r.Base)
		e.u64(r.Loaded)
		e.u64(r.Unloaded)
		e.u32(uint32(len(r.Segments)))
		for _, s := range r.Segments {
			e.u64(s.Start)
			e.u64(s.End)
			e.u64(s.Offset)
			e.u32(s.Prot)
		}
	})
}

// 28 bytes is what a segment takes: count refuses more of them than there are bytes for.
func (r *Image) decode(d *wireDec) {
	r.Number = d.u32()
	r.Main = d.bool()
	r.Path = d.str()
	r.BuildID = d.bytes()
	r.Base = d.u64()
	r.Loaded = d.u64()
	r.Unloaded = d.u64()
	for range d.count(28) {
		r.Segments = append(r.Segments, Segment{d.u64(), d.u64(), d.u64(), d.u32()})
	}
}

// Append appends the row to a FUNC_TABLE section's payload.
func (r *Function) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Number)
		e.u32(r.Image)
		e.str(r.Name)
		e.str(r.Demangled)
		e.u64(r.Addr)
		e.u64(r.Size)
		e.str(r.File)
		e.u32(r.Line)
	})
}

func (r *Function) decode(d *wireDec) {
	r.Number = d.u32()
	r.Image = d.u32()
	r.Name = d.str()
	r.Demangled = d.str()
	r.Addr = d.u64()
	r.Size = d.u64()
	r.File = d.str()
	r.Line = d.u32()
}

// Append appends the row to a PROCESS_FAMILY section's payload.
func (r *FamilyRow) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Number)
		e.u32(r.PID)
		e.u32(r.Parent)
		e.bool(r.Followed)
		e.u64(uint64(r.Started))
		e.u64(uint64(r.Ended))
		e.bool(r.Exited)
		e.u32(uint32(r.ExitStatus))
		e.strs(r.Command)
	})
}

func (r *FamilyRow) decode(d *wireDec) {
	r.Number = d.u32()
	r.PID = d.u32()
	r.Parent = d.u32()
	r.Followed = d.bool()
	r.Started = int64(d.u64())
	r.Ended = int64(d.u64())
	r.Exited = d.bool()
	r.ExitStatus = int32(d.u32())
	r.Command = d.strs()
}

// Append appends the row to a SUBPROFILES section's payload.
func (r *SubProfile) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Number)
		e.str(r.Path)
	})
}

func (r *SubProfile) decode(d *wireDec) {
	r.Number = d.u32()
	r.Path = d.str()
}
