package records

import (
	"encoding/binary"
	"math/bits"
)

// The packed form of a Block. Package emit puts it into profiles as it lies here, and package abp reads it there by its own description (block_packed.go,
// docs/format.md): what is changed here has to be converted there, or to be another kind of row. emit.TestRowsAgree fails else. Within the process it has no version,
// as what is read was written by the same program. Its rules: numbers as
// varints, indices of words plus one, and a field that is nearly always the same
// in no more than a bit.

// Bits of an instruction's first byte, beside its length.
const (
	insLen       = 0x0f
	insFlags     = 0x10 // its flags follow; else they are those of the one before
	insFunc      = 0x20 // its function follows; else it is that of the one before
	insElsewhere = 0x40 // its offset and Far follow; else it lies behind the one before
	insAccesses  = 0x80 // accesses follow
)

// Bits of an access's first byte, beside its kind.
const (
	accKind  = 0x07
	accStore = 0x08
	accSeg   = 0x30
	acc32    = 0x40 // AddrBits is 32
	accLanes = 0x80 // what only vectors and strings have follows

	accSegShift = 4
	// accNear, instead of a segment: there is none, and the offset is the address, as of an operand relative to RIP. What is kept of it is
	// the distance from the block, so that it moves with its image.
	accNear = 3 << accSegShift
	nearBy  = 1 << 31
)

// hasTarget stands below the kind of a branch whose target is known.
const hasTarget = 1

// An access like nine of ten in a program: of an address without a segment, one lane of up to 16 bytes
// whose value is not recorded, and whose word is the one that the access before has, or the next. Its
// first byte says all but the offset.
const (
	accShort = 0x07 // instead of a kind
	accNext  = 0x10 // its word is the next one
	accSize  = 0xe0 // binary logarithm of its size

	accSizeShift = 5
	accSizeMax   = 4 // larger accesses have the long form
)

// short is the first byte of the short form, false where an access needs the long one. word is
// that of the access before.
func (a *Access) short(word int16) (byte, bool) {
	size := bits.TrailingZeros32(a.Size)
	if a.Kind != 0 || a.Seg != 0 || a.AddrBits != 64 || a.Value != NoWord || size > accSizeMax || a.Size != 1<<size || a.vector() {
		return 0, false
	}
	first := byte(accShort | size<<accSizeShift)
	if a.Store {
		first |= accStore
	}
	switch a.Word {
	case word:
		return first, true
	case word + 1:
		return first | accNext, true
	}
	return 0, false
}

// vector tells whether an access has what only vectors and strings have.
func (a *Access) vector() bool {
	return a.Lanes != 0 || a.Scale != 0 || a.IndexSize != 0 || a.AuxWord != NoWord || a.IndexWord != NoWord
}

// pack appends the packed form of b to dst.
func (b *Block) pack(dst []byte) []byte {
	n := 0
	for i := range b.Ins {
		n += len(b.Ins[i].Accesses)
	}
	branch, target := uint64(b.Branch)<<1, int64(0)
	if b.Target != 0 {
		branch, target = branch|hasTarget, int64(b.Target-b.Addr)
	}
	dst = binary.LittleEndian.AppendUint64(dst, b.Addr)
	for _, v := range [...]uint64{uint64(b.Words), uint64(b.Image), uint64(b.TimeWord + 1), uint64(b.BranchWord + 1),
		branch, uint64(len(b.Ins)), uint64(n), uint64(len(b.Code))} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.AppendVarint(dst, target)
	dst = append(dst, b.Code...)
	dst = binary.AppendUvarint(dst, uint64(len(b.Regs)))
	for _, w := range b.Regs {
		for _, v := range [...]uint64{uint64(w.Ins), uint64(w.Reg), uint64(w.Word + 1)} {
			dst = binary.AppendUvarint(dst, v)
		}
	}
	var last Ins
	word := int16(NoWord)
	for i := range b.Ins {
		dst = b.Ins[i].pack(dst, b.Addr, &last, &word)
		last = b.Ins[i]
	}
	return dst
}

