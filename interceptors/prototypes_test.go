package interceptors

import (
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

// FuzzPrototypes: whatever a file holds, there is a prototype or an error.
func FuzzPrototypes(f *testing.F) {
	f.Add("int f(string, +string[retval] x, array(int, arg1)*, struct(int, enum(A, B=-2)) p);\ntypedef t = struct(char, string(array(char, elt1)*));\nvoid g(hide(t*), t, ...);")
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
