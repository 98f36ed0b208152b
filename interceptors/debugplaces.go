package interceptors

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"strings"

	"alleria/abp/calls"
	"alleria/internal/capture"
)

// Compilers change functions that only they call: they leave out parameters that nothing reads, or that are always the same, and the others move up. Debug
// information lists all of them still, and says where those are that are left. So what it says of the function's first instruction is held against the
// convention: with each choice of the parameters that it says nothing of left out or not, those that it does must be where the convention has them. A parameter
// that is in one place with all choices that are possible is there, and any other is nowhere that is known.

// evidence is what debug information says of where a parameter is when its function begins.
type evidence struct {
	here     bool           // it has a place
	later    bool           // it has one behind the first instructions
	gone     bool           // it is left out
	constant bool           // it is the same in each call
	register bool           // it is in one
	at       capture.Source // which
	address  bool           // what it is, or what is in the register, is its address
}

// mostGuessed is how many parameters may be left out or not: with each the choices are twice as many.
const mostGuessed = 8

// evidenceOf looks at a parameter; pc is its function's first instruction.
func (d *debugInfo) evidenceOf(e *dwarf.Entry, pc uint64) (v evidence) {
	expr := d.data.Location(e, pc)
	v.here, v.constant = len(expr) > 0, e.Val(dwarf.AttrConstValue) != nil
	v.later = !v.here && e.Val(dwarf.AttrLocation) != nil
	const entryValue, gnuEntryValue, stackValue = 0xa3, 0xf3, 0x9f
	if n := len(expr); n > 2 && (expr[0] == entryValue || expr[0] == gnuEntryValue) && int(expr[1])+3 == n && expr[n-1] == stackValue {
		expr = expr[2 : n-1]
	}
	v.read(expr)
	return v
}

// read takes a place from an expression.
func (v *evidence) read(expr []byte) {
	const (
		deref, reg0, reg31, breg0, breg31 = 0x06, 0x50, 0x6f, 0x70, 0x8f
		regx, fbreg, stackValue           = 0x90, 0x91, 0x9f
		gnuParameterRef                   = 0xfa
		rbp, rsp                          = 6, 7
	)
	switch n := len(expr); {
	case n == 0:
	case expr[n-1] == stackValue: // its value can be told, which is nowhere
		v.here, v.gone = false, expr[0] == gnuParameterRef
	case n == 1 && expr[0] >= reg0 && expr[0] <= reg31:
		v.at, v.register = dwarfRegister(int(expr[0] - reg0))
	case n == 2 && expr[0] == regx && expr[1] < 0x80:
		v.at, v.register = dwarfRegister(int(expr[1]))
	case n == 2 && expr[0] >= breg0 && expr[0] <= breg31 && expr[1] == 0 && expr[0] != breg0+rbp && expr[0] != breg0+rsp:
		v.at, v.register = dwarfRegister(int(expr[0] - breg0))
		v.address = v.register
	case expr[0] == fbreg && expr[n-1] == deref && n <= 12:
		v.address = true
	}
}

// value tells whether a parameter is known to be in its place itself, and not its address.
func (v *evidence) value() bool { return v.here && !v.address }

// evidence is what is said of a function's parameters.
func (d *debugInfo) evidence(fn *dwarf.Entry, params []*dwarf.Entry) []evidence {
	said := make([]evidence, len(params))
	if pc, ok := d.entryOf(fn); ok {
		for i, e := range params {
			said[i] = d.evidenceOf(e, pc)
		}
	}
	return said
}

// dwarfRegister is a register by its number in debug information.
func dwarfRegister(n int) (s capture.Source, ok bool) {
	general := [...]uint32{0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15} // rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp
	const xmm0, xmm15 = 17, 32
	switch {
	case n < len(general):
		return capture.Source{Kind: capture.GPR, N: general[n]}, true
	case n >= xmm0 && n <= xmm15:
		return capture.Source{Kind: capture.Vector, N: uint32(n - xmm0)}, true
	}
	return s, false
}

// inOrder sorts parameters of a function's copy as the function has them: compilers list those last that the copy has not.
func inOrder(params []*dwarf.Entry) {
	for _, e := range params {
		if _, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); !ok {
			return
		}
	}
	slices.SortStableFunc(params, func(a, b *dwarf.Entry) int {
		return cmp.Compare(a.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset), b.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset))
	})
}

// entryOf is a function's first instruction.
func (d *debugInfo) entryOf(fn *dwarf.Entry) (pc uint64, ok bool) {
	if pc, ok = fn.Val(dwarf.AttrLowpc).(uint64); ok {
		return pc, true
	}
	ranges, err := d.data.Ranges(fn)
	if err != nil || len(ranges) == 0 {
		return 0, false
	}
	return ranges[0][0], true
}

