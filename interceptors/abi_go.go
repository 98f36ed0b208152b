package interceptors

import (
	"alleria/abp/calls"
	"alleria/internal/capture"
)

// Go's internal calling convention (ABIInternal, cmd/compile/abi-internal.md): a value is taken apart into its numbers and pointers, and each gets a
// register of its own, also two that C would put into one. A value whose parts do not all find a register is on the stack as a whole, behind the
// return address. Results begin again with the first registers.

// goGeneral are the registers of integers and pointers, as x86 numbers them: rax, rbx, rcx, rdi, rsi, r8 to r11.
func goGeneral() []uint32 { return []uint32{0, 3, 1, 7, 6, 8, 9, 10, 11} }

// goVectors is how many vector registers take floating-point numbers, from xmm0 on.
const goVectors = 15

// goRegisters hands registers out.
type goRegisters struct {
	c       *Compiler
	general []uint32
	vectors uint32
	stack   uint32 // bytes
}

// locateGo gives each argument and the result its place.
func (c *Compiler) locateGo(p *Prototype) (args []place, result place) {
	in := goRegisters{c: c, general: goGeneral()}
	for _, t := range p.Args {
		args = append(args, in.value(t))
	}
	if p.Result != 0 {
		out := goRegisters{c: c, general: goGeneral()}
		if p.Results {
			result = out.results(p.Result)
		} else {
			result = out.value(p.Result)
		}
	}
	return args, result
}

// results is the place of several results, which are the fields of a record: each has one by itself.
func (g *goRegisters) results(t calls.TypeID) (pl place) {
	for _, f := range g.c.Table.Type(t).Fields {
		for _, q := range g.value(f.Type).pieces {
			q.off += f.Offset
			pl.pieces = append(pl.pieces, q)
		}
	}
	return pl
}

// value is the place of one argument or result.
func (g *goRegisters) value(t calls.TypeID) place {
	ty := g.c.Table.Type(t)
	if t == 0 {
		ty = &calls.Type{Kind: calls.Unsigned, Size: 8, Align: 8}
	}
	was := *g
	var pl place
	if g.parts(&pl, t, ty, 0, 0) {
		return pl
	}
	*g = was
	align := max(ty.Align, 1)
	g.stack = (g.stack + align - 1) &^ (align - 1)
	pl = place{pieces: []piece{{src: capture.Source{Kind: capture.Stack, N: g.stack}, bytes: max(ty.Size, 1)}}}
	g.stack += ty.Size
	return pl
}

// parts gives the parts of a value registers; false: there are too few, or it is an array of several elements.
func (g *goRegisters) parts(pl *place, t calls.TypeID, ty *calls.Type, off uint32, depth int) bool {
	if depth > 16 {
		return false
	}
	switch ty.Kind {
	case calls.Struct, calls.String:
		for i := range ty.Fields {
			f := &ty.Fields[i]
			if !g.parts(pl, f.Type, g.c.Table.Type(f.Type), off+f.Offset, depth+1) {
				return false
			}
		}
		return true
	case calls.Array:
		switch ty.Count {
		case 0:
			return true
		case 1:
			return g.parts(pl, ty.Elem, g.c.Table.Type(ty.Elem), off, depth+1)
		}
		return false
	case calls.Float:
		if g.vectors == goVectors {
			return false
		}
		pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.Vector, N: g.vectors}, off, ty.Size})
		g.vectors++
		return true
	}
	if len(g.general) == 0 || ty.Size > 8 {
		return false
	}
	pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.GPR, N: g.general[0]}, off, ty.Size})
	g.general = g.general[1:]
	return true
}
