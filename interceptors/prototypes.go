package interceptors

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"alleria/abp/calls"
	"alleria/internal/capture"
)

// Prototypes in ltrace's language (ltrace.conf(5)), with names of parameters behind their types as an addition:
//
//	int open(string path, int flags, ...);
//	long read(int fd, +string[retval] buf, ulong count);
//	typedef point = struct(int, int);
//	void move(point*, enum(UP, DOWN=4) where);
//
// A type is a plain one (void, int, uint, long, ulong, short, ushort, char, float, double, ldouble, addr, file, string, format,
// octal, hex, bool, bitvec), struct(…), array(TYPE, COUNT), enum(…), flags(…) of ours, a typedef's name, or one with *. COUNT is a number, argN,
// eltN, retval, zero, or a parameter's name. + before a type: it is filled in by the function. hide(…) is there and not captured.
//
//	errno: open, malloc
//	errno -1: mmap
//
// says, behind their prototypes, of which functions errno tells why they have failed: with -1, or with a null pointer where they return one; and
// which return -1 as a pointer.

// ErrPrototype is wrapped by errors of files of prototypes.
var ErrPrototype = errors.New("no prototype")

//go:embed libc.prototypes
var libcPrototypes string

// Prototypes is parsed files of prototypes.
type Prototypes struct {
	lines map[string]string // by function: what stands behind the name, and the result before it
	types map[string]string
	errno map[string]bool // functions that set it where they fail; true: with -1 in any case
}

// ParsePrototypes adds a file to what is known. Lines that it does not understand are errors; what is used of a line is looked
// at when it is used.
func (p *Prototypes) ParsePrototypes(name, text string) error {
	if p.lines == nil {
		p.lines, p.types, p.errno = make(map[string]string), make(map[string]string), make(map[string]bool)
	}
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line, _, _ = strings.Cut(line, "//")
		if at := strings.IndexByte(line, ';'); at >= 0 && !strings.HasPrefix(strings.TrimSpace(line), ";") {
			line = line[:at]
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, ";"):
			continue
		case strings.HasPrefix(line, "typedef "):
			alias, def, ok := strings.Cut(line[8:], "=")
			if alias = strings.TrimSpace(alias); !ok || alias == "" || strings.IndexFunc(alias, func(r rune) bool { return !isWord(r) }) >= 0 {
				return fmt.Errorf("%s:%d: %w: typedef NAME = TYPE is wanted", name, n+1, ErrPrototype)
			}
			p.types[alias] = strings.TrimSpace(def)
			continue
		}
		if p.failing(line) {
			continue
		}
		fn, err := functionName(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
		p.lines[fn] = line
	}
	return nil
}

// failing reads a line that says which functions set errno; false: it is none.
func (p *Prototypes) failing(line string) bool {
	how, names, found := strings.Cut(line, ":")
	if !found || how != "errno" && how != "errno -1" {
		return false
	}
	for name := range strings.SplitSeq(names, ",") {
		p.errno[strings.TrimSpace(name)] = how != "errno"
	}
	return true
}

// fails is how the result of a function of a type says that it has failed.
func (c *Compiler) fails(p *Prototypes, name string, result calls.TypeID) capture.Failing {
	minus, known := p.errno[name]
	switch t := c.Table.Type(result); {
	case !known:
	case minus:
		return capture.MinusOne
	case t.Kind == calls.Pointer || t.Kind == calls.Address:
		return capture.Zero
	case t.Kind == calls.Signed && t.Size == 4:
		return capture.MinusOneInt
	case t.Kind == calls.Signed && t.Size == 8:
		return capture.MinusOne
	}
	return capture.NeverFails
}

// functionName finds the name that a line is about: the word before the parenthesis at the outermost level that ends the line.
func functionName(line string) (string, error) {
	depth := 0
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				head := strings.TrimSpace(line[:i])
				at := strings.LastIndexFunc(head, func(r rune) bool { return !isWord(r) })
				if name := head[at+1:]; name != "" && strings.HasSuffix(line, ")") {
					return name, nil
				}
				return "", fmt.Errorf("%w: %q", ErrPrototype, line)
			}
		}
	}
	return "", fmt.Errorf("%w: %q", ErrPrototype, line)
}

func isWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Shipped is what is known of a function of the C library by one of its names; nil: nothing.
func (c *Compiler) Shipped(names []string) *Prototype {
	if c.shipped == nil {
		c.shipped = &Prototypes{}
		if err := c.shipped.ParsePrototypes("libc.prototypes", libcPrototypes); err != nil {
			panic(err) // a test reads it
		}
	}
	known := []*Prototypes{c.shipped}
	if c.Added != nil {
		known = []*Prototypes{&c.Added.Prototypes, c.shipped}
	}
	for _, all := range known {
		for _, name := range names {
			if all.lines[name] == "" {
				continue
			}
			if p, err := c.prototype(all, all.lines[name]); err == nil {
				p.Fails = c.fails(all, name, p.Result)
				return p
			}
		}
	}
	return nil
}

// protoParser reads one line.
type protoParser struct {
	c      *Compiler
	of     *Prototypes
	rest   string
	err    error
	names  map[int]string // of parameters by their number in the line, for argN
	nested int
	// left is how many types the line may still name, those of its typedefs with them: of typedefs that each name the one before
	// several times a short file makes more than memory holds.
	left *int
}

// maxTypes is how many types a line may name.
const maxTypes = 4096

// prototype makes the prototype of a line.
func (c *Compiler) prototype(of *Prototypes, line string) (*Prototype, error) {
	left := maxTypes
	p := &protoParser{c: c, of: of, rest: line, names: make(map[int]string), left: &left}
	out := &Prototype{}
	result := p.typ()
	fn := p.word()
	p.want("(")
	p.nameAhead()
	for n := 1; p.err == nil && !p.accept(")"); n++ {
		if n > 1 {
			p.want(",")
		}
		if p.accept("...") {
			out.Variadic = true
			continue
		}
		if p.param(out, n) {
			break
		}
	}
	if p.err != nil {
		return nil, fmt.Errorf("prototype of %s: %w", fn, p.err)
	}
	out.Result = result.id
	out.CaptureResult = result.id != 0
	return out, nil
}

// param reads a parameter; true: it is void, there is none.
func (p *protoParser) param(out *Prototype, n int) bool {
	filled := p.accept("+")
	hidden := p.accept("hide(")
	t := p.typ()
	if hidden {
		p.want(")")
	}
	if t.id == 0 && t.void && p.accept(")") {
		return true
	}
	name := p.word()
	if name == "" {
		name = p.names[n]
	}
	out.Args = append(out.Args, t.id)
	if t.format {
		out.Variadic, out.Format = true, true
	}
	if !hidden {
		out.Captures = append(out.Captures, Wanted{Name: name, Index: len(out.Args) - 1, Type: t.id, In: !filled, Out: filled})
	}
	return false
}

// nameAhead gives parameters that lengths refer to by number the names that they have, or that number as one.
func (p *protoParser) nameAhead() {
	depth, n, last := 0, 1, ""
	word := ""
	for i := 0; i < len(p.rest); i++ {
		ch := p.rest[i]
		if isWord(rune(ch)) {
			word += string(ch)
			continue
		}
		if word != "" && depth == 0 {
			last = word
		}
		word = ""
		switch {
		case ch == '(' || ch == '[':
			depth++
		case (ch == ')' || ch == ']') && depth > 0:
			depth--
			last = ""
		case (ch == ',' || ch == ')') && depth == 0:
			p.names[n] = "arg" + strconv.Itoa(n)
			if last != "" && !p.isType(last) {
				p.names[n] = last
			}
			n, last = n+1, ""
		case ch == '*':
			last = ""
		}
	}
}

func (p *protoParser) isType(word string) bool {
	_, ok := plainTypes()[word]
	return ok || p.of.types[word] != "" || word == "string" || word == "format" || word == "void"
}

func (p *protoParser) fail(text string) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s at %q", ErrPrototype, text, p.rest)
	}
	p.rest = ""
}

func (p *protoParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *protoParser) accept(s string) bool {
	p.space()
	if strings.HasPrefix(p.rest, s) {
		p.rest = p.rest[len(s):]
		return true
	}
	return false
}

func (p *protoParser) want(s string) {
	if !p.accept(s) {
		p.fail(s + " is wanted")
	}
}

func (p *protoParser) word() string {
	p.space()
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !isWord(r) })
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// protoType is a type of a prototype.
type protoType struct {
	id     calls.TypeID
	void   bool
	format bool
	array  bool // travels as a pointer to its elements
}

