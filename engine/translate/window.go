package translate

import "alleria/engine/x86"

// codeWindow is the code of the block being decoded.
type codeWindow struct {
	// The stretch being decoded, at base.
	cur      []byte
	base     uint64
	pieces   []codePiece // of a block that goes on along branches, copies; see superblock
	pieceBuf []byte
}

// Fetch reads code to decode.
func (u *Translator) Fetch(addr uint64, n int) []byte {
	u.code.base, u.code.cur = addr, u.target.Fetch(addr, n)
	return u.code.cur
}

// codePiece is code of the block being decoded that lies at base.
type codePiece struct {
	base uint64
	code []byte
}

// InsBytes is the code of an instruction of the block decoded last.
// It must be copied before the next decode.
func (u *Translator) InsBytes(in *x86.Insn) []byte {
	for _, c := range u.code.pieces {
		if off := in.Addr - c.base; off < uint64(len(c.code)) {
			return c.code[off : off+uint64(in.Len)]
		}
	}
	off := in.Addr - u.code.base
	return u.code.cur[off : off+uint64(in.Len)]
}

// keep copies the code that was decoded from the stretch that was fetched last: another is
// about to be.
func (c *codeWindow) keep(from, to uint64) {
	if from < c.base || to-c.base > uint64(len(c.cur)) {
		return // nothing of it was decoded
	}
	at := len(c.pieceBuf)
	c.pieceBuf = append(c.pieceBuf, c.cur[from-c.base:to-c.base]...)
	c.pieces = append(c.pieces, codePiece{from, c.pieceBuf[at:]})
}
