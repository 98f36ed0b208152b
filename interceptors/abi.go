package interceptors

import (
	"slices"
	"strings"

	"alleria/abp/calls"
	"alleria/internal/capture"
)

// The System V calling convention for AMD64, section 3.2.3: values are taken apart into words of eight bytes, each of a
// class that says in what kind of register it travels.

// class is the class of eight bytes.
type class uint8

const (
	none class = iota
	integer
	sse
	sseUp // the upper words of a vector register
	x87   // with its upper word, the exponent
	x87Up
	complexX87
	memory
)

// place is where a value is: its pieces, or, if hidden, the register with its address.
type place struct {
	pieces []piece
	hidden bool
}

// piece is so many bytes of a value, from off on.
type piece struct {
	src        capture.Source
	off, bytes uint32
}

// Registers of arguments, as x86 numbers them: rdi, rsi, rdx, rcx, r8, r9. Eight vector registers.
const vectorArgs = 8

func generalArgs() []uint32 { return []uint32{7, 6, 2, 1, 8, 9} }

// Registers of results.
const rax, rdx = 0, 2

// locate gives each argument and the result its place. Arguments that are left out have none, nor have those of which it is not known.
func (c *Compiler) locate(p *Prototype) (args []place, result place) {
	if p.Left == nil {
		return c.locateAll(p)
	}
	q := *p
	q.Args = nil
	for i, t := range p.Args {
		if !p.Left[i] {
			q.Args = append(q.Args, t)
		}
	}
	there, result := c.locateAll(&q)
	args = make([]place, len(p.Args))
	for i := range args {
		if p.Left[i] {
			continue
		}
		if p.Unsure == nil || !p.Unsure[i] {
			args[i] = there[0]
		}
		there = there[1:]
	}
	return args, result
}

// locateAll is locate where nothing is left out.
func (c *Compiler) locateAll(p *Prototype) (args []place, result place) {
	if p.Go {
		return c.locateGo(p)
	}
	if p.Rust > 0 || p.Unplaced {
		return c.locateRust(p)
	}
	if p.Windows {
		return c.locateWindows(p)
	}
	l := locator{c: c, p: p, general: generalArgs()}
	if p.Result != 0 {
		result = c.resultPlace(p.Result, l.resultClasses(p.Result))
		if result.hidden {
			l.general = l.general[1:]
		}
	}
	for _, t := range p.Args {
		args = append(args, l.argument(t))
	}
	return args, result
}

// locator gives arguments their places one after the other.
type locator struct {
	c       *Compiler
	p       *Prototype
	general []uint32 // registers that are left
	vectors uint32   // registers that are taken
	stack   uint32   // bytes that are taken
}

func (l *locator) argument(t calls.TypeID) place {
	c, ty := l.c, l.c.Table.Type(t)
	if c.byRef[t] && len(l.general) > 0 {
		return place{hidden: true, pieces: []piece{{src: l.register(), bytes: 8}}}
	}
	classes := l.classify(t)
	ints, vecs := needs(classes)
	inMemory := len(classes) == 0 && ty.Size > 0 || len(classes) > 0 && classes[0] >= x87
	if l.p.Clang > 0 {
		inMemory = inMemory || l.p.Variadic && ty.Size > 16 // what is or holds one wide vector, whether named or not
		if l.p.Clang < clangWhole && ty.Size == 16 && ints == 2 && len(ty.Fields) == 0 && len(l.general) < 2 {
			return l.split()
		}
	}
	if inMemory || ints > len(l.general) || int(l.vectors)+vecs > vectorArgs {
		return place{hidden: c.byRef[t], pieces: []piece{{src: l.memory(max(8, ty.Align), ty.Size), bytes: max(ty.Size, 1)}}}
	}
	return l.registers(classes, ty.Size)
}

// needs counts the registers of each kind that a value's classes need.
func needs(classes []class) (ints, vecs int) {
	for _, k := range classes {
		switch k {
		case integer:
			ints++
		case sse:
			vecs++
		}
	}
	return ints, vecs
}

// registers places a value of so many bytes in registers, of which there are enough.
func (l *locator) registers(classes []class, size uint32) (pl place) {
	for i, k := range classes {
		off := uint32(8 * i)
		switch k {
		case integer:
			pl.pieces = append(pl.pieces, piece{l.register(), off, 8})
		case sse:
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.Vector, N: l.vectors}, off, vectorBytes(classes[i:], size-off)})
			l.vectors++
		}
	}
	return pl
}

// resultClasses is classify of a result. A vector of one double, by itself, clang returns as a double.
func (l *locator) resultClasses(t calls.TypeID) []class {
	if ty := l.c.Table.Type(t); l.p.Clang > 0 && ty.Kind == calls.Vector && l.c.isOneDouble(ty) {
		return []class{sse}
	}
	return l.classify(t)
}

