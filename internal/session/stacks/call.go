package stacks

import (
	"bytes"
	"encoding/binary"
)

// longest is how many bytes a call has at most, but for prefixes that mean nothing.
const longest = 8

// call finds the call that returns to an address: how long its instruction is, and what it calls if that stands in it.
//
// Instructions cannot be read backwards for certain. The lengths that a call may have are tried, the longest first, as its bytes would hardly be the end of
// another instruction; a direct call has to lead into an image.
func (s *Stacks) call(ret uint64) (length, target uint64) {
	var b [longest]byte
	if n, _ := s.mem.mem.ReadAt(b[:], int64(ret-longest)); n < len(b) {
		return 0, 0
	}
	if b[longest-5] == 0xe8 {
		target = ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[longest-4:]))))
		if l, _ := s.images.ByAddr(target); l != nil {
			return 5, target
		}
	}
	for n := longest; n >= 2; n-- {
		if callLength(b[longest-n:]) == n {
			return uint64(n), 0
		}
	}
	return 0, 0
}

// callLength is how long the indirect call at the start of b is, 0 if there is none.
func callLength(b []byte) int {
	n := 0
	if b[0]&0xf0 == 0x40 && len(b) > 2 { // REX
		n = 1
	}
	if b[n] != 0xff || b[n+1]>>3&7 != 2 {
		return 0
	}
	mod, rm := b[n+1]>>6, b[n+1]&7
	n += 2
	if mod == 3 {
		return n
	}
	if rm == 4 {
		if n == len(b) {
			return 0
		}
		if mod == 0 && b[n]&7 == 5 {
			mod = 2 // an index, and no base but 32 bits
		}
		n++
	}
	switch {
	case mod == 1:
		return n + 1
	case mod == 2, mod == 0 && rm == 5:
		return n + 4
	}
	return n
}

// mostJumps bounds jumps that lead from one to the next.
const mostJumps = 6

// jumps is where a call leads: its target, and while a function does nothing but jump elsewhere, where it jumps. Each is looked up, so that it is in the profile.
func (s *Stacks) jumps(target uint64) (all []uint64) {
	for target != 0 && len(all) < mostJumps {
		p := s.at(target, false)
		if p.in == nil || p.start != target {
			return all
		}
		all = append(all, target)
		target = s.jump(target)
	}
	return all
}

// jump is where the unconditional jump at an address leads; 0: there is none.
func (s *Stacks) jump(at uint64) uint64 {
	var room [16]byte
	if n, _ := s.mem.mem.ReadAt(room[:], int64(at)); n < len(room) {
		return 0
	}
	b := bytes.TrimPrefix(room[:], []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	b = bytes.TrimPrefix(b, []byte{0xf2})                          // bnd
	behind := func(n int) uint64 { return at + uint64(len(room)-len(b)+n) }
	switch {
	case b[0] == 0xe9:
		return behind(5) + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
	case b[0] == 0xeb:
		return behind(2) + uint64(int64(int8(b[1])))
	case b[0] == 0xff && b[1] == 0x25: // by way of a word in memory
		word, _ := s.mem.Word(behind(6) + uint64(int64(int32(binary.LittleEndian.Uint32(b[2:])))))
		return word
	}
	return 0
}