// pack appends an instruction of a block at addr behind last; word is the one that the access before has.
func (in *Ins) pack(dst []byte, addr uint64, last *Ins, word *int16) []byte {
	at := len(dst)
	dst = append(dst, in.Len&insLen)
	if in.Flags != last.Flags {
		dst[at] |= insFlags
		dst = binary.AppendUvarint(dst, uint64(in.Flags))
	}
	if in.Func != last.Func {
		dst[at] |= insFunc
		dst = binary.AppendUvarint(dst, uint64(in.Func))
	}
	if in.Off != last.Off+uint16(last.Len) || in.Far != last.Far {
		dst[at] |= insElsewhere
		dst = binary.AppendUvarint(dst, uint64(in.Off))
		dst = binary.AppendVarint(dst, int64(in.Far))
	}
	if len(in.Accesses) > 0 {
		dst[at] |= insAccesses
		dst = binary.AppendUvarint(dst, uint64(len(in.Accesses)))
		for k := range in.Accesses {
			dst = in.Accesses[k].pack(dst, addr, *word)
			*word = in.Accesses[k].Word
		}
	}
	return dst
}

// isNear tells whether an access is to move with the block at addr. Addresses without a register that do not are below two gigabytes, or
// close to their upper end.
func (a *Access) isNear(addr uint64) bool {
	d := a.Offset - int64(addr)
	return a.Word == NoWord && a.Seg == SegNone && d >= -nearBy && d < nearBy
}

func (a *Access) pack(dst []byte, addr uint64, word int16) []byte {
	near := a.isNear(addr)
	if first, ok := a.short(word); ok && !near {
		return binary.AppendVarint(append(dst, first), a.Offset)
	}
	first, offset := byte(a.Kind)|a.Seg<<accSegShift, a.Offset
	if near {
		first, offset = first|accNear, offset-int64(addr)
	}
	if a.Store {
		first |= accStore
	}
	if a.AddrBits == 32 {
		first |= acc32
	}
	more := a.vector()
	if more {
		first |= accLanes
	}
	dst = append(dst, first)
	for _, v := range [...]uint64{uint64(a.Size), uint64(a.Word + 1), uint64(a.Value + 1)} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.AppendVarint(dst, offset)
	if more {
		dst = append(dst, a.Lanes, a.Scale, a.IndexSize)
		dst = binary.AppendUvarint(dst, uint64(a.AuxWord+1))
		dst = binary.AppendUvarint(dst, uint64(a.IndexWord+1))
	}
	return dst
}

// unpacker reads what pack wrote.
type unpacker struct{ b []byte }

func (u *unpacker) byte() byte {
	v := u.b[0]
	u.b = u.b[1:]
	return v
}

func (u *unpacker) signed() int64 {
	v, n := binary.Varint(u.b)
	u.b = u.b[n:]
	return v
}

func (u *unpacker) word() int16 { return int16(u.number()) - 1 }

// unpack makes b what was packed, but for its id.
func (b *Block) unpack(packed []byte) {
	u := &unpacker{packed}
	b.Addr = binary.LittleEndian.Uint64(u.b)
	u.b = u.b[8:]
	b.Words, b.Image = int(u.number()), uint32(u.number())
	b.TimeWord, b.BranchWord = u.word(), u.word()
	branch := u.number()
	b.Branch = BranchKind(branch >> 1)
	ins, accesses, code := int(u.number()), int(u.number()), int(u.number())
	if b.Target = uint64(u.signed()); branch&hasTarget != 0 {
		b.Target += b.Addr
	}
	b.Code = append(b.Code[:0], u.b[:code]...)
	u.b = u.b[code:]
	b.Regs = b.Regs[:0]
	for range u.number() {
		b.Regs = append(b.Regs, RegWord{uint16(u.number()), Reg(u.number()), u.word()})
	}
	if cap(b.Ins) < ins {
		b.Ins = make([]Ins, ins)
	}
	b.Ins = b.Ins[:ins]
	// All in one array, which must not move while it is filled.
	if cap(b.accesses) < accesses {
		b.accesses = make([]Access, accesses)
	}
	list := b.accesses[:accesses]
	var last Ins
	word := int16(NoWord)
	for i := range b.Ins {
		list = b.Ins[i].unpack(u, b.Addr, &last, list, &word)
		last = b.Ins[i]
	}
}