// classify is Compiler.classify for what the function was compiled for: wider vectors travel in memory.
func (l *locator) classify(t calls.TypeID) []class {
	classes, ty := l.c.classify(t), l.c.Table.Type(t)
	switch {
	case l.p.Clang == 0:
	case ty.Size > 16 && l.c.isEmpty(t, 0):
		return nil // of what has nothing in it only as much as registers would hold is left out
	case l.p.Clang < clangWhole && (ty.Kind == calls.Struct || ty.Kind == calls.Union) && l.c.holdsQuad(t, 0):
		return nil
	}
	if l.p.Widest > 0 && len(classes) > 2 && 8*len(classes) > l.p.Widest && classes[0] == sse {
		return nil
	}
	return classes
}

// clangWhole is the first version of clang that passes an integer of 16 bytes in two registers or in memory, aligned to it, and records with a
// floating-point number of that size as the convention says. Earlier ones pass each half of the integer by itself, and such records in memory.
const clangWhole = 18

// split places an integer of 16 bytes as two.
func (l *locator) split() (pl place) {
	for off := uint32(0); off < 16; off += 8 {
		if len(l.general) > 0 {
			pl.pieces = append(pl.pieces, piece{l.register(), off, 8})
			continue
		}
		pl.pieces = append(pl.pieces, piece{l.memory(8, 8), off, 8})
	}
	return pl
}

// register takes the next general register. There is one.
func (l *locator) register() capture.Source {
	n := l.general[0]
	l.general = l.general[1:]
	return capture.Source{Kind: capture.GPR, N: n}
}

// memory takes the next place on the stack.
func (l *locator) memory(align, size uint32) capture.Source {
	at := (l.stack + align - 1) &^ (align - 1)
	l.stack = at + (size+7)&^7
	return capture.Source{Kind: capture.Stack, N: at}
}

// vectorBytes is how many bytes of a vector register a value takes from its first word on.
func vectorBytes(classes []class, left uint32) uint32 {
	n := uint32(8)
	for _, k := range classes[1:] {
		if k != sseUp {
			break
		}
		n += 8
	}
	return min(n, left)
}

// resultPlace is where a result is at return.
func (c *Compiler) resultPlace(t calls.TypeID, classes []class) place {
	ty := c.Table.Type(t)
	if c.byRef[t] || len(classes) == 0 && ty.Size > 0 {
		return place{hidden: true, pieces: []piece{{src: capture.Source{Kind: capture.GPR, N: rax}, bytes: 8}}}
	}
	var pl place
	general, vectors := []uint32{rax, rdx}, uint32(0)
	for i, k := range classes {
		off := uint32(8 * i)
		switch k {
		case integer:
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.GPR, N: general[0]}, off, 8})
			general = general[1:]
		case sse:
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.Vector, N: vectors}, off, vectorBytes(classes[i:], ty.Size-off)})
			vectors++
		case x87:
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.X87}, off, 10})
		case complexX87:
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.X87, N: uint32(i / 2)}, off, 10})
		}
	}
	return pl
}

// classify gives the classes of a value's words; none at all: it travels in memory.
func (c *Compiler) classify(t calls.TypeID) []class {
	ty := c.Table.Type(t)
	switch {
	case t == 0:
		return []class{integer} // a parameter of which nothing is known
	case ty.Kind == calls.Void || ty.Size == 0:
		return nil
	case ty.Kind == calls.Struct && isComplexX87(ty):
		return []class{complexX87, none, complexX87, none}
	case ty.Kind == calls.Vector && c.isOneDouble(ty):
		return nil
	case ty.Kind == calls.Vector:
		return vectorClasses(ty.Size)
	case c.isEmpty(t, 0):
		return make([]class, 1) // C++ gives it a size, and passes nothing
	case ty.Size > widestVector:
		return nil
	}
	classes := make([]class, (ty.Size+7)/8)
	if !c.merge(classes, t, 0, 0) {
		return nil
	}
	classes = merged(classes)
	if ty.Size > 16 && (len(classes) == 0 || classes[0] != sse || slices.ContainsFunc(classes[1:], func(k class) bool { return k != sseUp })) {
		return nil // more than what fills one vector register
	}
	return classes
}

// widestVector is how many bytes the widest vector register has.
const widestVector = 64

// isEmpty tells whether a record has nothing in it: no fields, or records without any.
func (c *Compiler) isEmpty(t calls.TypeID, depth int) bool {
	ty := c.Table.Type(t)
	if depth > 16 {
		return false
	}
	switch ty.Kind {
	case calls.Struct, calls.Union:
		return !ty.IsVariants() && !slices.ContainsFunc(ty.Fields, func(f calls.Field) bool { return f.Bits > 0 || !c.isEmpty(f.Type, depth+1) })
	case calls.Array:
		return ty.Count == 0 || c.isEmpty(ty.Elem, depth+1)
	}
	return false
}

