package randprog

import (
	"fmt"
	"strings"
)

// Sequences makes a program of n sequences. Each starts from random registers
// and flags, and writes everything that it left to standard output. With loops
// more than 1, each runs that often, under a timer that sends signals.
func (g *Generator) Sequences(n, loops int) string {
	g.b.Reset()
	g.line("\t.intel_syntax noprefix\n\t.text")
	for i := range helpers {
		g.line("helper%d:\n%s", i, g.fill(helpers[i]))
	}
	g.line("%s", handlerCode)
	g.line("\t.globl _start\n_start:")
	g.line("%s", handlerSetUp)
	g.line("\tmov eax, 158\n\tmov edi, 0x1002\n\tlea rsi, buf[rip+1600]\n\tsyscall")
	g.line("\tmov eax, 158\n\tmov edi, 0x1001\n\tlea rsi, buf[rip+1600]\n\tsyscall")
	if loops > 1 {
		g.line(timer, 1500)
	}
	for i := range n {
		if loops > 1 {
			g.line("\tmov qword ptr outer[rip], %d\nagain%d:", loops, i)
		}
		g.sequence()
		if loops > 1 {
			g.line("\tdec qword ptr outer[rip]\n\tjnz again%d", i)
		}
		g.line("%s", writeOut)
	}
	if loops > 1 {
		g.line(timer, 0)
	}
	g.line("\tmov eax, 231\n\txor edi, edi\n\tsyscall")
	g.data()
	return g.b.String()
}

func (g *Generator) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format+"\n", args...)
}

// helpers are functions that sequences call; they leave base and index alone,
// whichever registers these are, since they save what they write.
var helpers = []string{
	"\tret",
	"\tadc qword ptr buf[rip+2048], 1\n\tret",
	"\tpush rax\n\tmov rax, [rsp+8]\n\tmov buf[rip+2056], rax\n\tpop rax\n\tret",
	"\tjc 1f\n\tret\n1:\tinc dword ptr buf[rip+2064]\n\tret",
	"\tpush rbp\n\tmov rbp, rsp\n\tsub rsp, 40\n\tmov [rbp-8], rcx\n\tmov dword ptr [rsp], 7\n\tleave\n\tret",
	"\tlea rsp, [rsp-8]\n\tmovups [rsp-24], xmm1\n\tlea rsp, [rsp+8]\n\tret",
}

// handlerCode is a handler, on a stack of its own, that notes the registers as
// they were and, after a fault, goes on where resume says. It does not note the
// flags: those that are overwritten before they are read need not be right.
const handlerCode = `
handler:
	cmp edi, 11
	jne 1f
	lea rsi, [rdx+40]
	lea rdi, faulted[rip]
	mov ecx, 16
	cld
	rep movsq
	mov rax, resume[rip]
	mov [rdx+40+128], rax
1:	inc qword ptr handled[rip]
	pxor xmm0, xmm0
	mov ecx, 0x5555
	ret
restorer:
	mov eax, 15
restoring:
	syscall`

// handlerSetUp installs it for SIGSEGV and SIGALRM.
const handlerSetUp = `
	lea rsp, stack[rip+4096]
	lea rax, altstack[rip]
	mov [rsp-32], rax
	mov qword ptr [rsp-24], 0
	mov qword ptr [rsp-16], 65536
	lea rdi, [rsp-32]
	xor esi, esi
	mov eax, 131
	syscall
	lea rax, handler[rip]
	mov [rsp-32], rax
	mov qword ptr [rsp-24], 0x0c000004
	lea rax, restorer[rip]
	mov [rsp-16], rax
	mov qword ptr [rsp-8], 0
	.irp sig, 11, 14
	mov edi, \sig
	lea rsi, [rsp-32]
	xor edx, edx
	mov r10d, 8
	mov eax, 13
	syscall
	.endr`

// sequence writes one sequence: its start, its random middle, its dump.
func (g *Generator) sequence() {
	g.base = names64[g.rng.IntN(16)]
	for g.base == "rsp" {
		g.base = names64[g.rng.IntN(16)]
	}
	g.index = g.base
	for g.index == g.base || g.index == "rsp" {
		g.index = names64[g.rng.IntN(16)]
	}
	g.line("\tlea rsp, stack[rip+4096]")
	if g.wide() {
		g.line("\tlea rax, vectors[rip+%d]", 64*g.rng.IntN(8))
		for v := range 32 {
			g.line("\tvmovdqu64 zmm%d, [rax+%d]", v, 29*v)
		}
		for k := 1; k < 8; k++ {
			g.line("\tmov rax, %d\n\tkmovq k%d, rax", int64(g.rng.Uint64()), k)
		}
	} else {
		for v := range 16 {
			g.line("\tmovups xmm%d, vectors[rip+%d]", v, 29*v)
		}
	}
	for _, r := range names64 {
		switch {
		case r == "rsp":
		case r == g.base:
			g.line("\tlea %s, buf[rip+1024]", r)
		case r == g.index:
			g.line("\tmov %s, %d", r, g.rng.IntN(64))
		default:
			g.line("\tmov %s, %s", r, g.constant())
		}
	}
	g.line("\tpush %d\n\tpopfq", 0x202|g.rng.IntN(0x1000)&0x8d5)
	g.depth = 0
	g.body(10+g.rng.IntN(50), 0)
	for ; g.depth > 0; g.depth-- {
		g.line("\tpop %s", g.free())
	}
	g.dump()
}

