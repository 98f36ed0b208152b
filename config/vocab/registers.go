package vocab

import (
	"slices"
	"strconv"
)

// Registers lists the registers that can be recorded, by the names that
// disassemblers print. Built once: the vector names are a pattern, not a list
// worth typing.
func Registers() []string { return slices.Clone(registerNames) }

var registerNames = buildRegisterNames()

// buildRegisterNames lists general registers in all widths, vector, mask, x87
// and MMX registers, and the few that are none of these. Control, debug and
// segment registers are not readable by a program and not offered.
func buildRegisterNames() []string {
	names := []string{"rip", "rflags", "mxcsr", "fs_base", "gs_base"}
	// The old eight have names of their own in every width; those from r8 on are a
	// number and a letter.
	for _, r := range []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"} {
		names = append(names, "r"+r, "e"+r, r)
	}
	names = append(names, "al", "bl", "cl", "dl", "ah", "bh", "ch", "dh", "sil", "dil", "bpl", "spl")
	for i := range 32 {
		n := strconv.Itoa(i)
		names = append(names, "xmm"+n, "ymm"+n, "zmm"+n)
		// All vector registers up to 31 are offered: whether the processor has AVX-512
		// is known where the trace runs, not where the file is written.
		if i < 8 {
			names = append(names, "k"+n, "st"+n, "mm"+n)
		}
		if i >= 8 && i < 16 {
			names = append(names, "r"+n, "r"+n+"d", "r"+n+"w", "r"+n+"b")
		}
	}
	slices.Sort(names)
	return names
}
