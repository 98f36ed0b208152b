package calls

import "alleria/abp/internal/wire"

// Encode appends the fields of a type's row, number first.
func (t *Type) Encode(e *wire.Encoder, id TypeID) {
	e.U32(uint32(id))
	e.U8(uint8(t.Kind))
	e.U8(uint8(t.Extent))
	e.Bool(t.Dec)
	e.Str(t.Name)
	e.U32(t.Size)
	e.U32(t.Align)
	e.U32(uint32(t.Elem))
	e.U64(t.Count)
	e.Str(t.Variable)
	e.U64(t.Sentinel)
	e.U32(uint32(len(t.Fields)))
	for i := range t.Fields {
		f := &t.Fields[i]
		e.Str(f.Name)
		e.U32(uint32(f.Type))
		e.U32(f.Offset)
		e.U8(f.Bit)
		e.U8(f.Bits)
	}
	e.U32(uint32(len(t.Names)))
	for _, c := range t.Names {
		e.Str(c.Name)
		e.U64(uint64(c.Value))
	}
}

// Decode reads what Encode wrote.
func (t *Type) Decode(d *wire.Decoder) (id TypeID) {
	id = TypeID(d.U32())
	t.Kind = Kind(d.U8())
	t.Extent = Extent(d.U8())
	t.Dec = d.Bool()
	t.Name = d.Str()
	t.Size = d.U32()
	t.Align = d.U32()
	t.Elem = TypeID(d.U32())
	t.Count = d.U64()
	t.Variable = d.Str()
	t.Sentinel = d.U64()
	for range d.Count(14) {
		t.Fields = append(t.Fields, Field{d.Str(), TypeID(d.U32()), d.U32(), d.U8(), d.U8()})
	}
	for range d.Count(12) {
		t.Names = append(t.Names, Const{d.Str(), int64(d.U64())})
	}
	return id
}

// Encode appends the fields of a signature's row.
func (s *Signature) Encode(e *wire.Encoder) {
	e.U32(s.Number)
	e.Str(s.Name)
	e.Str(s.Linked)
	e.Str(s.Image)
	e.U64(s.Addr)
	e.U64(s.Size)
	e.U32(uint32(len(s.Threads)))
	for _, n := range s.Threads {
		e.U32(n)
	}
	e.U32(uint32(len(s.Params)))
	for i := range s.Params {
		s.Params[i].encode(e)
	}
	s.Result.encode(e)
	encodeSlots(e, s.Entry)
	encodeSlots(e, s.Exit)
	e.Bool(s.Returns)
	e.Bool(s.Variadic)
	e.Bytes(s.Code)
	e.Bool(s.Except)
	e.Bool(s.Goroutine)
}

// Decode reads what Encode wrote.
func (s *Signature) Decode(d *wire.Decoder) {
	s.Number = d.U32()
	s.Name = d.Str()
	s.Linked = d.Str()
	s.Image = d.Str()
	s.Addr = d.U64()
	s.Size = d.U64()
	for range d.Count(4) {
		s.Threads = append(s.Threads, d.U32())
	}
	for range d.Count(12) {
		var p Param
		p.decode(d)
		s.Params = append(s.Params, p)
	}
	s.Result.decode(d)
	s.Entry, s.Exit = decodeSlots(d), decodeSlots(d)
	s.Returns = d.Bool()
	s.Variadic = d.Bool()
	s.Code = d.Bytes()
	s.Except = d.Bool()
	if len(d.B) > 0 { // none in older files
		s.Goroutine = d.Bool()
	}
}

func (p *Param) encode(e *wire.Encoder) {
	e.Str(p.Name)
	e.U32(p.Index)
	e.U32(uint32(p.Type))
}

func (p *Param) decode(d *wire.Decoder) {
	p.Name = d.Str()
	p.Index = d.U32()
	p.Type = TypeID(d.U32())
}

func encodeSlots(e *wire.Encoder, slots []Slot) {
	e.U32(uint32(len(slots)))
	for i := range slots {
		s := &slots[i]
		e.U32(uint32(s.Param))
		e.U32(uint32(s.Type))
		e.Bool(s.Hidden)
		e.U32(uint32(len(s.Pieces)))
		for _, p := range s.Pieces {
			e.U32(p.Offset)
			e.U32(p.Bytes)
		}
	}
}

func decodeSlots(d *wire.Decoder) (slots []Slot) {
	for range d.Count(13) {
		s := Slot{Param: int32(d.U32()), Type: TypeID(d.U32()), Hidden: d.Bool()}
		for range d.Count(8) {
			s.Pieces = append(s.Pieces, Piece{d.U32(), d.U32()})
		}
		slots = append(slots, s)
	}
	return slots
}
