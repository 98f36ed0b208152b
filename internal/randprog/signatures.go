package randprog

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Signatures makes a C program with functions of random signatures, fn0 and so on, each called once. Each call
// prints a line, in the form of alleria intercepts, of what the function itself found and did. Floating-point
// numbers stand in <>, after f, d or L for their type, since C has no shortest way of writing them.
// wide: there are vectors of 32 bytes, which the compiler has to be told of. single: there are vectors of one double, which compilers
// differ about.
func Signatures(seed uint64, functions int, wide, single bool) string {
	s := &signatures{rng: rand.New(rand.NewPCG(seed, 12))}
	s.scalars()
	s.vectors(wide, single)
	var calls strings.Builder
	for i := range functions {
		s.function(i)
		fmt.Fprintf(&calls, "\tcall%d();\n", i)
	}
	return signaturesHead + fmt.Sprintf("static unsigned long state = %dul;\n", seed*2+1) + signaturesTools + s.b.String() +
		"int main(void)\n{\n" + calls.String() + "\treturn 0;\n}\n"
}

// cType is a type of the program: by its name there are fill_NAME, which makes a random value, and show_NAME,
// which prints it. name is one word.
type cType struct {
	name  string
	depth int // how many pointers lead on from it
	bits  int // of an integer that bit fields may have; 0: none
	array bool
	empty bool // it has no size
}

// signatures makes one such program.
type signatures struct {
	rng   *rand.Rand
	plain []cType
	made  []cType // records, arrays, pointers
	n     int     // names given
	b     strings.Builder
}

// signatureDepth is how deeply pointers lead; alleria follows them so far without being told.
const signatureDepth = 2

const signaturesHead = `#include <complex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOIPA __attribute__((noipa))
`

const signaturesTools = `
static char text[1 << 16];
static unsigned used;
static unsigned long next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state * 0x2545f4914f6cdd1dul;
}
static void put(const char *format, ...)
{
	va_list l;
	va_start(l, format);
	used += vsnprintf(text + used, sizeof text - used, format, l);
	va_end(l);
}
/* Small and exact, any number of double precision, or zero. */
static double number(void)
{
	switch (next() % 4) {
	case 0: return 0;
	case 1: return (double)(long)next() / (1ul << (next() % 64));
	}
	return ((int)(next() % 4001) - 2000) / 8.0;
}
typedef struct { int a, b, c; } r0;
/* Prints in p what changed of what it points to. */
static void changed(const char *before, char *after, const char *name)
{
	if (strcmp(before, after)) put(", %s=%s", name, after);
}
static char *taken(unsigned from)
{
	char *s = strdup(text + from);
	used = from, text[from] = 0;
	return s;
}
static void *room(unsigned long n)
{
	void *p = aligned_alloc(64, (n + 63) / 64 * 64);
	memset(p, 0x5a, (n + 63) / 64 * 64);
	return p;
}
`

// scalar writes the two functions of a type that C has.
func (s *signatures) scalar(t cType, c, fill, show string) {
	fmt.Fprintf(&s.b, "typedef %s %s;\n", c, t.name)
	s.functions(t.name, fill, show)
	s.plain = append(s.plain, t)
}

// functions writes the two functions of a type.
func (s *signatures) functions(name, fill, show string) {
	fmt.Fprintf(&s.b, "static void __attribute__((unused)) fill_%[1]s(%[1]s *v) { %[2]s }\nstatic void __attribute__((unused)) show_%[1]s(const %[1]s *v) { %[3]s }\n", name, fill, show)
}

