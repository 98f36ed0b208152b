package randprog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Generator makes one program from templates.
type Generator struct {
	// Beside has programs of Calls start a second thread (beside.go).
	Beside bool

	rng       *rand.Rand
	templates []template
	weights   int
	// Of the sequence being made: base points into the buffer, index is small;
	// neither is written. depth is how many words are on the stack.
	base, index string
	depth       int
	label       int
	b           strings.Builder
}

// New makes the generator of a seed. cpu has the processor's flags as /proc/cpuinfo
// names them: sets that need others are left out.
func New(seed uint64, cpu map[string]bool, sets []Set) *Generator {
	g := &Generator{rng: rand.New(rand.NewPCG(seed, 7))}
	for _, set := range sets {
		if set.needs != "" && !cpu[set.needs] {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(set.text), "\n") {
			g.templates = append(g.templates, parseTemplate(strings.TrimSpace(line), set.weight))
			g.weights += set.weight
		}
	}
	return g
}

// template is one line of a set, with the set's weight; clobbers is the
// registers that it writes by name.
type template struct {
	text     string
	clobbers []string
	weight   int
}

func parseTemplate(line string, weight int) template {
	t := template{text: line, weight: weight}
	if names, text, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(names, "[{") {
		t.clobbers, t.text = strings.Fields(names), text
	}
	return t
}

// pick returns a template's text that leaves base and index alone.
func (g *Generator) pick() string {
	for {
		n := g.rng.IntN(g.weights)
		for i := range g.templates {
			t := &g.templates[i]
			if n -= t.weight; n >= 0 {
				continue
			}
			if !slices.Contains(t.clobbers, g.base) && !slices.Contains(t.clobbers, g.index) {
				return t.text
			}
			break
		}
	}
}

var names64 = []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// sized returns the name of a register with that many bits.
func sized(reg string, bits int) string {
	if bits == 64 {
		return reg
	}
	if reg[1] >= '0' && reg[1] <= '9' {
		return reg + map[int]string{32: "d", 16: "w", 8: "b"}[bits]
	}
	short := reg[1:]
	switch bits {
	case 32:
		return "e" + short
	case 16:
		return short
	}
	switch short {
	case "ax", "bx", "cx", "dx":
		return short[:1] + "l"
	}
	return short + "l"
}

// free is a register that the sequence may write.
func (g *Generator) free() string {
	for {
		r := names64[g.rng.IntN(16)]
		if r != "rsp" && r != g.base && r != g.index {
			return r
		}
	}
}

// anyReg is a register to read.
func (g *Generator) anyReg() string { return names64[g.rng.IntN(16)] }

// memory is a random address within the buffer, with room for 64 bytes on
// each side.
func (g *Generator) memory() string {
	seg := ""
	if g.rng.IntN(12) == 0 {
		seg = "fs:"
		return fmt.Sprintf("%s[%d]", seg, g.rng.IntN(400))
	}
	d := g.rng.IntN(400) - 200
	if g.rng.IntN(4) == 0 {
		d = d &^ 15
	}
	switch g.rng.IntN(7) {
	case 0:
		return fmt.Sprintf("buf[rip+%d]", 1024+d)
	case 1, 2:
		return fmt.Sprintf("[%s+%s*%d%+d]", g.base, g.index, 1<<g.rng.IntN(4), d)
	case 3:
		return fmt.Sprintf("[rsp-%d]", 64+g.rng.IntN(500))
	case 4:
		return fmt.Sprintf("[%s]", g.base)
	default:
		return fmt.Sprintf("[%s%+d]", g.base, d)
	}
}

// fill replaces a template's placeholders.
func (g *Generator) fill(text string) string {
	g.label++
	var out strings.Builder
	last := "" // {=} is the register written before, for pairs
	for len(text) > 0 {
		i := strings.IndexByte(text, '{')
		if i < 0 || i+2 >= len(text) {
			break
		}
		j := strings.IndexByte(text[i:], '}') + i
		out.WriteString(text[:i])
		key := text[i+1 : j]
		s := g.placeholder(key)
		if key == "=" {
			s = last
		} else if strings.HasPrefix(key, "w") {
			last = s
		}
		out.WriteString(s)
		text = text[j+1:]
	}
	out.WriteString(text)
	return out.String()
}

