package config

import (
	"fmt"
	"slices"
	"strings"

	"alleria/config/vocab"
)

// checkXEDName warns of a selector that no instruction can match: a name that
// the decoder doesn't have, or one in small letters where all are capitals.
func (d *decoder) checkXEDName(a *attr) {
	var known []string
	switch a.name {
	case "cat":
		// The two words of ours go with XED's: "anymem" is their most frequent
		// misspelling.
		known = append(vocab.Categories(), "any", "anyMem")
	case "ext":
		known = vocab.Extensions()
	case "isa":
		known = vocab.ISASets()
	case "class":
		// Mnemonics are typed as disassemblers print them, in small letters; there are
		// too many to list, but this much can be told.
		if upper := strings.ToUpper(a.value); upper != a.value {
			d.unmatched(a.Pos, fmt.Sprintf("class=%q can match no instruction: the names of classes are in capitals", short(a.value)),
				fmt.Sprintf("write %q", short(upper)))
		}
		return
	case "form":
		d.checkForm(a)
		return
	default:
		return
	}
	if a.value == "" || slices.Contains(known, a.value) {
		return
	}
	// Case counts less than letters there, so that cond_br finds COND_BR.
	best, _ := vocab.Closest(a.value, known)
	d.unmatched(a.Pos, fmt.Sprintf("%s=%q is not known to the decoder and will match nothing", a.name, short(a.value)),
		fmt.Sprintf("the nearest known one is %q", best))
}

// checkForm warns of a form that no instruction can have.
func (d *decoder) checkForm(a *attr) {
	if a.value == "" {
		return
	}
	// Respelled first: what is wrong with a name is told of what remains of it.
	ours := vocab.Form(a.value)
	wrong := vocab.WrongOperand(ours)
	switch {
	case wrong != "":
		best, _ := vocab.Closest(wrong, vocab.FormOperands())
		d.unmatched(a.Pos, fmt.Sprintf("form=%q can match nothing: no form has an operand %s", short(a.value), short(wrong)),
			fmt.Sprintf("the nearest known one is %s; alleria explain Instruction lists them", best))
	case ours != a.value:
		d.unmatched(a.Pos, fmt.Sprintf("form=%q is XED's spelling and will match nothing", short(a.value)),
			fmt.Sprintf("forms here have no opcodes and no element types: write %q", short(ours)))
	}
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
		case !slices.Contains(vocab.Registers(), r):
			best, _ := vocab.Closest(r, vocab.Registers())
			f.shape(a.Pos, fmt.Sprintf("%q is no register", short(r)), fmt.Sprintf("the nearest known one is %q", best))
		// Not silently dropped: rax,rax was meant to be rax and something else.
		case seen[r]:
			f.rule(a.Pos, fmt.Sprintf("the register %s is listed twice", r), "keep one of them")
		}
		seen[r] = true
	}
}
