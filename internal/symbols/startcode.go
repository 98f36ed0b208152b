package symbols

import "encoding/binary"

// The instructions at an entry point, as the C libraries have them. glibc's is
// assembler and the same in every program, up to the relocation that brings
// main's address:
//
// 	xor %ebp,%ebp; mov %rdx,%r9; pop %rsi; mov %rsp,%rdx; and $-16,%rsp
// 	push %rax; push %rsp; (%r8, %rcx: old constructors)
// 	lea main(%rip),%rdi  |  mov $main,%rdi  |  mov main@GOTPCREL(%rip),%rdi
// 	call *__libc_start_main@GOTPCREL(%rip)  |  addr32 call __libc_start_main
//
// musl's is a stub that hands the stack pointer to a compiled function, which
// loads the arguments in any order and leaves by a jump.

// startOp is what an instruction of start code means for the search for main.
type startOp uint8

const (
	startOther    startOp = iota // nothing
	startConst                   // rdi becomes a known address
	startLoad                    // rdi is loaded from a known address
	startClobber                 // rdi becomes something unknown
	startTransfer                // a call or an unconditional jump
)

// startInsn is one decoded instruction.
type startInsn struct {
	size  int
	op    startOp
	value uint64 // of startConst and startLoad
	to    target // of startTransfer
}

// rdi is the number of the register in ModRM and in opcodes.
const rdi = 7

// decodeStart decodes the few instructions that compilers and hand-written crt
// files use between the entry point and __libc_start_main. A complete decoder
// would add nothing but a dependency of this package on one: code with any
// other instruction in it is no start code that is known, and the answer for
// that is "not found", which the run-time search then makes good.
func decodeStart(code []byte, pc uint64) (startInsn, bool) {
	d := startDecoder{code: code, pc: pc}
	// Prefixes. Those that change nothing of what is asked here are passed over:
	// addr32 pads the call of a static program to the size of the indirect one that
	// the linker replaced, bnd and notrack decorate branches.
	for d.i < len(code) {
		switch b := code[d.i]; {
		case b == 0x66:
			d.short = true
		case b == 0x67 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x3e:
		case b&0xf0 == 0x40:
			d.rex = b
			d.i++
			return d.opcode() // REX is always last
		default:
			return d.opcode()
		}
		d.i++
	}
	return startInsn{}, false
}

// startDecoder is the state of decoding one instruction.
type startDecoder struct {
	code  []byte
	pc    uint64
	i     int
	rex   byte
	short bool // operand size prefix
	fail  bool
}

// done makes the result of an instruction that ends here.
func (d *startDecoder) done(op startOp, value uint64, to target) (startInsn, bool) {
	if d.fail || d.i > len(d.code) {
		return startInsn{}, false
	}
	return startInsn{size: d.i, op: op, value: value, to: to}, true
}

// imm reads a sign-extended immediate of 1 or 4 bytes.
func (d *startDecoder) imm(n int) uint64 {
	if d.i+n > len(d.code) {
		d.fail = true
		return 0
	}
	p := d.code[d.i:]
	d.i += n
	if n == 1 {
		return uint64(int64(int8(p[0])))
	}
	return uint64(int64(int32(binary.LittleEndian.Uint32(p))))
}

// modrm skips a ModRM operand. mem is the address of a rip-relative one, minus
// the length of the immediate that may follow.
func (d *startDecoder) modrm() (mod, reg, rm byte, mem uint64) {
	if d.i >= len(d.code) {
		d.fail = true
		return 0, 0, 0, 0
	}
	b := d.code[d.i]
	d.i++
	mod, reg, rm = b>>6, b>>3&7|d.rex&4<<1, b&7
	if mod == 3 {
		return mod, reg, rm | d.rex&1<<3, 0
	}
	// The scaled forms matter for their length only.
	if rm == 4 { // SIB
		sib := d.imm(1)
		if mod == 0 && sib&7 == 5 {
			d.imm(4)
		}
	}
	switch {
	case mod == 1:
		d.imm(1)
	case mod == 2:
		d.imm(4)
	case rm == 5:
		disp := d.imm(4)
		// Relative to the next instruction: right as it stands for those
		// without an immediate, and no other asks for the address.
		mem = d.pc + uint64(d.i) + disp
	}
	return mod, reg, rm, mem
}

