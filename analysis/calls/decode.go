package calls

// op is what an instruction does to the stack of calls.
type op uint8

const (
	opNone op = iota
	opCall
	opRet
	opJump // unconditional
)

// classify tells calls, returns and jumps from all others, by prefixes and opcode.
// A decoder was refused: the four opcodes need no table, and it is asked about each
// instruction of a program.
func classify(code []byte) op {
	i := 0
	for i < len(code) && isPrefix(code[i]) {
		i++
	}
	if i >= len(code) {
		return opNone
	}
	switch code[i] {
	case 0xe8:
		return opCall
	case 0xc3, 0xc2, 0xcb, 0xca:
		return opRet
	case 0xe9, 0xeb:
		return opJump
	case 0xff:
		if i+1 < len(code) {
			switch code[i+1] >> 3 & 7 {
			case 2, 3:
				return opCall
			case 4, 5:
				return opJump
			}
		}
	}
	return opNone
}

// isPrefix reports whether a byte is a legacy prefix or a REX prefix.
func isPrefix(b byte) bool {
	switch b {
	case 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0:
		return true
	}
	return b&0xf0 == 0x40
}
