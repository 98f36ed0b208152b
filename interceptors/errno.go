package interceptors

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Where a thread's errno is, the C library tells whoever calls __errno_location. That function is a few instructions, which are read instead of
// being called: glibc adds an offset, which the loader has put into a word of the library, to the base of fs; musl and static programs have the offset in the code.

// ErrnoAt is what __errno_location returns; false: its code is none that is known.
func ErrnoAt(code []byte, addr, base uint64, m io.ReaderAt) (uint64, bool) {
	start := len(code)
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	code = bytes.TrimPrefix(code, []byte{0x55, 0x48, 0x89, 0xe5}) // push %rbp; mov %rsp,%rbp
	addr += uint64(start - len(code))
	imm := func(at int) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(code[at:])))) }
	self := []byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}          // mov %fs:0,%rax
	plus := []byte{0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0}          // add %fs:0,%rax
	word, fixed := []byte{0x48, 0x8b, 0x05}, []byte{0x48, 0xc7, 0xc0} // mov OFFSET(%rip),%rax; mov $OFFSET,%rax
	switch {
	case len(code) < 16:
	case bytes.HasPrefix(code, word) && bytes.HasPrefix(code[7:], plus):
		return offsetIn(addr+7+imm(3), base, m)
	case bytes.HasPrefix(code, fixed) && bytes.HasPrefix(code[7:], plus):
		return base + imm(3), true
	case bytes.HasPrefix(code, self):
		rest := code[9:]
		switch {
		case bytes.HasPrefix(rest, []byte{0x48, 0x83, 0xc0}): // add $OFFSET,%rax
			return base + uint64(int64(int8(rest[3]))), true
		case bytes.HasPrefix(rest, []byte{0x48, 0x05}):
			return base + imm(11), true
		case bytes.HasPrefix(rest, []byte{0x48, 0x03, 0x05}): // add OFFSET(%rip),%rax
			return offsetIn(addr+16+imm(12), base, m)
		}
	}
	return 0, false
}

// offsetIn adds the offset that a word holds.
func offsetIn(word, base uint64, m io.ReaderAt) (uint64, bool) {
	var b [8]byte
	if n, _ := m.ReadAt(b[:], int64(word)); n < len(b) {
		return 0, false
	}
	return base + binary.LittleEndian.Uint64(b[:]), true
}
