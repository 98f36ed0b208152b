package x86

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -lZydis
#include "decode.h"
#include <Zydis/Zydis.h>
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Why Decode stopped.
// It decides how the translator closes the block: by a branch, by a fetch of more
// code, or by an instruction that traps.
type Why int

// The reasons.
const (
	Full        Why = C.A_MAX          // out was full
	EndOfBlock  Why = C.A_END_OF_BLOCK // the last instruction ends a basic block
	OutOfBytes  Why = C.A_OUT_OF_BYTES // an instruction goes beyond code
	Undecodable Why = C.A_UNDECODABLE  // no instruction: executing it raises SIGILL
)

// Decode decodes the instructions in code, which lies at addr, into out until
// one ends a basic block. It returns how many and why it stopped.
//
// code may hold anything. An instruction that goes beyond it is OutOfBytes: the caller has
// to know whether there is more, on the next page. Instructions before the one that stopped
// it are good in every case.
func Decode(code []byte, addr uint64, out []Insn) (int, Why) {
	if len(code) == 0 || len(out) == 0 {
		return 0, OutOfBytes
	}
	var why C.int
	n := C.a_decode((*C.uint8_t)(unsafe.Pointer(&code[0])), C.size_t(len(code)), C.uint64_t(addr),
		C.int(len(out)), (*C.struct_a_insn)(unsafe.Pointer(&out[0])), &why)
	return int(n), Why(why)
}

// CheckLayout compares the Go structures with the C ones. The tests call it.
// Sizes suffice: both sides list the same fields in the same order and of the same
// widths.
func CheckLayout() error {
	var insn, mem, op C.size_t
	C.a_sizes(&insn, &mem, &op)
	for _, c := range []struct {
		name   string
		c      C.size_t
		goSize uintptr
	}{
		{"insn", insn, unsafe.Sizeof(Insn{})},
		{"mem", mem, unsafe.Sizeof(Mem{})},
		{"op", op, unsafe.Sizeof(Op{})},
	} {
		if uintptr(c.c) != c.goSize {
			return fmt.Errorf("struct a_%s is %d bytes in C, %d in Go", c.name, c.c, c.goSize)
		}
	}
	return nil
}

// ClassName is XED's instruction class: the mnemonic in upper case.
// Each call goes to C and allocates, here and below: who asks often keeps the
// answer.
func (i *Insn) ClassName() string {
	return C.GoString(C.ZydisMnemonicGetString(C.ZydisMnemonic(i.Mnem)))
}

// CategoryName is XED's category, such as "DATAXFER".
func (i *Insn) CategoryName() string {
	return C.GoString(C.ZydisCategoryGetString(C.ZydisInstructionCategory(i.Cat)))
}

// ISASetName is XED's ISA set, such as "SSE2".
func (i *Insn) ISASetName() string {
	return C.GoString(C.ZydisISASetGetString(C.ZydisISASet(i.ISA)))
}

// ExtensionName is XED's extension, such as "BASE".
func (i *Insn) ExtensionName() string {
	return C.GoString(C.ZydisISAExtGetString(C.ZydisISAExt(i.Ext)))
}
