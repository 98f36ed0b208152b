package vocab

import (
	"slices"
	"strings"
)

// Forms are made by the decoder, class and operands; the names of operands are
// few and listed here, those of classes are not. What the published profiler's
// users wrote are XED's iforms, which are spelled alike but for details that the
// decoder does not know. Such a name loads, draws a warning with the spelling
// that would match, and is left as it is: two iforms that become one form would
// be identical selectors, and old files must not become wrong.

// formOperands are the names of operands in forms, without widths.
const formOperands = `GPR8 GPRv GPR16 GPR32 GPR64 MMX XMM YMM ZMM MASK X87 ST0 SEG CR DR BND TMM AL CL DX OrAX FS GS AGEN ONE
IMMb IMMw IMMd IMMq IMMz IMMv RELBRb RELBRd RELBRw MEM MEMb MEMw MEMd MEMq MEMt MEMdq MEMqq MEMzd MEMv`

// WrongOperand returns the first part of a form, as Form spells it, that no form has: no operand and no class.
// Empty: there is none.
func WrongOperand(form string) string {
	for i, part := range strings.Split(form, "_") {
		if i > 0 && !slices.Contains(FormOperands(), part) && !classPart(part) {
			return part
		}
	}
	return ""
}

// FormOperands are the names of operands in forms, without widths.
func FormOperands() []string { return strings.Fields(formOperands) }

// classPart tells what may be part of a class or stand beside it: capitals and
// digits, like LOCK. Operands that look so too are in the list.
func classPart(part string) bool {
	return part != "" && strings.ToUpper(part) == part && !isOperandLike(part)
}

// isOperandLike recognises what is meant to be an operand by how it begins.
func isOperandLike(part string) bool {
	return slices.ContainsFunc([]string{"GPR", "VGPR", "MEM", "IMM", "RELBR", "XMM", "YMM", "ZMM", "MASK"},
		func(p string) bool { return strings.HasPrefix(part, p) })
}

// Form respells an iform of XED's: what it says in more detail is left out.
// A name that is a form already comes back as it is.
func Form(iform string) string {
	// XED has classes of its own for near and far.
	iform = strings.Replace(strings.Replace(iform, "CALL_NEAR", "CALL", 1), "RET_NEAR", "RET", 1)
	parts := strings.Split(iform, "_")
	if n := len(parts) - 1; n > 0 && (opcodePart(parts[n]) || n > 1 && strings.HasPrefix(parts[n], "AVX512")) {
		parts = parts[:n]
	}
	// The class is left alone: what XED calls differently there is handled above.
	for i, part := range parts[1:] {
		parts[i+1] = ownOperand(part)
	}
	return strings.Join(parts, "_")
}

// opcodePart recognises the opcode at an iform's end: 01, C1r4, 0F1F, FFr6.
func opcodePart(part string) bool {
	if i := len(part) - 2; i > 1 && part[i] == 'r' && part[i+1] >= '0' && part[i+1] <= '7' {
		part = part[:i]
	}
	if len(part) != 2 && len(part) != 4 {
		return false
	}
	// A class may end in letters that are hexadecimal digits; an operand may not.
	return strings.Trim(part, "0123456789ABCDEF") == "" && !slices.Contains(FormOperands(), part)
}

// ownOperand respells one operand.
func ownOperand(part string) string {
	for _, reg := range []string{"XMM", "YMM", "ZMM", "MASK", "MMX"} {
		if strings.HasPrefix(part, reg) {
			return reg
		}
	}
	part = strings.TrimPrefix(part, "V") // VGPR32d, of VEX-coded instructions
	for _, reg := range []string{"GPR16", "GPR32", "GPR64", "GPR8"} {
		if strings.HasPrefix(part, reg) {
			return reg
		}
	}
	// Widths that an element type implies for whole vectors and scalars of SSE. The
	// rest, such as AVX's, depends on the registers beside them.
	switch part {
	case "MEMps", "MEMpd":
		return "MEMdq"
	case "MEMss":
		return "MEMd"
	case "MEMsd":
		return "MEMq"
	case "GPRz":
		return "GPR32"
	case "RELBRz":
		return "RELBRd"
	case "OeAX":
		return "OrAX"
	case "X87M", "X87POP":
		return "X87"
	}
	return part
}