// plainType is a plain type: its kind, size and the name that C has for it.
type plainType struct {
	kind calls.Kind
	size uint32
	name string
}

func plainTypes() map[string]plainType {
	return map[string]plainType{
		"int": {calls.Signed, 4, "int"}, "uint": {calls.Unsigned, 4, "unsigned"}, "long": {calls.Signed, 8, "long"}, "ulong": {calls.Unsigned, 8, "unsigned long"},
		"short": {calls.Signed, 2, "short"}, "ushort": {calls.Unsigned, 2, "unsigned short"}, "char": {calls.Char, 1, "char"},
		"byte": {calls.Unsigned, 1, "unsigned char"}, "float": {calls.Float, 4, "float"}, "double": {calls.Float, 8, "double"},
		"ldouble": {calls.Float, 16, "long double"}, "addr": {calls.Address, 8, "void *"}, "file": {calls.Address, 8, "FILE *"},
		"wchar": {calls.Char32, 4, "wchar_t"},
	}
}

// typ reads a type.
func (p *protoParser) typ() protoType {
	if *p.left--; *p.left < 0 {
		p.fail("more than " + strconv.Itoa(maxTypes) + " types")
		return protoType{}
	}
	if p.nested == 20 {
		p.fail("types lie too deep in each other")
		return protoType{}
	}
	p.nested++
	defer func() { p.nested-- }()
	t := p.base()
	for p.accept("*") {
		switch {
		case t.array:
			t.array = false // array(…)* is what lengths are about: the pointer is made already
		case t.id == 0:
			t = protoType{id: p.c.address("void *")}
		default:
			t = protoType{id: p.c.one(t.id, "")}
		}
	}
	if t.array && p.nested == 1 {
		t.array = false
	}
	return t
}

// base reads a type up to its stars.
func (p *protoParser) base() protoType {
	w := p.word()
	if k, ok := plainTypes()[w]; ok {
		return protoType{id: p.c.named(k.name, k.kind, k.size)}
	}
	switch w {
	case "void":
		return protoType{void: true}
	case "string", "format":
		return protoType{id: p.stringType(), format: w == "format"}
	case "octal", "hex", "oct", "bool", "bitvec":
		t := protoType{id: p.c.named("unsigned", calls.Unsigned, 4)}
		if p.accept("(") {
			t = p.typ()
			p.want(")")
		}
		return p.based(w, t)
	case "enum":
		return p.enum(0)
	case "flags":
		return p.enum(calls.EnumBits)
	case "struct":
		return p.record()
	case "array":
		p.want("(")
		elem := p.typ()
		p.want(",")
		t := p.many(elem.id)
		p.want(")")
		return protoType{id: t, array: true}
	}
	def := p.of.types[w]
	if def == "" {
		p.fail("no type " + w)
		return protoType{}
	}
	key := [3]any{"typedef", p.of, w}
	if id := p.c.config[key]; id != 0 {
		return protoType{id: id}
	}
	sub := &protoParser{c: p.c, of: p.of, rest: def, names: p.names, nested: p.nested, left: p.left}
	t := sub.typ()
	if sub.err != nil {
		p.err, p.rest = sub.err, ""
		return protoType{}
	}
	if made := p.c.Table.Type(t.id); t.id != 0 && (made.Name == "struct" || made.Name == "enum") {
		p.c.Table.Types[t.id-1].Name += " " + w
	}
	if p.c.Table.Type(t.id).Kind == calls.Enum { // nothing in it hangs on the function
		p.c.config[key] = t.id
	}
	return t
}

// stringType reads what may stand behind string: [COUNT], or (array(char, COUNT)*).
func (p *protoParser) stringType() calls.TypeID {
	char := p.c.named("char", calls.Char, 1)
	switch {
	case p.accept("["):
		t := p.many(char)
		p.want("]")
		return t
	case p.accept("("):
		t := p.typ()
		p.want(")")
		return t.id
	}
	return p.c.text(autoString)
}

