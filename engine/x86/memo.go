package x86

import "encoding/binary"

// Decoder decodes like Decode and remembers what it has seen, without displacement and
// immediate: a program of a megabyte of code has some thousand different leading parts,
// and looking one up costs a tenth of decoding it again.
//
// The leading part (prefixes, opcode, ModRM and SIB) is found by a few tables. They are
// not believed: an instruction is remembered only if Zydis says the same of its parts. Left
// out is what is rare and where constants say more than a number (see lasting). The zero
// value is ready for use. It is not for several goroutines.
type Decoder struct {
	// Off makes it decode each instruction anew, for comparison.
	Off   bool
	where []uint16 // by the hash of a leading part: the number of its memo, from 1
	pages []*[memoPage]memo
	known int
}

// memo is a remembered leading part: its bytes, with how many they are in the highest
// one, and what Zydis made of the instruction.
type memo struct {
	key  uint64
	disp uint8 // bytes of displacement behind the leading part
	imm  uint8 // bytes of constants behind that
	end  bool  // the instruction ends a basic block
	in   Insn
}

// memoEntries is how many leading parts are remembered at most, and memoPage how many
// there is room made for at a time: a short program sees some hundred. Two parts whose
// hashes agree take turns; a chain was refused, as the largest programs find 99 of 100 as
// it is.
const (
	memoEntries = 1 << 13
	memoShift   = 64 - 13
	memoPage    = 64
)

// Decode is Decode with the decoder's memory.
func (d *Decoder) Decode(code []byte, addr uint64, out []Insn) (int, Why) {
	if d.Off {
		return Decode(code, addr, out)
	}
	if d.where == nil {
		d.where = make([]uint16, memoEntries)
	}
	at := 0
	for n := range out {
		rest := code[at:]
		key, lead := leadingPart(rest)
		m := d.find(key)
		if m == nil || len(rest) < lead+int(m.disp)+int(m.imm) {
			k, why := Decode(rest, addr+uint64(at), out[n:n+1])
			if k == 0 {
				return n, why
			}
			if lead > 0 {
				d.learn(key, lead, &out[n], why)
			}
			if why == EndOfBlock {
				return n + 1, why
			}
			at += int(out[n].Len)
			continue
		}
		out[n] = m.in
		m.complete(&out[n], rest[lead:], addr+uint64(at))
		if m.end {
			return n + 1, EndOfBlock
		}
		at += int(m.in.Len)
	}
	return len(out), Full
}

// slot is where a leading part's number is. Multiplying by the golden ratio spreads what
// differs in a few bits.
func (d *Decoder) slot(key uint64) *uint16 { return &d.where[key*0x9e3779b97f4a7c15>>memoShift] }

// find returns what is remembered of a leading part, nil for nothing.
func (d *Decoder) find(key uint64) *memo {
	if k := int(*d.slot(key)) - 1; k >= 0 {
		if m := &d.pages[k/memoPage][k%memoPage]; m.key == key {
			return m
		}
	}
	return nil
}

// complete puts into in, a copy of the memo's, what does not follow from the leading part;
// tail begins behind that.
func (m *memo) complete(in *Insn, tail []byte, addr uint64) {
	in.Addr = addr
	if m.disp > 0 {
		v := constant(tail, m.disp, true)
		for i := range in.Mems[:in.NMem] {
			if in.Mems[i].Hidden == 0 {
				in.Mems[i].Disp = v
			}
		}
	}
	if m.imm > 0 {
		in.Imm = constant(tail[m.disp:], m.imm, in.Attr&attrSigned != 0)
		if in.Attr&(AttrRel|AttrRIPRel) == AttrRel { // it is also set for what is addressed relatively
			in.Imm += int64(in.Next())
		}
	}
}

