package randprog

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// RustSignatures writes a Rust program of functions fn0, fn1 and so on with random parameters and results, which print themselves what they were given and return, as the
// command prints calls. Its crate has to be called signatures.
func RustSignatures(seed uint64, functions int) string {
	s := rustSignatures{rng: rand.New(rand.NewPCG(seed, 1))}
	for n := range functions {
		s.function(n)
	}
	return rustShow + s.types.String() + s.code.String() + "fn main() {\n" + s.main.String() + "}\n"
}

// rustSignatures is a program that is being written.
type rustSignatures struct {
	rng               *rand.Rand
	types, code, main strings.Builder
	n                 int
}

// rustType is a type: its name, a value of it, and whether there are pointers in it, or nothing.
type rustType struct {
	name    string
	value   func() string
	pointer bool
	zero    bool // it has no size
}

// rustShow is how the program shows what it has. A trait does it, since only a few types show themselves as the command does.
const rustShow = `#![allow(dead_code, unused_variables)]
use std::marker::PhantomData;
trait Show { fn show(&self) -> String; }
macro_rules! plain { ($($t:ty),*) => { $(impl Show for $t { fn show(&self) -> String { format!("{}", self) } })* } }
plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64, bool);
macro_rules! wide { ($($t:ty),*) => { $(impl Show for $t { fn show(&self) -> String { format!("0x{:032x}", self) } })* } }
wide!(u128, i128);
fn list<T: Show>(v: &[T]) -> String { format!("{{{}}}", v.iter().map(|x| Show::show(x)).collect::<Vec<_>>().join(",")) }
impl Show for char { fn show(&self) -> String { format!("'{}'", self) } }
impl Show for () { fn show(&self) -> String { "{}".to_string() } }
impl<T> Show for PhantomData<T> { fn show(&self) -> String { "{}".to_string() } }
impl Show for &'static str { fn show(&self) -> String { format!("\"{}\"", self) } }
impl Show for String { fn show(&self) -> String { format!("\"{}\"", self) } }
impl<T: Show> Show for &'static [T] { fn show(&self) -> String { format!("{{data_ptr={}, length={}}}", list(self), self.len()) } }
impl<T: Show> Show for Vec<T> { fn show(&self) -> String { format!("{{ptr={}, len={}}}", list(self), self.len()) } }
impl<T: Show, const N: usize> Show for [T; N] { fn show(&self) -> String { list(self) } }
impl<T: Show> Show for Box<T> { fn show(&self) -> String { format!("&{}", Show::show(&**self)) } }
macro_rules! refs { ($($t:ty),*) => { $(impl Show for &'static $t { fn show(&self) -> String { format!("&{}", Show::show(&**self)) } })* } }
refs!(u8, u32, i64, f64);
impl<T: Show> Show for Option<T> { fn show(&self) -> String { match self { Some(x) => format!("Some({})", Show::show(x)), None => "None".to_string() } } }
impl<T: Show, E: Show> Show for Result<T, E> { fn show(&self) -> String { match self { Ok(x) => format!("Ok({})", Show::show(x)), Err(x) => format!("Err({})", Show::show(x)) } } }
macro_rules! tuple { ($($n:tt $t:ident),*) => { impl<$($t: Show),*> Show for ($($t,)*) { fn show(&self) -> String {
    format!("{{{}}}", vec![$(format!("__{}={}", $n, Show::show(&self.$n))),*].join(", ")) } } } }
tuple!(0 A); tuple!(0 A, 1 B); tuple!(0 A, 1 B, 2 C); tuple!(0 A, 1 B, 2 C, 3 D);
`

// pick chooses one of some.
func (s *rustSignatures) pick(of ...string) string { return of[s.rng.IntN(len(of))] }

// any is a type. flat: it has no pointers in it.
func (s *rustSignatures) any(depth int, flat bool) rustType {
	for {
		t := s.some(depth, s.rng.IntN(20))
		if !flat || !t.pointer {
			return t
		}
	}
}

// elem is a type of what pointers lead to: something, and no characters, which are shown as a string.
func (s *rustSignatures) elem(depth int, flat bool) rustType {
	for {
		if t := s.any(depth, flat); !t.zero && t.name != "char" {
			return t
		}
	}
}

