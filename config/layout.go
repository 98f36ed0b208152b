package config

import (
	"fmt"
	"slices"
)

// layoutState guards the walk over records that hold records.
type layoutState uint8

const (
	layoutOpen layoutState = iota
	layoutBusy
	layoutDone
)

// maxRecordBytes bounds a record: it is captured whole, and sums of offsets and
// sizes below it cannot overflow.
const maxRecordBytes = 1 << 30

// MaxRecordParts bounds the values within a record, those of the records that it holds among them: ten levels of ten fields are ten thousand million.
const MaxRecordParts = 1 << 16

// record reads a Type's attributes and fields; sizes come later, when the types
// of all fields are known.
func (d *decoder) record(n *node, t *Type) {
	// Both may be given: a packed record can still be followed by room that a device
	// or a file format leaves.
	t.Packed, t.GivenSize = n.flag("packed"), n.count("size")
	for _, c := range n.children {
		if c.name != "Field" {
			continue
		}
		f := &Field{Pos: c.Pos, Name: c.text("name"), Type: d.use(c, "type")}
		f.Offset, f.GivenOffset = c.number("offset")
		// Put to 0 after the message, so that the sums below stay small without a
		// check at each.
		if f.Offset > maxRecordBytes {
			d.rule(c.get("offset").Pos, fmt.Sprintf("an offset of %d is beyond any record", f.Offset), "it counts bytes from the record's start")
			f.Offset = 0
		}
		t.Fields = append(t.Fields, f)
	}
}

// layout computes offsets, size and alignment as the platform's C compilers do,
// inner records first. A record that holds itself has no size.
func (d *decoder) layout(n *node, t *Type) {
	if cycle := t.compute(); cycle != nil {
		d.rule(cycle.Pos, fmt.Sprintf("Type %q holds itself through field %q", short(t.Name), short(cycle.Name)), "hold a Pointer to it instead")
		return
	}
	switch {
	case t.tooManyParts():
		d.rule(n.Pos, fmt.Sprintf("Type %q has more than %d values in it", short(t.Name), MaxRecordParts), "capture a part of it")
	case t.Size > maxRecordBytes:
		d.rule(n.Pos, fmt.Sprintf("Type %q is larger than %d MiB", short(t.Name), maxRecordBytes>>20), "capture a part of it")
	// Larger is right: only the fields of interest need to be listed, and size tells
	// where the next element of an array begins.
	case t.GivenSize != 0 && t.GivenSize < t.Size:
		d.rule(n.get("size").Pos, fmt.Sprintf("Type %q has a size of %d, its fields need %d", short(t.Name), t.GivenSize, t.Size), "give the larger size, or none")
	}
}

// tooManyParts tells whether a record has too many values in it, and none of those that it holds does.
func (t *Type) tooManyParts() bool {
	return t.parts > MaxRecordParts && !slices.ContainsFunc(t.Fields, func(f *Field) bool { return f.Type.Record != nil && f.Type.Record.parts > MaxRecordParts })
}

// compute returns the field through which the record holds itself, if any.
// The sizes of such records stay those of the fields before it.
func (t *Type) compute() (cycle *Field) {
	if t.state == layoutDone {
		return nil
	}
	t.state, t.Align, t.parts = layoutBusy, 1, 1
	// Done also after a cycle: the other records of it would each report it again.
	defer func() { t.state = layoutDone }()
	end := uint64(0)
	for _, f := range t.Fields {
		if r := f.Type.Record; r != nil {
			// By value; through a pointer a record may hold itself, and that never
			// gets here.
			if r.state == layoutBusy {
				return f
			}
			if inner := r.compute(); inner != nil {
				cycle = inner
			}
			t.parts = min(t.parts+r.parts, 2*MaxRecordParts)
		} else {
			t.parts++
		}
		align := max(f.Type.Align(), 1)
		if t.Packed {
			align = 1
		}
		// A given offset does not lower the alignment: C's compilers do not either,
		// and size would come out wrong.
		t.Align = max(t.Align, align)
		if !f.GivenOffset {
			f.Offset = roundUp(end, align)
		}
		// Given offsets may overlap: that is how a union is written.
		end = max(end, min(f.Offset+f.Type.Size(), 2*maxRecordBytes))
		t.Size = max(t.Size, end)
	}
	t.Size = roundUp(t.Size, t.Align)
	if t.GivenSize > t.Size {
		t.Size = min(t.GivenSize, 2*maxRecordBytes) // too large is reported, not added up
	}
	return cycle
}

// roundUp rounds to a multiple of align, which is a power of two.
func roundUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