func (s *signatures) scalars() {
	for _, i := range []struct {
		name, c, format string
		bits            int
	}{
		{"i8", "signed char", "%d", 8}, {"u8", "unsigned char", "%u", 8}, {"i16", "short", "%d", 16}, {"u16", "unsigned short", "%u", 16},
		{"i32", "int", "%d", 32}, {"u32", "unsigned", "%u", 32}, {"i64", "long", "%ld", 64}, {"u64", "unsigned long", "%lu", 64}, {"ll", "long long", "%lld", 64},
	} {
		s.scalar(cType{name: i.name, bits: i.bits}, i.c, "*v = next();", fmt.Sprintf(`put("%s", *v);`, i.format))
	}
	for _, name := range []string{"i128", "u128"} {
		c := map[string]string{"i128": "__int128", "u128": "unsigned __int128"}[name]
		s.scalar(cType{name: name}, c, "*v = (unsigned __int128)next() << 64 | next();", `put("0x%016lx%016lx", (unsigned long)((unsigned __int128)*v >> 64), (unsigned long)*v);`)
	}
	s.scalar(cType{name: "chr"}, "char", "*v = 'A' + next() % 26;", `put("'%c'", *v);`)
	s.scalar(cType{name: "yes", bits: 1}, "_Bool", "*v = next() & 1;", `put(*v ? "true" : "false");`)
	s.scalar(cType{name: "f16"}, "_Float16", "*v = (int)(next() % 4001 - 2000) / 8.0;", `put("<d:%.17g>", (double)*v);`)
	s.scalar(cType{name: "f32"}, "float", "*v = number();", `put("<f:%.9g>", *v);`)
	s.scalar(cType{name: "f64"}, "double", "*v = number();", `put("<d:%.17g>", *v);`)
	s.scalar(cType{name: "f80"}, "long double", "*v = number() / 3.0L;", `put("<L:%.21Lg>", *v);`)
	s.scalar(cType{name: "f128"}, "__float128", "*v = number();", `put("<d:%.17g>", (double)*v);`)
	for _, c := range [][3]string{{"c32", "float", "f:%.9g"}, {"c64", "double", "d:%.17g"}, {"c80", "long double", "L:%.21Lg"}} {
		s.scalar(cType{name: c[0]}, "_Complex "+c[1], "__real__ *v = number(); __imag__ *v = number();",
			fmt.Sprintf(`put("{re=<%s>, im=<%s>}", __real__ *v, __imag__ *v);`, c[2], c[2]))
	}
	s.scalar(cType{name: "addr"}, "void *", "*v = next() % 4 ? (void *)next() : 0;", `if (*v) put("0x%lx", (unsigned long)*v); else put("NULL");`)
	s.scalar(cType{name: "str", depth: 1}, "const char *", `char *p = room(8); *v = p; for (int i = next() % 7; i >= 0; i--) *p++ = 'a' + next() % 26; *p = 0; if (next() % 8 == 0) *v = 0;`,
		`if (*v) put("\"%s\"", *v); else put("NULL");`)
	s.b.WriteString("enum unsigned_names { U0, U1, U2, U9 = 9 };\nenum signed_names { S0 = -2, S1, S2 };\nenum long_names { L0 = 1l << 40, L1 };\n")
	for _, e := range [][2]string{{"unsigned", "U0 U1 U2 U9"}, {"signed", "S0 S1 S2"}, {"long", "L0 L1"}} {
		names := strings.Fields(e[1])
		show := ""
		for _, n := range names {
			show += fmt.Sprintf(`case %s: put("%s"); break; `, n, n)
		}
		bits := map[string]int{"unsigned": -5, "signed": -3}[e[0]] // negative: as many and no fewer
		s.scalar(cType{name: "e" + e[0], bits: bits}, "enum "+e[0]+"_names",
			fmt.Sprintf("static const enum %s_names all[] = {%s}; *v = all[next() %% %d];", e[0], strings.Join(names, ", "), len(names)), "switch (*v) { "+show+"}")
	}
}

// vectors writes the types that vector registers hold.
func (s *signatures) vectors(wide, single bool) {
	sizes := []int{8, 16}
	if wide {
		sizes = append(sizes, 32)
	}
	for _, e := range []struct {
		name string
		size int
	}{{"i8", 1}, {"u16", 2}, {"i32", 4}, {"f32", 4}, {"f64", 8}, {"u64", 8}} {
		for _, size := range sizes {
			if size == e.size && e.name[0] == 'f' && !single {
				continue
			}
			name := fmt.Sprintf("v%d%s", size, e.name)
			fmt.Fprintf(&s.b, "typedef %s %s __attribute__((vector_size(%d)));\n", e.name, name, size)
			s.many(cType{name: name}, e.name, size/e.size)
			s.plain = append(s.plain, cType{name: name})
		}
	}
}

// many writes the functions of a type with elements.
func (s *signatures) many(t cType, elem string, n int) {
	s.functions(t.name, fmt.Sprintf("for (int i = 0; i < %d; i++) { %s e; fill_%[2]s(&e); memcpy((char *)v + i * sizeof e, &e, sizeof e); }", n, elem),
		fmt.Sprintf(`for (int i = 0; i < %d; i++) { %s e; memcpy(&e, (const char *)v + i * sizeof e, sizeof e); put(i ? "," : "{"); show_%[2]s(&e); } put("}");`, n, elem))
}

