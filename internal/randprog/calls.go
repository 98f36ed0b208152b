package randprog

import (
	"fmt"
	"strings"
)

// functions is how many functions a program of Calls has at most.
const functions = 9

// kind is how a function of Calls begins, which is what its callers have to mind.
type kind uint8

const (
	plain    kind = iota
	repeated      // with a repeated string instruction: rsi, rdi and ecx are arguments
	looping       // its first instruction is the head of a loop, bounded by a counter
)

// function is one function of a program of Calls.
type function struct {
	name  string
	kind  kind
	alias string // "": none
	cold  bool   // a part of it lies apart
}

// Calls makes a program of functions that call each other: directly, through
// registers and tables, by tail calls, with recursion. Some begin with the head of a
// loop or with a repeated string instruction, some have a second name, a part that
// lies apart or a clone; some instructions fault and go on in the handler; there are
// system calls, and code in no function.
//
// It writes nothing. A counter bounds the calls of the whole program; without it mutual recursion would
// not end. Base and index are the same registers throughout, so that every function
// may access memory.
func (g *Generator) Calls() string {
	g.b.Reset()
	// None that calls, system calls or string instructions take.
	fixed := []string{"rbx", "rbp", "r8", "r9", "r10", "r12", "r13", "r14", "r15"}
	g.rng.Shuffle(len(fixed), func(i, j int) { fixed[i], fixed[j] = fixed[j], fixed[i] })
	g.base, g.index = fixed[0], fixed[1]
	list := g.functions()
	g.line("\t.intel_syntax noprefix\n\t.text")
	for i := range helpers {
		g.open(fmt.Sprintf("helper%d", i), true)
		g.line("%s", g.fill(helpers[i]))
		g.close(fmt.Sprintf("helper%d", i))
	}
	g.line("\t.type handler, @function\n%s\n\t.size handler, restorer-handler", handlerCode)
	for i := range list {
		g.function(list, &list[i])
	}
	if g.Beside {
		g.line("%s", strings.Replace(besideCode, "{end}", []string{"34", "60"}[len(list)%2], 1)) // pause or exit
	}
	g.line(".Lunnamed:") // code in no function: its label is in no table
	g.body(4, 0)
	g.pops()
	g.line("\tret")
	g.start(list)
	g.data()
	// The table is filled by code: a program without a C library relocates nothing.
	g.line("\t.data\nfuel:\t.quad %d\nturns:\t.quad 0\ntable:\t.skip %d", 20+g.rng.IntN(100), 8*len(list))
	g.line("\t.bss\n\t.balign 64\n\t.skip 65536\ncalls_stack:\t.skip 64")
	return g.b.String()
}

// functions decides on the program's functions.
func (g *Generator) functions() []function {
	list := make([]function, 3+g.rng.IntN(functions-2))
	for i := range list {
		f := &list[i]
		f.name = fmt.Sprintf("%s%d", []string{"work", "walk", "w_or_k"}[g.rng.IntN(3)], i)
		switch g.rng.IntN(6) {
		case 0:
			f.kind = repeated
		case 1:
			f.kind = looping
		case 2:
			f.name += fmt.Sprintf(".constprop.%d", g.rng.IntN(2))
		}
		if g.rng.IntN(4) == 0 {
			f.alias = fmt.Sprintf("also%d", i)
		}
		f.cold = g.rng.IntN(4) == 0
	}
	return list
}

// open and close bound a function.
func (g *Generator) open(name string, global bool) {
	if global {
		g.line("\t.globl %s", name)
	}
	g.line("\t.type %s, @function\n%s:", name, name)
}

func (g *Generator) close(name string) { g.line("\t.size %s, .-%s", name, name) }

