package interceptors

import (
	"debug/dwarf"
	"strings"
)

// Whether a C++ class travels by the address of a copy is decided by its copy and move constructors and its destructor (Itanium C++ ABI, 1.1, "non-trivial for the purposes
// of calls"). clang states what comes of it (DW_AT_calling_convention), GCC does not; so it is derived from what the class declares. Members that nobody declared are in no
// debug information, or artificial in it: what they do the classes' bases and members say.

// Attributes and values that debug/dwarf does not name.
const (
	attrDeleted      = 0x8a
	attrDefaulted    = 0x8b
	defaultedInClass = 1
)

// manner is what a special member function of a class does.
type manner uint8

const (
	trivial    manner = iota
	absent            // there is none: of moving, copying is what is done
	deleted           // it may not be called
	nontrivial        // it runs code
)

// specials are the special member functions of a class that decide how it is passed.
type specials struct{ copy, move, destroy manner }

// add adds a base class or a member: what is done to the whole is done to it.
func (s *specials) add(part specials) {
	if part.move == absent {
		part.move = part.copy
	}
	s.copy, s.move, s.destroy = max(s.copy, part.copy), max(s.move, part.move), max(s.destroy, part.destroy)
}

// byReference tells whether a class with them is passed by the address of a copy.
func (s specials) byReference() bool {
	return s.copy == nontrivial || s.move == nontrivial || s.destroy == nontrivial || s.copy == deleted && (s.move == deleted || s.move == absent)
}

// declared are the special member functions that a class declares itself; nil: it leaves them to the compiler.
type declared struct {
	copy, move, destroy *manner
	copies, moves       bool // an assignment is declared
}

// specialsOf finds out how a type is copied, moved and destroyed.
func (d *debugInfo) specialsOf(off dwarf.Offset, depth int) specials {
	e, _, _ := d.bare(off)
	for range 8 { // arrays of arrays are one entry in C++, and more by typedefs
		if e == nil || e.Tag != dwarf.TagArrayType {
			break
		}
		to, ok := d.data.Ref(e, dwarf.AttrType)
		if !ok {
			return specials{}
		}
		e, _, _ = d.bare(to)
	}
	if e == nil || depth > 64 || e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagClassType && e.Tag != dwarf.TagUnionType {
		return specials{}
	}
	s, known := d.special[e.Offset]
	if !known {
		d.special[e.Offset] = specials{} // damaged: it lies within itself
		s = d.classSpecials(e, depth)
		d.special[e.Offset] = s
	}
	return s
}

// classSpecials is specialsOf for a class, struct or union.
func (d *debugInfo) classSpecials(e *dwarf.Entry, depth int) specials {
	const byValue = 5
	switch number(e, dwarf.AttrCalling) {
	case passByReference:
		return specials{copy: nontrivial, move: nontrivial}
	case byValue:
		return specials{}
	}
	var parts specials
	var own declared
	for _, m := range d.within(e) {
		virtual := number(m, dwarf.AttrVirtuality) != 0
		switch m.Tag {
		case dwarf.TagMember, dwarf.TagInheritance:
			if m.Val(dwarf.AttrExternal) != nil || m.Val(dwarf.AttrDeclaration) != nil {
				continue // static
			}
			if to, ok := d.data.Ref(m, dwarf.AttrType); ok {
				parts.add(d.specialsOf(to, depth+1))
			}
		case dwarf.TagSubprogram:
			d.declares(e, m, &own)
		default:
			continue
		}
		if virtual { // the address of a table is stored in each copy
			parts.add(specials{copy: nontrivial, move: nontrivial})
		}
	}
	return own.with(parts)
}