// opcode decodes from the opcode on.
func (d *startDecoder) opcode() (startInsn, bool) {
	// The operand-size prefix changes the length of immediates. Here it only
	// occurs on nops and on the padded call of a TLS sequence.
	if d.i >= len(d.code) || d.short && d.code[d.i] != 0x0f && d.code[d.i] != 0x90 && d.code[d.i] != 0xe8 {
		return startInsn{}, false
	}
	op := d.code[d.i]
	d.i++
	switch {
	// A conditional jump, in contrast, is not start code that is known.
	case op == 0xe8, op == 0xe9, op == 0xeb: // call, jmp
		n := 4
		if op == 0xeb {
			n = 1
		}
		disp := d.imm(n)
		return d.done(startTransfer, 0, target{direct: d.pc + uint64(d.i) + disp})
	case op&0xf8 == 0x50, op == 0x90: // push, nop
		return d.done(startOther, 0, target{})
	case op&0xf8 == 0x58: // pop
		return d.writes(op&7 | d.rex&1<<3)
	case op&0xf8 == 0xb8: // mov $imm32,%r32; $imm64 in the large model
		reg := op&7 | d.rex&1<<3
		value := d.imm(4) & 0xffffffff
		if d.rex&8 != 0 {
			value |= d.imm(4) << 32
		}
		if reg == rdi {
			return d.done(startConst, value, target{})
		}
		return d.done(startOther, 0, target{})
	case op == 0x0f:
		return d.twoByte()
	}
	return d.withModRM(op)
}

// twoByte decodes endbr64 and long nops.
func (d *startDecoder) twoByte() (startInsn, bool) {
	if d.i >= len(d.code) || d.code[d.i] != 0x1e && d.code[d.i] != 0x1f {
		return startInsn{}, false
	}
	d.i++
	d.modrm()
	return d.done(startOther, 0, target{})
}

// into is an instruction that writes to r/m.
func (d *startDecoder) into(mod, rm byte) (startInsn, bool) {
	if mod == 3 {
		return d.writes(rm)
	}
	return d.done(startOther, 0, target{})
}

// withModRM decodes the one-byte opcodes with an operand byte.
func (d *startDecoder) withModRM(op byte) (startInsn, bool) {
	mod, reg, rm, mem := d.modrm()
	switch op {
	case 0x8d: // lea
		if reg == rdi && mem != 0 {
			return d.done(startConst, mem, target{})
		}
		return d.writes(reg)
	case 0x8b: // mov r/m,r
		if reg == rdi && mem != 0 && d.rex&8 != 0 {
			return d.done(startLoad, mem, target{})
		}
		return d.writes(reg)
	case 0x03, 0x0b, 0x23, 0x2b, 0x33, 0x63: // arithmetic into a register, movslq
		return d.writes(reg)
	case 0x01, 0x09, 0x21, 0x29, 0x31, 0x89: // into r/m
		return d.into(mod, rm)
	case 0x85, 0x39, 0x3b: // test, cmp
		return d.done(startOther, 0, target{})
	case 0x83, 0x81: // arithmetic with an immediate
		d.imm(map[byte]int{0x83: 1, 0x81: 4}[op])
		return d.into(mod, rm)
	// Sign-extended with REX.W as in a fixed program, where addresses are low
	// enough for that not to matter.
	case 0xc7: // mov $imm32,r/m
		value := d.imm(4)
		if mod == 3 && rm == rdi {
			return d.done(startConst, value, target{})
		}
		return d.done(startOther, 0, target{})
	case 0xff:
		if reg&7 == 2 || reg&7 == 4 { // call, jmp through memory
			if mem == 0 {
				return startInsn{}, false
			}
			return d.done(startTransfer, 0, target{slot: mem})
		}
	}
	return startInsn{}, false
}

// writes ends an instruction that computes a register.
func (d *startDecoder) writes(reg byte) (startInsn, bool) {
	if reg == rdi {
		return d.done(startClobber, 0, target{})
	}
	return d.done(startOther, 0, target{})
}