// constant is a value of one of the kinds that behave differently.
func (g *Generator) constant() string {
	switch g.rng.IntN(4) {
	case 0:
		return fmt.Sprint(g.rng.IntN(70))
	case 1:
		return fmt.Sprint(int32(g.rng.Uint32()))
	case 2:
		return fmt.Sprint(-g.rng.IntN(3))
	}
	return fmt.Sprint(int64(g.rng.Uint64()))
}

// body writes n random steps. nested is how deep it lies in branches.
func (g *Generator) body(n, nested int) {
	for range n {
		switch k := g.rng.IntN(40); {
		case k == 0 && g.depth < 60:
			g.line("%s", g.fill("\tpush {r64}"))
			g.depth++
		case k == 1 && g.depth > 0 && nested == 0:
			g.line("%s", g.fill("\tpop {w64}"))
			g.depth--
		case k == 2 && g.depth > 0 && nested == 0:
			g.line("%s", g.fill("\tpop {m64}"))
			g.depth--
		case k == 3:
			g.line("\tcall helper%d", g.rng.IntN(len(helpers)))
		case k == 4 && nested < 3: // a forward branch, over code that may run or not
			l := g.newLabel()
			g.line("%s", g.fill("\tj{cc} "+l))
			depth := g.depth
			g.body(1+g.rng.IntN(5), nested+1)
			g.line("\tlea rsp, [rsp%+d]", 8*(g.depth-depth))
			g.depth = depth
			g.line("%s:", l)
		case k == 5 && nested < 2: // a loop
			l := g.newLabel()
			g.line("\tmov dword ptr count%d[rip], %d\n%s:", nested, 1+g.rng.IntN(4), l)
			depth := g.depth
			g.body(1+g.rng.IntN(8), nested+1)
			g.line("\tlea rsp, [rsp%+d]", 8*(g.depth-depth))
			g.depth = depth
			g.line("\tdec dword ptr count%d[rip]\n\tjnz %s", nested, l)
		default:
			g.line("\t%s", g.fill(g.pick()))
		}
	}
}

func (g *Generator) newLabel() string {
	g.label++
	return fmt.Sprintf(".M%d", g.label)
}

// wide tells whether sequences have AVX-512 state.
func (g *Generator) wide() bool {
	for i := range g.templates {
		if strings.Contains(g.templates[i].text, "{Z}") {
			return true
		}
	}
	return false
}

// dump writes the code that saves all state.
func (g *Generator) dump() {
	for i, r := range names64 {
		g.line("\tmov state[rip+%d], %s", 8*i, r)
	}
	g.line("\tlea rsp, stack[rip+4096]\n\tpushfq\n\tpop state[rip+128]\n\tcld\n\tstmxcsr state[rip+136]")
	if g.wide() {
		for v := range 32 {
			g.line("\tvmovdqu64 state[rip+%d], zmm%d", 256+64*v, v)
		}
		for k := range 8 {
			g.line("\tkmovq state[rip+%d], k%d", 144+8*k, k)
		}
	} else {
		for v := range 16 {
			g.line("\tmovups state[rip+%d], xmm%d", 256+16*v, v)
		}
	}
}

// writeOut writes all that a sequence left.
const writeOut = `
	mov eax, 1
	mov edi, 1
	lea rsi, state[rip]
	mov edx, offset all_end - state
	syscall`

// timer makes SIGALRM come every so many microseconds.
const timer = `
	mov qword ptr stack[rip], 0
	mov qword ptr stack[rip+16], 0
	mov eax, %d
	mov stack[rip+8], rax
	mov stack[rip+24], rax
	mov eax, 38
	xor edi, edi
	lea rsi, stack[rip]
	xor edx, edx
	syscall`

// data writes the program's memory.
func (g *Generator) data() {
	g.line("\t.data\n\t.balign 4096\ncount0:\t.long 0\ncount1:\t.long 0\ncount2:\t.long 0\n\t.balign 64\nvectors:")
	for range 256 {
		g.line("\t.quad %d", int64(g.rng.Uint64()))
	}
	g.line("floats:")
	for range 64 {
		g.line("\t.double %f", g.rng.Float64()*1000-500)
	}
	g.line("small:")
	for range 16 {
		g.line("\t.long %d", g.rng.IntN(100)-50)
	}
	g.line("cell:\t.quad 0\nresume:\t.quad 0\nhandled:\t.quad 0\nouter:\t.quad 0\n\t.balign 4096\nstate:\t.skip 3968\nfaulted:\t.skip 128\nbuf:")
	for range 512 {
		g.line("\t.quad %d", int64(g.rng.Uint64()))
	}
	g.line("stack:\t.skip 4096+64\nall_end:\n\t.bss\n\t.balign 64\naltstack:\t.skip 65536")
}
