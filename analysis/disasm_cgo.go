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
type Syntax string

// The syntaxes.
const (
	Intel Syntax = "intel"
	ATT   Syntax = "att"
)

// Disassembler writes instructions as text. Not for concurrent use.
type Disassembler struct {
	state *C.struct_alleria_disasm
	room  [256]C.char
}

// NewDisassembler makes one; Close frees it.
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
func (d *Disassembler) Close() {
	C.free(unsafe.Pointer(d.state))
	d.state = nil
}

// Text returns the instruction that code holds, as if it lay at addr.
func (d *Disassembler) Text(code []byte, addr uint64) string {
	if len(code) == 0 || C.alleria_disasm_text(d.state, unsafe.Pointer(&code[0]), C.size_t(len(code)),
		C.ZyanU64(addr), &d.room[0], C.size_t(len(d.room))) == 0 {
		return "(bad)"
	}
	return C.GoString(&d.room[0])
}
