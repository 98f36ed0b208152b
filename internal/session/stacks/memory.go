package stacks

import (
	"encoding/binary"
	"io"
)

// window is how much of a stack is read at once. Most stacks are less deep than that, and to read a page takes the kernel hardly longer than a word.
const window = 16 << 10

// stack is a process's memory, of which what lies above the stack pointer was read ahead.
type stack struct {
	mem  io.ReaderAt
	at   uint64
	read int
	buf  [window]byte
}

// from begins with another stack.
func (s *stack) from(sp uint64) {
	s.at = sp &^ 7
	n, _ := s.mem.ReadAt(s.buf[:], int64(s.at))
	s.read = max(n, 0)
}

// Word is unwind.Memory's.
func (s *stack) Word(addr uint64) (uint64, bool) {
	if off := addr - s.at; off < uint64(s.read) && uint64(s.read)-off >= 8 {
		return binary.LittleEndian.Uint64(s.buf[off:]), true
	}
	var b [8]byte
	if n, _ := s.mem.ReadAt(b[:], int64(addr)); n < len(b) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}