// constant reads a constant of 1, 2, 4 or 8 bytes.
func constant(b []byte, size uint8, signed bool) int64 {
	switch size {
	case 1:
		if signed {
			return int64(int8(b[0]))
		}
		return int64(b[0])
	case 2:
		v := binary.LittleEndian.Uint16(b)
		if signed {
			return int64(int16(v))
		}
		return int64(v)
	case 4:
		v := binary.LittleEndian.Uint32(b)
		if signed {
			return int64(int32(v))
		}
		return int64(v)
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// learn remembers an instruction that was just decoded, if it may be.
func (d *Decoder) learn(key uint64, lead int, in *Insn, why Why) {
	if !in.lasting(uint8(lead)) {
		return
	}
	s := d.slot(key)
	if *s == 0 {
		if d.known%memoPage == 0 {
			d.pages = append(d.pages, new([memoPage]memo))
		}
		d.known++
		*s = uint16(d.known)
	}
	k := int(*s) - 1
	d.pages[k/memoPage][k%memoPage] = memo{key, in.DispSize, in.ImmSize, why == EndOfBlock, *in}
}

// lasting tells whether everything but its constants follows from the instruction's first
// lead bytes. It does not where a constant is part of the opcode (3DNow!, an encoding of its
// own to Zydis) or names a register (VEX), and a displacement that EVEX compresses
// is scaled. An instruction with two immediates is longer than its parts.
func (i *Insn) lasting(lead uint8) bool {
	switch {
	case i.Len != lead+i.DispSize+i.ImmSize, i.Enc == EncVEX && i.ImmSize > 0, i.Enc != EncVEX && i.Enc != EncLegacy:
		return false
	case i.DispSize > 0 && i.DispOff != lead, i.ImmSize > 0 && i.ImmOff != lead+i.DispSize:
		return false
	}
	return i.ModRMOff < lead && i.SIBOff < lead
}

// maxLead is the longest leading part that is remembered: what fits into a key.
const maxLead = 7

// leadingPart finds the part of an instruction in front of displacement and immediate. key
// identifies it; n is its length, 0 if the instruction had better be decoded: it may end
// beyond code, or is of a kind that is rare.
func leadingPart(code []byte) (key uint64, n int) {
	if len(code) < 8 {
		return 0, 0
	}
	w := binary.LittleEndian.Uint64(code)
	i := 0
	for i < 3 && legacyPrefix(code[i]) {
		i++
	}
	if code[i]&0xf0 == 0x40 {
		i++
	}
	op := code[i]
	i++
	modrm := false
	switch op {
	case 0x0f:
		op = code[i]
		i++
		switch op {
		case 0x38, 0x3a:
			i++
			modrm = true
		default:
			modrm = in256(op, 0xff00ffffffffa00f, 0xff7fffffffffffff, 0xfffff8f8ffff0000, 0xffffffffffff00ff)
		}
	case 0xc5:
		i += 2
		modrm = code[i-1] != 0x77
	case 0xc4:
		i += 3
		modrm = code[i-1] != 0x77 || code[i-3]&0x1f != 1
	case 0x62, 0x8f: // EVEX; XOP
		return 0, 0
	default:
		modrm = in256(op, 0x0f0f0f0f0f0f0f0f, 1<<0x23|1<<0x29|1<<0x2b, 0xffff, 3|3<<6|15<<16|255<<24|3<<54|3<<62)
	}
	if modrm {
		if i >= maxLead {
			return 0, 0
		}
		m := code[i]
		i++
		if m < 0xc0 && m&7 == 4 {
			i++
		}
	}
	if i > maxLead {
		return 0, 0
	}
	return w&(1<<(8*i)-1) | uint64(i)<<56, i
}

// in256 tells whether op is in a set of opcodes: those below 64, below 128, and so on. The
// sets are those with a ModRM byte in the Intel SDM, volume 2, tables.
func in256(op byte, a, b, c, d uint64) bool {
	var set uint64
	switch op >> 6 {
	case 0:
		set = a
	case 1:
		set = b
	case 2:
		set = c
	default:
		set = d
	}
	return set>>(op&63)&1 != 0
}

// legacyPrefix tells the prefixes that come before REX and opcode.
func legacyPrefix(b byte) bool {
	switch b {
	case 0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67:
		return true
	}
	return false
}