// unpack takes its accesses from the start of list and returns the rest.
func (in *Ins) unpack(u *unpacker, addr uint64, last *Ins, list []Access, word *int16) []Access {
	first := u.byte()
	*in = Ins{Off: last.Off + uint16(last.Len), Far: last.Far, Len: first & insLen, Flags: last.Flags, Func: last.Func}
	if first&insFlags != 0 {
		in.Flags = InsFlags(u.number())
	}
	if first&insFunc != 0 {
		in.Func = uint32(u.number())
	}
	if first&insElsewhere != 0 {
		in.Off, in.Far = uint16(u.number()), int32(u.signed())
	}
	if first&insAccesses == 0 {
		return list
	}
	n := int(u.number())
	in.Accesses = list[:n:n]
	for k := range in.Accesses {
		in.Accesses[k].unpack(u, addr, *word)
		*word = in.Accesses[k].Word
	}
	return list[n:]
}

func (a *Access) unpack(u *unpacker, addr uint64, word int16) {
	first := u.byte()
	if first&accKind == accShort {
		*a = Access{Store: first&accStore != 0, Size: 1 << (first >> accSizeShift), Word: word, Value: NoWord, AddrBits: 64,
			AuxWord: NoWord, IndexWord: NoWord, Offset: u.signed()}
		if first&accNext != 0 {
			a.Word++
		}
		return
	}
	*a = Access{Kind: AccessKind(first & accKind), Store: first&accStore != 0, Seg: first & accSeg >> accSegShift, AddrBits: 64,
		AuxWord: NoWord, IndexWord: NoWord}
	if first&acc32 != 0 {
		a.AddrBits = 32
	}
	a.Size, a.Word, a.Value = uint32(u.number()), u.word(), u.word()
	if a.Offset = u.signed(); first&accSeg == accNear {
		a.Seg, a.Offset = SegNone, a.Offset+int64(addr)
	}
	if first&accLanes != 0 {
		a.Lanes, a.Scale, a.IndexSize = u.byte(), u.byte(), u.byte()
		a.AuxWord, a.IndexWord = u.word(), u.word()
	}
}

// partNumbers is how many numbers a part has in the packed form.
const partNumbers = 4

// pack appends the packed form of a part of a block: how much of which block it is, which lies at addr.
func (p *Part) pack(dst []byte, of uint32, addr uint64) []byte {
	for _, v := range [...]uint64{uint64(of), uint64(p.Ins), uint64(p.Words)} {
		dst = binary.AppendUvarint(dst, v)
	}
	return binary.AppendVarint(dst, int64(p.Target-addr))
}

// unpackPart reads what Part.pack wrote, but that the target is the distance from the block.
func unpackPart(packed []byte) (of uint32, p Part) {
	u := &unpacker{packed}
	return uint32(u.number()), Part{Ins: int(u.number()), Words: int(u.number()), Target: uint64(u.signed())}
}

// cut leaves of a block what the part has, as unpackPart gave it.
func (b *Block) cut(p Part) {
	last := &b.Ins[p.Ins-1]
	b.Ins, b.Code = b.Ins[:p.Ins], b.Code[:int(last.Off)+int(last.Len)]
	b.Words, b.Target, b.Branch, b.BranchWord = p.Words, b.Addr+p.Target, BranchCond, NoWord
	for i := range b.Regs {
		if int(b.Regs[i].Ins) >= p.Ins {
			b.Regs = b.Regs[:i]
			break
		}
	}
}