// some is a type of a kind.
func (s *rustSignatures) some(depth, kind int) rustType {
	if depth <= 0 {
		kind %= 8
	}
	switch kind {
	default:
		return s.number()
	case 6:
		return rustType{name: "bool", value: func() string { return s.pick("true", "false") }}
	case 7:
		return rustType{name: "char", value: func() string { return fmt.Sprintf("'%c'", 'a'+s.rng.IntN(26)) }}
	case 8:
		return rustType{name: "&'static str", value: s.text, pointer: true}
	case 9:
		return rustType{name: "String", value: func() string { return s.text() + ".to_string()" }, pointer: true}
	case 10:
		t := s.elem(0, true)
		return rustType{name: "&'static [" + t.name + "]", value: func() string { return "&[" + s.many(t, s.rng.IntN(4)) + "]" }, pointer: true}
	case 11:
		t := s.elem(depth-1, false)
		return rustType{name: "Vec<" + t.name + ">", value: func() string { return "vec![" + s.many(t, s.rng.IntN(3)) + "]" }, pointer: true}
	case 12:
		t, n := s.elem(depth-1, false), 1+s.rng.IntN(3)
		return rustType{name: fmt.Sprintf("[%s; %d]", t.name, n), value: func() string { return "[" + s.many(t, n) + "]" }, pointer: t.pointer}
	case 13:
		t := s.elem(depth-1, false)
		return rustType{name: "Box<" + t.name + ">", value: func() string { return "Box::new(" + t.value() + ")" }, pointer: true}
	case 14:
		t := s.pick("u8", "u32", "i64", "f64")
		return rustType{name: "&'static " + t, value: func() string { return "&" + s.literal(t) }, pointer: true}
	case 15:
		t := s.any(depth-1, false)
		return rustType{name: "Option<" + t.name + ">", value: func() string { return s.pick("None", "Some("+t.value()+")") }, pointer: t.pointer}
	case 16:
		t, e := s.any(depth-1, true), s.any(depth-1, true)
		return rustType{name: "Result<" + t.name + ", " + e.name + ">", value: func() string { return s.pick("Ok("+t.value()+")", "Err("+e.value()+")") }}
	case 17:
		return s.tuple(depth)
	case 18:
		return s.record(depth)
	case 19:
		return s.enum(depth)
	}
}

// number is a type of numbers, or one of nothing.
func (s *rustSignatures) number() rustType {
	name := s.pick("u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64", "f64", "u128", "i128", "()", "PhantomData<u64>")
	return rustType{name: name, value: func() string { return s.literal(name) }, zero: name == "()" || name[0] == 'P'}
}

// literal is a number of a type.
func (s *rustSignatures) literal(name string) string {
	switch {
	case name == "()":
		return name
	case name[0] == 'P':
		return "PhantomData"
	case name[0] == 'f':
		return fmt.Sprintf("%d.%d%s", s.rng.IntN(100), 25*s.rng.IntN(4), name)
	case name[0] == 'i':
		return fmt.Sprintf("%d%s", s.rng.IntN(200)-100, name)
	case name == "u128":
		return fmt.Sprintf("%d%d%s", s.rng.Uint64(), s.rng.Uint32(), name)
	}
	return fmt.Sprintf("%d%s", s.rng.IntN(200), name)
}

// text is a string.
func (s *rustSignatures) text() string {
	return fmt.Sprintf("%q", "a text of some length"[:s.rng.IntN(20)])
}

// many are values of a type.
func (s *rustSignatures) many(t rustType, n int) string {
	var list []string
	for range n {
		list = append(list, t.value())
	}
	return strings.Join(list, ", ")
}

// members are types, and what joins their values.
func (s *rustSignatures) members(depth, n int, flat bool) (types []rustType, all rustType) {
	all.zero = true
	for range n {
		t := s.any(depth-1, flat)
		types, all.pointer, all.zero = append(types, t), all.pointer || t.pointer, all.zero && t.zero
	}
	return types, all
}