// function writes one function.
func (g *Generator) function(list []function, f *function) {
	g.depth = 0
	cold := ""
	if f.cold {
		cold = f.name + ".cold"
		g.open(cold, false)
		g.balanced(1 + g.rng.IntN(4))
		g.line("\tjmp %s.warm", f.name)
		g.close(cold)
	}
	g.open(f.name, g.rng.IntN(2) == 0)
	if f.alias != "" {
		g.line("\t.globl %s\n\t.set %[1]s, %s\n\t.type %[1]s, @function", f.alias, f.name)
	}
	switch f.kind {
	case repeated:
		g.line("\t%s", []string{"rep movsb", "rep stosb", "repe cmpsb", "rep lodsb"}[g.rng.IntN(4)])
	case looping:
		g.balanced(1 + g.rng.IntN(3))
		g.line("\tdec qword ptr turns[rip]")
		if g.rng.IntN(2) == 0 {
			g.line("\tjg %s", f.name)
		} else {
			l := g.newLabel()
			g.line("\tjle %s\n\tlea rax, %s[rip]\n\tjmp rax\n%[1]s:", l, f.name)
		}
	}
	for range 1 + g.rng.IntN(4) {
		g.body(1+g.rng.IntN(6), 0)
		g.call(list)
	}
	if cold != "" {
		g.line("%s", g.fill("\tj{cc} "+cold))
		g.line("%s.warm:", f.name)
	}
	g.body(g.rng.IntN(4), 0)
	g.pops()
	if g.rng.IntN(3) == 0 { // a tail call
		to := &list[g.rng.IntN(len(list))]
		l := g.newLabel()
		g.line("\tdec qword ptr fuel[rip]\n\tjs %s", l)
		g.arguments(to)
		g.line([]string{"\tjmp %s", "\tlea rax, %s[rip]\n\tjmp rax"}[g.rng.IntN(2)], to.name)
		g.line("%s:", l)
	}
	g.line([]string{"\tret", "\tret", "\tlea rsp, [rsp]\n\trep ret"}[g.rng.IntN(3)])
	g.close(f.name)
}

// balanced writes a body that leaves the stack pointer as it was: it may run any
// number of times.
func (g *Generator) balanced(n int) {
	depth := g.depth
	g.body(n, 1)
	g.line("\tlea rsp, [rsp%+d]", 8*(g.depth-depth))
	g.depth = depth
}

// pops takes what the function has pushed off the stack.
func (g *Generator) pops() {
	g.line("\tlea rsp, [rsp+%d]", 8*g.depth)
	g.depth = 0
}

// call writes a call of a random function, or something else that happens between
// them.
func (g *Generator) call(list []function) {
	l := g.newLabel()
	to := &list[g.rng.IntN(len(list))]
	switch g.rng.IntN(10) {
	case 0:
		g.line("\tcall .Lunnamed")
		return
	case 1: // getuid, geteuid, sched_yield: the same in every run
		g.line("\tmov eax, %d\n\tsyscall\n\tmov ecx, eax", []int{102, 107, 24}[g.rng.IntN(3)])
		return
	case 2: // several times
		g.line("\tpush %d\n%s.l:", 1+g.rng.IntN(4), l)
		defer g.line("\tdec qword ptr [rsp]\n\tjg %s.l\n\tlea rsp, [rsp+8]", l)
	}
	g.line("\tdec qword ptr fuel[rip]\n\tjs %s", l)
	g.arguments(to)
	name := to.name
	if to.alias != "" && g.rng.IntN(2) == 0 {
		name = to.alias
	}
	switch g.rng.IntN(4) {
	case 0:
		g.line("\tlea rax, %s[rip]\n\tcall rax", name)
	case 1:
		for i := range list {
			if &list[i] == to {
				g.line("\tcall qword ptr table[rip+%d]", 8*i)
			}
		}
	default:
		g.line("\tcall %s", name)
	}
	g.line("%s:", l)
}

// arguments sets what a function takes.
func (g *Generator) arguments(to *function) {
	switch to.kind {
	case repeated:
		g.line("%s", g.fill("\tlea rsi, {near}\n\tlea rdi, {near}\n\tmov ecx, {u3}\n\tmov eax, {i8}"))
	case looping:
		g.line("\tmov qword ptr turns[rip], %d", 1+g.rng.IntN(4))
	}
}

// start writes where the program begins and ends.
func (g *Generator) start(list []function) {
	g.open("_start", true)
	g.line("%s", handlerSetUp)
	if g.Beside {
		g.line("%s", startBeside)
	}
	g.line("\tmov eax, 158\n\tmov edi, 0x1002\n\tlea rsi, buf[rip+1600]\n\tsyscall")
	g.line("\tlea rsp, calls_stack[rip]")
	for i := range list {
		g.line("\tlea rax, %s[rip]\n\tmov table[rip+%d], rax", list[i].name, 8*i)
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
	for range 2 + g.rng.IntN(4) {
		g.body(1+g.rng.IntN(4), 0)
		g.call(list)
	}
	g.pops()
	g.line("\tmov eax, 231\n\txor edi, edi\n\tsyscall")
	g.close("_start")
}