// merged is what becomes of a value's classes in the end (the "post merger cleanup").
func merged(classes []class) []class {
	for i, k := range classes {
		switch {
		case k == memory, k == x87Up && (i == 0 || classes[i-1] != x87):
			return nil
		case k == sseUp && (i == 0 || classes[i-1] != sse && classes[i-1] != sseUp):
			classes[i] = sse
		}
	}
	return classes
}

// isComplexX87 tells whether a record stands for a complex number of two long doubles.
func isComplexX87(t *calls.Type) bool {
	return t.Size == 32 && strings.Contains(strings.ToLower(t.Name), "complex") && len(t.Fields) == 2
}

// holdsQuad tells whether a value is or has in it a binary floating-point number of 16 bytes, other than the x87's.
func (c *Compiler) holdsQuad(t calls.TypeID, depth int) bool {
	ty := c.Table.Type(t)
	if depth > 16 {
		return false
	}
	switch ty.Kind {
	case calls.Struct, calls.Union:
		return slices.ContainsFunc(ty.Fields, func(f calls.Field) bool { return f.Bits == 0 && c.holdsQuad(f.Type, depth+1) })
	case calls.Array:
		return c.holdsQuad(ty.Elem, depth+1)
	}
	return ty.Kind == calls.Float && ty.Size == 16 && strings.Contains(ty.Name, "128")
}

// isOneDouble tells whether a vector has a double and nothing else: compilers pass those in memory.
func (c *Compiler) isOneDouble(t *calls.Type) bool {
	return t.Size == 8 && t.Count == 1 && c.Table.Type(t.Elem).Kind == calls.Float
}

func vectorClasses(size uint32) []class {
	k := make([]class, (size+7)/8)
	for i := range k {
		k[i] = sseUp
	}
	k[0] = sse
	return k
}

// merge adds the classes of a part of a value, which begins at an offset; false: it has fields that are not aligned,
// and travels in memory.
func (c *Compiler) merge(classes []class, t calls.TypeID, at uint32, depth int) bool {
	ty := c.Table.Type(t)
	if depth > 16 {
		return false
	}
	switch ty.Kind {
	case calls.Struct, calls.String, calls.Union:
		return c.mergeFields(classes, ty, at, depth)
	case calls.Array:
		size := c.Table.Type(ty.Elem).Size
		for i := uint32(0); uint64(i) < ty.Count && size > 0 && int(at+i*size) < 8*len(classes); i++ {
			if !c.merge(classes, ty.Elem, at+i*size, depth+1) {
				return false
			}
		}
		return true
	}
	// Of records only the numbers in them count: how a record itself is aligned, its debug information may leave out.
	if ty.Align > 1 && at%ty.Align != 0 {
		return false
	}
	switch ty.Kind {
	case calls.Vector:
		if c.isOneDouble(ty) {
			return false
		}
		for i, k := range vectorClasses(ty.Size) {
			put(classes, at/8+uint32(i), k)
		}
		return true
	case calls.Float:
		mergeFloat(classes, ty, at/8)
		return true
	}
	for off := uint32(0); off < ty.Size; off += 8 {
		put(classes, (at+off)/8, integer)
	}
	put(classes, (at+ty.Size-1)/8, integer)
	return true
}

// mergeFields is merge of a record.
func (c *Compiler) mergeFields(classes []class, ty *calls.Type, at uint32, depth int) bool {
	if ty.IsVariants() && ty.Elem != 0 && !c.merge(classes, ty.Elem, at+uint32(ty.Count), depth+1) {
		return false
	}
	for i := range ty.Fields {
		f := &ty.Fields[i]
		if f.Bits > 0 {
			bit := 8*(at+f.Offset) + uint32(f.Bit)
			put(classes, bit/64, integer)
			put(classes, (bit+uint32(f.Bits)-1)/64, integer)
			continue
		}
		if !c.merge(classes, f.Type, at+f.Offset, depth+1) {
			return false
		}
	}
	return true
}

// mergeFloat adds the classes of a floating-point number.
func mergeFloat(classes []class, ty *calls.Type, i uint32) {
	low, up := x87, x87Up
	switch {
	case ty.Size <= 8:
		put(classes, i, sse)
		return
	case strings.Contains(ty.Name, "128"):
		low, up = sse, sseUp
	}
	put(classes, i, low)
	put(classes, i+1, up)
}

// put merges a class into that of a word.
func put(classes []class, i uint32, k class) {
	if int(i) >= len(classes) {
		return
	}
	old := &classes[i]
	switch {
	case *old == k || k == none:
	case *old == none:
		*old = k
	case *old == memory || k == memory:
		*old = memory
	case *old == integer || k == integer:
		*old = integer
	case *old >= x87 || k >= x87:
		*old = memory
	default:
		*old = sse
	}
}