// placeholder makes one: wN and rN registers of N bits to write and to read, m
// an address, mN with its size, a aligned ones, and so on.
func (g *Generator) placeholder(key string) string {
	switch key {
	case "base":
		return g.base
	case "index":
		return g.index
	}
	for _, kind := range []func(key string) string{g.register, g.vector, g.operand, g.number} {
		if s := kind(key); s != "" {
			return s
		}
	}
	return "{" + key + "}"
}

// register is a placeholder that stands for an integer register; empty for any other.
func (g *Generator) register(key string) string {
	switch key {
	case "w64", "w32", "w16", "w8":
		var bits int
		fmt.Sscan(key[1:], &bits)
		return sized(g.free(), bits)
	case "r64", "r32", "r16", "r8":
		var bits int
		fmt.Sscan(key[1:], &bits)
		return sized(g.anyReg(), bits)
	case "wh":
		return g.high()
	case "l8": // a byte register that needs no REX prefix
		return g.oneOf("al", "cl", "dl", "bl", "ah", "ch", "dh", "bh")
	}
	return ""
}

// vector is one that stands for a vector, mask or MMX register.
func (g *Generator) vector(key string) string {
	switch key {
	case "x":
		return fmt.Sprint("xmm", g.rng.IntN(16))
	case "y":
		return fmt.Sprint("ymm", g.rng.IntN(16))
	case "X":
		return fmt.Sprint("xmm", g.rng.IntN(32))
	case "Y":
		return fmt.Sprint("ymm", g.rng.IntN(32))
	case "Z":
		return fmt.Sprint("zmm", g.rng.IntN(32))
	case "K":
		return fmt.Sprintf("{k%d}", 1+g.rng.IntN(7))
	case "Kz":
		return fmt.Sprintf("{k%d}{z}", 1+g.rng.IntN(7))
	case "k":
		return fmt.Sprint("k", 1+g.rng.IntN(7))
	case "mm":
		return fmt.Sprint("mm", g.rng.IntN(8))
	}
	return ""
}

// operand is one that stands for an operand in memory.
func (g *Generator) operand(key string) string {
	switch key {
	case "m":
		return g.memory()
	case "m8":
		return "byte ptr " + g.memory()
	case "m16":
		return "word ptr " + g.memory()
	case "m32":
		return "dword ptr " + g.memory()
	case "m64":
		return "qword ptr " + g.memory()
	case "a16", "a32", "a64": // aligned to that many bytes
		return fmt.Sprintf("buf[rip+%d]", 64*g.rng.IntN(30))
	case "near":
		return fmt.Sprintf("buf[rip+%d]", 100+g.rng.IntN(1900))
	}
	return ""
}

// number is one that stands for a number, a condition or a label.
func (g *Generator) number(key string) string {
	switch key {
	case "i8":
		return fmt.Sprint(g.rng.IntN(256) - 128)
	case "u6":
		return fmt.Sprint(g.rng.IntN(64))
	case "u5":
		return fmt.Sprint(g.rng.IntN(32))
	case "u3":
		return fmt.Sprint(g.rng.IntN(8))
	case "i16":
		return fmt.Sprint(g.rng.IntN(65536) - 32768)
	case "i32":
		return fmt.Sprint(int32(g.rng.Uint32()))
	case "i64":
		return fmt.Sprint(int64(g.rng.Uint64()))
	case "cc":
		return g.oneOf("o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g")
	case "L":
		return fmt.Sprintf(".L%d", g.label)
	}
	return ""
}

// oneOf is one of some texts.
func (g *Generator) oneOf(s ...string) string { return s[g.rng.IntN(len(s))] }

// high is one of ah, ch, dh, bh that may be written.
func (g *Generator) high() string {
	for {
		r := []string{"rax", "rcx", "rdx", "rbx"}[g.rng.IntN(4)]
		if r != g.base && r != g.index {
			return r[1:2] + "h"
		}
	}
}
