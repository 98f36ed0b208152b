package config

import (
	"fmt"
	"slices"
	"strconv"
)

// registerNames lists the registers that can be recorded, by the names that
// disassemblers print. Built once: the vector names are a pattern, not a list
// worth typing.
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

// checkRegisters reports what is not a register, each name by itself.
func checkRegisters(f *faults, a *attr) {
	seen := map[string]bool{}
	for _, r := range splitRegisters(a.value) {
		switch {
		case r == "":
			f.shape(a.Pos, fmt.Sprintf("%s=%q has a gap", a.name, short(a.value)), "it takes "+spellings[registersValue].right)
			// One gap mostly comes with others, of the same comma.
			return
		case !slices.Contains(registerNames, r):
			best, _ := nearest(r, registerNames)
			f.shape(a.Pos, fmt.Sprintf("%q is no register", short(r)), fmt.Sprintf("the nearest known one is %q", best))
		// Not silently dropped: rax,rax was meant to be rax and something else.
		case seen[r]:
			f.rule(a.Pos, fmt.Sprintf("the register %s is listed twice", r), "keep one of them")
		}
		seen[r] = true
	}
}