// with is what a class's special member functions do whose parts have those.
func (o *declared) with(parts specials) specials {
	s := parts
	moves := o.move != nil || o.moves
	switch {
	case o.copy != nil:
		s.copy = o.manner(o.copy, parts.copy)
	case moves:
		s.copy = deleted
	}
	switch {
	case o.move != nil:
		s.move = o.manner(o.move, parts.move)
	case o.copy != nil || o.copies || o.moves || o.destroy != nil || parts.move == deleted:
		s.move = absent
	}
	if o.destroy != nil {
		s.destroy = o.manner(o.destroy, parts.destroy)
	}
	return s
}

// manner is what a declared function does; one that is defaulted does what the class's parts do.
func (o *declared) manner(m *manner, parts manner) manner {
	if *m == trivial {
		return parts
	}
	return *m
}

// declares notes a member function of a class if it is a special one that somebody has written.
func (d *debugInfo) declares(class, fn *dwarf.Entry, own *declared) {
	if artificial, _ := fn.Val(dwarf.AttrArtificial).(bool); artificial {
		return
	}
	name, _ := fn.Val(dwarf.AttrName).(string)
	base, _ := class.Val(dwarf.AttrName).(string)
	base, _, _ = strings.Cut(base, "<") // of a template's instance the functions have the template's name
	m := nontrivial
	if is, _ := fn.Val(attrDeleted).(bool); is {
		m = deleted
	} else if number(fn, attrDefaulted) == defaultedInClass {
		m = trivial
	}
	switch {
	case base == "":
	case name == "~"+base:
		own.destroy = &m
	case name == base:
		switch d.takesItself(class, fn) {
		case dwarf.TagReferenceType:
			own.copy = worse(own.copy, m)
		case dwarf.TagRvalueReferenceType:
			own.move = worse(own.move, m)
		}
	case name == "operator=":
		switch d.takesItself(class, fn) {
		case dwarf.TagRvalueReferenceType:
			own.moves = true
		case dwarf.TagReferenceType, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			own.copies = true
		}
	}
}

// worse is what of two functions decides (T(T&) beside T(const T&)): one that runs code, and one that may be called.
func worse(old *manner, m manner) *manner {
	if old != nil && (*old == nontrivial || m == deleted) {
		return old
	}
	return &m
}

// takesItself tells by what kind of reference a function takes an object of its class, or, by the class's tag, that it takes a copy; 0: it takes something else. Instances of
// templates are no special functions.
func (d *debugInfo) takesItself(class, fn *dwarf.Entry) (by dwarf.Tag) {
	const packTag = 0x4107
	for _, p := range d.within(fn) {
		switch p.Tag {
		case dwarf.TagTemplateTypeParameter, dwarf.TagTemplateValueParameter, packTag, dwarf.TagUnspecifiedParameters:
			return 0
		case dwarf.TagFormalParameter:
			if artificial, _ := p.Val(dwarf.AttrArtificial).(bool); artificial {
				continue // this, and what classes with virtual bases are told
			}
			if by != 0 {
				return 0 // more than one parameter
			}
			if by = d.refersTo(p, class); by == 0 {
				return 0
			}
		}
	}
	return by
}

// refersTo tells by what kind of reference, or as what, a parameter has an object of a class; 0: it has none.
func (d *debugInfo) refersTo(p, class *dwarf.Entry) dwarf.Tag {
	off, ok := d.data.Ref(p, dwarf.AttrType)
	if !ok {
		return 0
	}
	e, _, _ := d.bare(off)
	if e == nil {
		return 0
	}
	by := e.Tag
	if by == dwarf.TagReferenceType || by == dwarf.TagRvalueReferenceType {
		if off, ok = d.data.Ref(e, dwarf.AttrType); !ok {
			return 0
		}
		if e, _, _ = d.bare(off); e == nil {
			return 0
		}
	}
	if e.Offset == class.Offset {
		return by
	}
	// Or its declaration, where the class is a type unit's.
	if incomplete, _ := e.Val(dwarf.AttrDeclaration).(bool); incomplete && e.Val(dwarf.AttrName) == class.Val(dwarf.AttrName) {
		return by
	}
	return 0
}