// many reads a count and makes a pointer to so many elements.
func (p *protoParser) many(elem calls.TypeID) calls.TypeID {
	t := calls.Type{Kind: calls.Pointer, Name: p.c.Table.Type(elem).Name + " *", Size: 8, Align: 8, Elem: elem}
	w := p.word()
	n, err := strconv.ParseUint(w, 0, 32)
	switch {
	case w == "zero":
		t.Extent = calls.ExtentSentinel
		if p.accept("(") { // zero(N): at most N
			p.word()
			p.want(")")
		}
	case w == "retval":
		t.Extent, t.Variable = calls.ExtentVariable, ResultName
	case err == nil:
		t.Extent, t.Count = calls.ExtentCount, max(n, 1)
	default:
		t.Extent, t.Variable = calls.ExtentVariable, w
		if k, err := strconv.Atoi(strings.TrimPrefix(w, "arg")); err == nil && p.names[k] != "" {
			t.Variable = p.names[k]
		}
	}
	if t.Extent == calls.ExtentVariable && t.Variable == "" {
		p.fail("a number of elements is wanted")
	}
	key := [3]any{"many", t.Name + "/" + t.Variable + "/" + strconv.Itoa(int(t.Count)) + "/" + strconv.Itoa(int(t.Extent)), elem}
	if id := p.c.config[key]; id != 0 {
		return id
	}
	id := p.c.Table.Add(t)
	p.c.config[key] = id
	return id
}

// based is an integer that is written in octal or hexadecimal.
func (p *protoParser) based(w string, t protoType) protoType {
	count := map[string]uint64{"octal": calls.EnumOctal, "oct": calls.EnumOctal, "hex": calls.EnumHex}[w]
	b := *p.c.Table.Type(t.id)
	if count == 0 || t.array || b.Kind != calls.Signed && b.Kind != calls.Unsigned {
		return t
	}
	key := [3]any{"based", t.id, count}
	id := p.c.config[key]
	if id == 0 {
		id = p.c.Table.Add(calls.Type{Kind: calls.Enum, Name: b.Name, Size: b.Size, Align: b.Align, Elem: t.id, Count: count})
		p.c.config[key] = id
	}
	return protoType{id: id}
}

// enum reads enum(A, B=4, …), or with [TYPE] its size; or flags(A=1, 3:B=0, …), whose values are sets of bits: B is what the two lowest are 0 for.
func (p *protoParser) enum(count uint64) protoType {
	base := p.c.named("int", calls.Signed, 4)
	if p.accept("[") {
		base = p.typ().id
		p.want("]")
	}
	b := p.c.Table.Type(base)
	e := calls.Type{Kind: calls.Enum, Name: "enum", Size: b.Size, Align: b.Align, Elem: base, Count: count}
	p.want("(")
	for next := int64(0); p.err == nil && !p.accept(")"); next++ {
		if len(e.Names) > 0 {
			p.want(",")
		}
		name := p.word()
		if count == calls.EnumBits && p.accept(":") {
			mask, err := strconv.ParseInt(name, 0, 64)
			if err != nil {
				p.fail("a mask is wanted")
			}
			e.Names = append(e.Names, calls.Const{Value: mask})
			name = p.word()
		}
		if p.accept("=") {
			p.space()
			minus := p.accept("-")
			v, err := strconv.ParseInt(p.word(), 0, 64)
			if err != nil {
				p.fail("a number is wanted")
			}
			if next = v; minus {
				next = -v
			}
		}
		e.Names = append(e.Names, calls.Const{Name: name, Value: next})
	}
	return protoType{id: p.c.Table.Add(e)}
}

// record reads struct(…). Fields without names are called elt1, elt2, …, as lengths refer to them.
func (p *protoParser) record() protoType {
	p.want("(")
	s := calls.Type{Kind: calls.Struct, Name: "struct", Align: 1}
	for n := 1; p.err == nil && !p.accept(")"); n++ {
		if n > 1 {
			p.want(",")
		}
		hidden := p.accept("hide(")
		t := p.typ()
		if hidden {
			p.want(")")
		}
		name := p.word()
		if name == "" {
			name = "elt" + strconv.Itoa(n)
		}
		ft := p.c.Table.Type(t.id)
		if t.id == 0 || ft.Size == 0 {
			continue
		}
		s.Size = (s.Size + ft.Align - 1) / ft.Align * ft.Align
		s.Fields = append(s.Fields, calls.Field{Name: name, Type: t.id, Offset: s.Size})
		s.Size += ft.Size
		s.Align = max(s.Align, ft.Align)
	}
	s.Size = (s.Size + s.Align - 1) / s.Align * s.Align
	s.Fields = p.c.bounded(&s.Name, s.Fields)
	return protoType{id: p.c.Table.Add(s)}
}
