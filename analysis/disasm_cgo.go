package analysis

/*
#cgo LDFLAGS: -lZydis
#include <stdlib.h>
#include <Zydis/Zydis.h>

// The decoder and a formatter, in C memory: the formatter points into itself,
// which memory handed over by Go may not.
struct alleria_disasm {
	ZydisDecoder   decoder;
	ZydisFormatter formatter;
};

// alleria_disasm_new returns NULL when there is no memory or Zydis refuses the mode.
// Padding and upper-case
// digits are turned off so that lines read like objdump's, which people diff
// against.
static struct alleria_disasm *alleria_disasm_new(int att) {
	struct alleria_disasm *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	if (ZYAN_FAILED(ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisFormatterInit(&d->formatter, att ? ZYDIS_FORMATTER_STYLE_ATT : ZYDIS_FORMATTER_STYLE_INTEL))) {
		free(d);
		return NULL;
	}
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
	return d;
}

// alleria_disasm_text writes a terminated string; 0 when the bytes are no
// instruction or the text does not fit. Only the visible operands are formatted:
// flags and implied registers would make each line twice as long.
static int alleria_disasm_text(struct alleria_disasm *d, const void *code, size_t len, ZyanU64 addr, char *out, size_t room) {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d->decoder, code, len, &insn, ops)))
		return 0;
	return ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&d->formatter, &insn, ops,
		insn.operand_count_visible, out, room, addr, NULL));
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Syntax is how instructions are written.
// It is a string and not a number because it is what the user types after --syntax
// and what a profile's configuration says.
type Syntax string

// The syntaxes.
const (
	Intel Syntax = "intel"
	ATT   Syntax = "att"
)

// Disassembler writes instructions as text. Not for concurrent use.
// It decodes 64-bit code only; the engine does not translate any other, so that no
// profile has it. Decoding is per instruction and without state, therefore text
// never depends on what was written before.
type Disassembler struct {
	// C memory; nil after Close
	state *C.struct_alleria_disasm
	// where Zydis writes a text: the longest is below 100 letters
	room [256]C.char
}

// NewDisassembler makes one; Close frees it.
// An unknown syntax is Intel's: the command line has refused it before. The only
// errors are want of memory and a Zydis library without this mode.
func NewDisassembler(s Syntax) (*Disassembler, error) {
	att := C.int(0)
	if s == ATT {
		att = 1
	}
	state := C.alleria_disasm_new(att)
	if state == nil {
		return nil, errors.New("disassembler: no memory, or an incompatible Zydis library")
	}
	return &Disassembler{state: state}, nil
}

// Close frees the disassembler.
// It must be the last call: the memory is C's, and the collector will not find it.
func (d *Disassembler) Close() {
	C.free(unsafe.Pointer(d.state))
	d.state = nil
}

// Text returns the instruction that code holds, as if it lay at addr.
// Bytes that are no instruction give "(bad)", as in objdump, and not an error: a
// dump of a damaged profile should show what can be shown. The address matters for
// branches and RIP-relative operands, which are written as absolute.
func (d *Disassembler) Text(code []byte, addr uint64) string {
	if len(code) == 0 || C.alleria_disasm_text(d.state, unsafe.Pointer(&code[0]), C.size_t(len(code)),
		C.ZyanU64(addr), &d.room[0], C.size_t(len(d.room))) == 0 {
		return "(bad)"
	}
	return C.GoString(&d.room[0])
}