// settle finds out which parameters of a function are where the convention has them, and which are not there.
func (d *debugInfo) settle(p *Prototype, fn *dwarf.Entry, said []evidence) {
	producer := ""
	if unit := d.data.UnitOf(fn); unit != nil {
		producer, _ = unit.Val(dwarf.AttrProducer).(string)
	}
	gnu := strings.HasPrefix(producer, "GNU ")
	if p.Go || p.Unplaced || len(said) != len(p.Args) || !gnu && !strings.Contains(producer, "clang") {
		return // of others it is not known what they say
	}
	none, unsaid := d.absent(p, said, gnu)
	_, copied := fn.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if _, ok := d.agrees(p, said, none); ok && !slices.Contains(none, true) {
		if len(unsaid) == 0 || d.isExternal(fn) && (!gnu || !copied) { // GCC says where all are that its copies of functions have, and nothing of complex numbers
			return
		}
	}
	if len(unsaid) > mostGuessed {
		p.Unplaced = true
		return
	}
	d.choose(p, said, none, unsaid)
}

// absent are the parameters that are not passed, and those by index of which nothing is said.
func (d *debugInfo) absent(p *Prototype, said []evidence, gnu bool) (none []bool, unsaid []int) {
	none = make([]bool, len(p.Args))
	for i, v := range said {
		switch {
		case v.gone || gnu && v.constant:
			none[i] = true
		case p.Rust > 0 && v.later: // rustc's say where an address is put that has been passed
		case !v.here && !d.c.isNothing(p.Args[i]):
			unsaid = append(unsaid, i)
		}
	}
	return none, unsaid
}

// isExternal tells whether a function may be called from elsewhere.
func (d *debugInfo) isExternal(fn *dwarf.Entry) (is bool) {
	if e := d.chain(fn, dwarf.AttrExternal); e != nil {
		is, _ = e.Val(dwarf.AttrExternal).(bool)
	}
	return is
}

// choose goes over all choices of the parameters that nothing is said of.
func (d *debugInfo) choose(p *Prototype, said []evidence, none []bool, unsaid []int) {
	var agreed []place
	var left []bool
	unsure := make([]bool, len(p.Args))
	for choice := range 1 << len(unsaid) {
		without := slices.Clone(none)
		for bit, i := range unsaid {
			without[i] = choice>>bit&1 == 1
		}
		places, ok := d.agrees(p, said, without)
		if !ok {
			continue
		}
		if agreed == nil {
			agreed, left = places, without
		}
		for i := range places {
			unsure[i] = unsure[i] || without[i] || !slices.Equal(places[i].pieces, agreed[i].pieces)
		}
	}
	if agreed == nil {
		p.Unplaced = true
		return
	}
	p.Left, p.Unsure = left, unsure
	for i := range p.Captures {
		w := &p.Captures[i]
		w.Out = w.Out && !unsure[w.Index]
	}
}

// agrees tells whether the parameters are where debug information has them if some are left out, and where all are then.
func (d *debugInfo) agrees(p *Prototype, said []evidence, without []bool) ([]place, bool) {
	q := *p
	q.Left = without
	places, _ := d.c.locate(&q)
	for i, v := range said {
		if !v.register || without[i] || len(places[i].pieces) == 0 {
			continue
		}
		at := places[i].pieces[0].src
		if v.address && places[i].hidden && at.Kind == capture.Stack {
			continue // clang names the register that an address from the stack is loaded to
		}
		if at != v.at {
			return nil, false
		}
	}
	return places, true
}

// isNothing tells whether a value takes no place.
func (c *Compiler) isNothing(t calls.TypeID) bool {
	return t != 0 && (c.Table.Type(t).Size == 0 || c.isEmpty(t, 0))
}

// byAddress makes the last parameter's type the address of what it was, as all of Fortran's are but those with VALUE.
func (d *debugInfo) byAddress(p *Prototype) {
	w := &p.Captures[len(p.Captures)-1]
	t := d.c.address("void *")
	if w.Type != 0 {
		t = d.c.toOne(w.Type)
	}
	w.Type, w.Out = t, w.Type != 0
	p.Args[w.Index] = t
}

// toOne is the address of one value of a type.
func (c *Compiler) toOne(of calls.TypeID) calls.TypeID {
	key := [2]any{of, "address"}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: c.Table.Type(of).Name + " &", Size: 8, Align: 8, Elem: of, Extent: calls.ExtentCount, Count: 1})
	c.config[key] = id
	return id
}

// isFortran tells whether a unit is one of Fortran.
func (d *debugInfo) isFortran(fn *dwarf.Entry) bool {
	const f77, f90, f95, f03, f08, f18 = 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d
	unit := d.data.UnitOf(fn)
	return unit != nil && slices.Contains([]uint64{f77, f90, f95, f03, f08, f18}, uint64(number(unit, dwarf.AttrLanguage)))
}
