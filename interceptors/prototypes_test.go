package interceptors

import (
	"errors"
	"strings"
	"testing"
)

// TestShipped compiles every prototype that is shipped.
func TestShipped(t *testing.T) {
	c := NewCompiler()
	c.Shipped(nil)
	if len(c.shipped.lines) < 300 {
		t.Errorf("only %d functions", len(c.shipped.lines))
	}
	for name, line := range c.shipped.lines {
		p, err := c.prototype(c.shipped, line)
		if err == nil {
			_, err = c.Compile(p)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTypedefsOfThemselves: a typedef that leads to itself, or to more types than anybody declares, is an error, not a loop.
func TestTypedefsOfThemselves(t *testing.T) {
	c := NewCompiler()
	for _, text := range []string{
		"typedef a = struct(a);\nint f(a);",
		"typedef a = struct(b, b);\ntypedef b = struct(a, a);\nint f(a x, hide(a));",
		"typedef a = struct(int" + strings.Repeat(", b", 30) + ");\ntypedef b = struct(int" + strings.Repeat(", d", 30) + ");\ntypedef d = struct(int" +
			strings.Repeat(", e", 30) + ");\ntypedef e = struct(int" + strings.Repeat(", int", 30) + ");\nint f(a*);",
	} {
		var all Prototypes
		if err := all.ParsePrototypes("x.conf", text); err != nil {
			t.Fatal(err)
		}
		if _, err := c.prototype(&all, all.lines["f"]); !errors.Is(err, ErrPrototype) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	var all Prototypes
	if err := all.ParsePrototypes("x.conf", "typedef =struct(hide(int));"); !errors.Is(err, ErrPrototype) {
		t.Errorf("a typedef without a name: %v", err)
	}
}

// FuzzPrototypes: whatever a file holds, there is a prototype or an error.
func FuzzPrototypes(f *testing.F) {
	f.Add("int f(string, +string[retval] x, array(int, arg1)*, struct(int, enum(A, B=-2)) p);\ntypedef t = struct(char, string(array(char, elt1)*));\nvoid g(hide(t*), t, ...);")
	f.Add("typedef a = struct(hide(b));\ntypedef b = struct(a, a);\nint f(a);")
	f.Add(libcPrototypes)
	f.Fuzz(func(t *testing.T, text string) {
		var all Prototypes
		if all.ParsePrototypes("fuzz", text) != nil {
			return
		}
		c := NewCompiler()
		for _, line := range all.lines {
			if p, err := c.prototype(&all, line); err == nil {
				_, _ = c.Compile(p)
			}
		}
	})
}

// TestLtrace reads what ltrace's files have, without names.
func TestLtrace(t *testing.T) {
	c := NewCompiler()
	c.Added = &Declarations{}
	if err := c.Added.ParsePrototypes("x.conf", "; a comment\ntypedef buf = string(array(char, retval)*);\nlong myread(int, +buf, ulong);\nint sum(array(int, arg2)*, int);"); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]int{"myread": 3, "sum": 2} {
		p := c.Shipped([]string{name})
		if p == nil || len(p.Args) != args {
			t.Fatalf("%s: %+v", name, p)
		}
		if _, err := c.Compile(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