// named returns a new name.
func (s *signatures) named(kind string) string {
	s.n++
	return fmt.Sprintf("%s%d", kind, s.n)
}

// any returns a type from which at most so many pointers lead on: one that is there, or a new one.
// inside: it is to have a size, since an array or a pointer is made of it.
func (s *signatures) any(depth, nest int, inside bool) cType {
	for {
		var t cType
		switch n := s.rng.IntN(10); {
		case n < 5 || nest > 2:
			t = s.plain[s.rng.IntN(len(s.plain))]
		case n == 5 && len(s.made) > 0:
			t = s.made[s.rng.IntN(len(s.made))]
		case n < 8:
			t = s.record(depth, nest)
		case n == 8 && nest > 0:
			t = s.arrayOf(s.any(depth, nest+1, true))
		default:
			if depth == 0 {
				continue
			}
			t = s.pointer(s.any(depth-1, nest+1, true))
		}
		if t.depth <= depth && !(inside && t.empty) {
			return t
		}
	}
}

// arrayOf writes an array.
func (s *signatures) arrayOf(elem cType) cType {
	t := cType{name: s.named("a"), depth: elem.depth, array: true}
	n := 1 + s.rng.IntN(4)
	if elem.name == "chr" { // a string
		n = 1 + s.rng.IntN(20)
		fmt.Fprintf(&s.b, "typedef char %s[%d];\n", t.name, n)
		s.functions(t.name, fmt.Sprintf("memset(v, 0, %d); for (int i = next() %% %d; i >= 0; i--) (*v)[i] = 'A' + next() %% 26;", n, n),
			fmt.Sprintf(`put("\"%%.%ds\"", *v);`, n))
	} else {
		fmt.Fprintf(&s.b, "typedef %s %s[%d];\n", elem.name, t.name, n)
		s.many(t, elem.name, n)
	}
	s.made = append(s.made, t)
	return t
}

// pointer writes a pointer to one object.
func (s *signatures) pointer(to cType) cType {
	if to.name == "chr" {
		return cType{name: "str", depth: 1}
	}
	t := cType{name: s.named("p"), depth: to.depth + 1}
	fmt.Fprintf(&s.b, "typedef %s *%s;\n", to.name, t.name)
	s.functions(t.name, fmt.Sprintf("*v = 0; if (next() %% 8) { *v = room(sizeof **v); fill_%s(*v); }", to.name),
		fmt.Sprintf(`if (*v) { put("&"); show_%s(*v); } else put("NULL");`, to.name))
	fmt.Fprintf(&s.b, "static char * __attribute__((unused)) shown_%s(%[1]s *v) { unsigned from = used; show_%[1]s(v); return taken(from); }\n", t.name)
	s.made = append(s.made, t)
	return t
}

// record writes a struct or a union: some with bit fields, some aligned to words.
func (s *signatures) record(depth, nest int) cType {
	t := cType{name: s.named("r"), empty: true}
	union := s.rng.IntN(8) == 0
	var fields, fill, show strings.Builder
	count := 1 + s.rng.IntN(5)
	if s.rng.IntN(30) == 0 {
		count = 0 // GNU C has it; it has no size and travels nowhere
	}
	for i := range count {
		f := s.any(depth, nest+1, false)
		if union {
			f = s.member(i == count-1)
		}
		t.empty = t.empty && f.empty
		t.depth = max(t.depth, f.depth)
		sep := ", "
		if i == 0 {
			sep = ""
		}
		if bits := s.bitField(f); bits > 0 && !union {
			fmt.Fprintf(&fields, "%s m%d : %d; ", f.name, i, bits)
			fmt.Fprintf(&fill, "{ %s e; fill_%[1]s(&e); v->m%d = e; } ", f.name, i)
			fmt.Fprintf(&show, `put("%sm%d="); { %s e = v->m%[2]d; show_%[3]s(&e); } `, sep, i, f.name)
			continue
		}
		aligned := ""
		if s.rng.IntN(12) == 0 && !f.empty {
			aligned = fmt.Sprintf(" __attribute__((aligned(%d)))", 2<<s.rng.IntN(5))
		}
		fmt.Fprintf(&fields, "%s m%d%s; ", f.name, i, aligned)
		fmt.Fprintf(&show, `put("%sm%d="); { %s e; memcpy(&e, &v->m%[2]d, sizeof e); show_%[3]s((const void *)&e); } `, sep, i, f.name)
		fmt.Fprintf(&fill, "{ %s e; fill_%[1]s(&e); memcpy(&v->m%d, &e, sizeof e); } ", f.name, i)
	}
	word, attr := "struct", ""
	if union {
		word = "union"
	}
	switch s.rng.IntN(12) {
	case 1:
		attr = " __attribute__((aligned(8)))"
	case 2:
		attr = fmt.Sprintf(" __attribute__((aligned(%d)))", 16<<s.rng.IntN(3))
	case 3:
		attr = " __attribute__((packed))"
	}
	fmt.Fprintf(&s.b, "typedef %s %s { %s}%s %[2]s;\n", word, t.name, fields.String(), attr)
	s.functions(t.name, "memset(v, 0, sizeof *v); "+fill.String(), `put("{"); `+show.String()+`put("}");`)
	s.made = append(s.made, t)
	return t
}

