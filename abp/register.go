package abp

import (
	"strconv"
	"strings"
)

// Register names a register that can be recorded: its class in the upper byte,
// its number in the lower. The numbers are the file's.
type Register uint16

// Classes of registers. General registers have the numbers of encodings: 0 rax,
// 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 … 15.
const (
	RegGPR64   = iota << 8
	RegGPR32   // the low half
	RegGPR16   // the low two bytes
	RegGPR8    // the low byte
	RegHigh    // ah, ch, dh, bh, with the numbers of rax to rbx
	RegXMM     // 16 bytes
	RegYMM     // 32 bytes
	RegZMM     // 64 bytes
	RegMask    // k0 … k7
	RegMMX     // 8 bytes
	RegX87     // st0 … st7, 10 bytes
	RegSpecial // the following
	regClasses
)

// Registers of class RegSpecial.
const (
	RegRIP    Register = RegSpecial + iota // nothing is recorded: it is the instruction's address
	RegFlags                               // rflags
	RegMXCSR                               // 4 bytes
	RegFSBase                              // nothing is recorded: it is the thread's
	RegGSBase
	regEnd
)

var (
	regNames64 = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"}
	regNames8  = [...]string{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"}
	regSpecial = [...]string{"rip", "rflags", "mxcsr", "fs_base", "gs_base"}
	regVector  = [...]string{"xmm", "ymm", "zmm", "k", "mm", "st"} // from RegXMM on
	regCounts  = [...]int{16, 16, 16, 16, 4, 32, 32, 32, 8, 8, 8, int(regEnd - RegSpecial)}
	regSizes   = [...]int{8, 4, 2, 1, 1, 16, 32, 64, 8, 8, 10, 8}
)

// Class returns the register's class, such as RegXMM.
func (r Register) Class() int { return int(r) &^ 0xff }

// Number returns the register's number within its class.
func (r Register) Number() int { return int(r) & 0xff }

// Known reports whether it is one of this version's registers.
func (r Register) Known() bool {
	return r.Class() < regClasses && r.Number() < regCounts[r>>8]
}

// Size returns how many bytes the register has.
func (r Register) Size() int {
	if r == RegMXCSR {
		return 4
	}
	return regSizes[r>>8]
}

// String returns the name that disassemblers print.
func (r Register) String() string {
	if !r.Known() {
		return "register " + strconv.Itoa(int(r))
	}
	n := r.Number()
	switch c := r.Class(); {
	case c == RegSpecial:
		return regSpecial[n]
	case c == RegHigh:
		return "acdb"[n:n+1] + "h"
	case c >= RegXMM:
		return regVector[c>>8-RegXMM>>8] + strconv.Itoa(n)
	case n >= 8:
		return "r" + strconv.Itoa(n) + [...]string{"", "d", "w", "b"}[c>>8]
	case c == RegGPR8:
		return regNames8[n]
	case c == RegGPR32:
		return "e" + regNames64[n][1:]
	case c == RegGPR16:
		return regNames64[n][1:]
	}
	return regNames64[n]
}

// ParseRegister returns the register of that name.
func ParseRegister(name string) (Register, bool) {
	name = strings.ToLower(name)
	for c, n := range regCounts {
		for k := range n {
			if r := Register(c<<8 | k); r.String() == name {
				return r, true
			}
		}
	}
	return 0, false
}

// RegisterWord says that a register before an instruction is recorded, and
// where.
type RegisterWord struct {
	Ins  uint16
	Reg  Register
	Word int16 // the first word; NoWord where it follows from something else
}

// words is how many words of an execution the register takes: whole ones, of
// which smaller registers are a part.
func (r Register) words() int {
	if r.Class() < RegXMM {
		return 1
	}
	return wordsFor(uint64(r.Size()))
}

// RegisterValue is what a register held before an instruction. Value is valid
// until the next call on the Reader that it came from.
type RegisterValue struct {
	Register Register
	Value    []byte
}

// Registers appends what is recorded of the registers before instruction i. The
// values are in buf, which is returned too, to be used again.
func (x *Exec) Registers(i int, list []RegisterValue, buf []byte) ([]RegisterValue, []byte) {
	words := x.Words
	if x.IsEmulated {
		words = x.Beside
	}
	for _, w := range x.Block.Registers {
		if int(w.Ins) != i {
			continue
		}
		from := len(buf)
		switch {
		case w.Reg == RegRIP:
			buf = appendWord(buf, x.Block.InsAddr(i))
		case w.Reg == RegFSBase:
			buf = appendWord(buf, x.FSBase)
		case w.Reg == RegGSBase:
			buf = appendWord(buf, x.GSBase)
		case int(w.Word)+w.Reg.words() > len(words): // of an emulated execution that lacks them
			continue
		default:
			for _, v := range words[w.Word:][:w.Reg.words()] {
				buf = appendWord(buf, v)
			}
			if w.Reg.Class() == RegHigh {
				from++
			}
		}
		buf = buf[: from+w.Reg.Size() : cap(buf)]
		list = append(list, RegisterValue{w.Reg, buf[from : from+w.Reg.Size() : from+w.Reg.Size()]})
	}
	return list, buf
}

func appendWord(b []byte, v uint64) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
}

// checkRegisters verifies the block's list of registers.
func (b *Block) checkRegisters() error {
	for _, w := range b.Registers {
		switch {
		case int(w.Ins) >= len(b.Ins) || !w.Reg.Known():
			return errBlockRegister
		case w.Word == NoWord:
			if w.Reg != RegRIP && w.Reg != RegFSBase && w.Reg != RegGSBase {
				return errBlockRegister
			}
		case w.Word < 0 || int(w.Word)+w.Reg.words() > b.Words:
			return errBlockWord
		}
	}
	return nil
}