func (s *rustSignatures) tuple(depth int) rustType {
	types, all := s.members(depth, 1+s.rng.IntN(4), false)
	names := ""
	for _, t := range types {
		names += t.name + ","
	}
	return rustType{name: "(" + names + ")", pointer: all.pointer, zero: all.zero, value: func() string {
		v := ""
		for _, t := range types {
			v += t.value() + ","
		}
		return "(" + v + ")"
	}}
}

func (s *rustSignatures) record(depth int) rustType {
	types, all := s.members(depth, 1+s.rng.IntN(3), false)
	s.n++
	name := fmt.Sprintf("R%d", s.n)
	fields, shown := "", []string{}
	for i, t := range types {
		fields += fmt.Sprintf("m%d: %s, ", i, t.name)
		shown = append(shown, fmt.Sprintf(`format!("m%d={}", Show::show(&self.m%d))`, i, i))
	}
	fmt.Fprintf(&s.types, "%sstruct %s { %s}\nimpl Show for %s { fn show(&self) -> String { format!(\"{{{}}}\", vec![%s].join(\", \")) } }\n",
		s.pick("", "", "#[repr(C)] "), name, fields, name, strings.Join(shown, ", "))
	return rustType{name: name, pointer: all.pointer, zero: all.zero, value: func() string {
		v := ""
		for i, t := range types {
			v += fmt.Sprintf("m%d: %s, ", i, t.value())
		}
		return name + " { " + v + "}"
	}}
}

// enum is an enumeration. What several variants have in them has no pointers, which nobody follows there.
func (s *rustSignatures) enum(depth int) rustType {
	s.n++
	name, variants, arms := fmt.Sprintf("E%d", s.n), "", ""
	var values []func() string
	n, empty := 1+s.rng.IntN(4), true
	repr := s.pick("", "", "", "#[repr(u8)] ", "#[repr(C)] ")
	for i := range n {
		types, all := s.members(depth, s.rng.IntN(3), true)
		empty = empty && all.zero
		label, held, binds, shown := fmt.Sprintf("V%d", i), "", "", ""
		for k, t := range types {
			held += t.name + ", "
			binds += fmt.Sprintf("x%d, ", k)
			if shown != "" {
				shown += " + \", \" + &"
			}
			shown += fmt.Sprintf("Show::show(x%d)", k)
		}
		full := name + "::" + label
		if len(types) == 0 {
			variants += label + ", "
			arms += fmt.Sprintf("%s => \"%s\".to_string(), ", full, label)
			values = append(values, func() string { return full })
			continue
		}
		variants += label + "(" + held + "), "
		arms += fmt.Sprintf("%s(%s) => \"%s(\".to_string() + &%s + \")\", ", full, binds, label, shown)
		values = append(values, func() string {
			v := ""
			for _, t := range types {
				v += t.value() + ", "
			}
			return full + "(" + v + ")"
		})
	}
	fmt.Fprintf(&s.types, "%senum %s { %s}\nimpl Show for %s { fn show(&self) -> String { match self { %s} } }\n", repr, name, variants, name, arms)
	return rustType{name: name, value: func() string { return values[s.rng.IntN(n)]() }, zero: n == 1 && empty && repr == ""}
}

// function writes a function and its call.
func (s *rustSignatures) function(n int) {
	params, shown, args := []string{}, []string{}, []string{}
	for i := range s.rng.IntN(10) {
		t := s.any(3, false)
		params = append(params, fmt.Sprintf("a%d: %s", i, t.name))
		name := fmt.Sprintf("a%d=", i)
		if t.zero { // rustc does not name what nothing holds
			name = ""
		}
		shown = append(shown, fmt.Sprintf(`format!("%s{}", Show::show(&a%d))`, name, i))
		args = append(args, t.value())
	}
	t := s.elem(3, false)
	fmt.Fprintf(&s.code, "#[inline(never)]\nfn fn%d(%s) -> %s {\n    let r: %s = %s;\n    let a: Vec<String> = vec![%s];\n    println!(\"signatures::fn%d({}) = {}\", a.join(\", \"), Show::show(&r));\n    r\n}\n",
		n, strings.Join(params, ", "), t.name, t.name, t.value(), strings.Join(shown, ", "), n)
	fmt.Fprintf(&s.main, "    std::mem::forget(fn%d(%s));\n", n, strings.Join(args, ", "))
}