// member is a union's: a type of which all bits are values, or, in the end, a long double.
func (s *signatures) member(last bool) cType {
	names := []string{"i8", "u8", "i16", "u32", "i64", "u64", "i128", "f32", "f64"}
	if last {
		names = append(names, "f80")
	}
	return cType{name: names[s.rng.IntN(len(names))]}
}

// bitField is how many bits a field gets, or 0: it is an ordinary one.
func (s *signatures) bitField(t cType) int {
	switch {
	case t.bits == 0 || s.rng.IntN(3) > 0:
		return 0
	case t.bits < 0:
		return -t.bits
	}
	return 1 + s.rng.IntN(t.bits)
}

// function writes a function and its call.
func (s *signatures) function(n int) {
	params := make([]cType, s.rng.IntN(9))
	for i := range params {
		params[i] = s.any(signatureDepth, 0, false)
		for params[i].array {
			params[i] = s.any(signatureDepth, 0, false)
		}
	}
	result := cType{name: "void"}
	if s.rng.IntN(8) > 0 {
		result = s.any(signatureDepth, 0, false)
		for result.array {
			result = s.any(signatureDepth, 0, false)
		}
	}
	variadic := len(params) > 0 && s.rng.IntN(6) == 0
	var list, show, local, fill, pass []string
	for i, p := range params {
		list = append(list, fmt.Sprintf("%s x%d", p.name, i))
		show = append(show, fmt.Sprintf(`put("x%d="); show_%s(&x%[1]d);`, i, p.name))
		local = append(local, fmt.Sprintf("%s x%d;", p.name, i))
		fill = append(fill, fmt.Sprintf("fill_%s(&x%d);", p.name, i))
		pass = append(pass, fmt.Sprintf("x%d", i))
	}
	if variadic {
		list, pass = append(list, "..."), append(pass, "1", "2.5", "(void *)3", "(r0){4, 5, 6}")
	}
	if len(list) == 0 {
		list = []string{"void"}
	}
	fmt.Fprintf(&s.b, "NOIPA %s fn%d(%s)\n{\n\tput(\"fn%[2]d(\"); %[4]s put(\") \");\n", result.name, n, strings.Join(list, ", "), strings.Join(show, ` put(", "); `))
	for i, p := range params {
		if strings.HasPrefix(p.name, "p") {
			fmt.Fprintf(&s.b, "\tchar *before%d = shown_%s(&x%[1]d); if (x%[1]d && next() %% 2) { %[2]s other; do fill_%[2]s(&other); while (!other); memcpy((void *)x%[1]d, (void *)other, sizeof *x%[1]d); }\n", i, p.name)
		}
	}
	if result.name == "void" {
		s.b.WriteString("\tput(\"returned\");\n")
	} else {
		fmt.Fprintf(&s.b, "\t%s r; fill_%[1]s(&r); put(\"= \"); show_%[1]s(&r);\n", result.name)
	}
	for i, p := range params {
		if strings.HasPrefix(p.name, "p") {
			fmt.Fprintf(&s.b, "\tchanged(before%d, shown_%s(&x%[1]d), \"x%[1]d\");\n", i, p.name)
		}
	}
	if result.name != "void" {
		s.b.WriteString("\treturn r;\n")
	}
	fmt.Fprintf(&s.b, "}\nstatic void call%d(void)\n{\n\t%s\n\t%s\n\tfn%[1]d(%[4]s);\n\tputs(text), used = 0;\n}\n", n, strings.Join(local, " "), strings.Join(fill, " "), strings.Join(pass, ", "))
}
