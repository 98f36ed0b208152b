package interceptors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp/calls"
)

// TestCrowdedRecords has a header whose records hold each other by value ten times over, eight levels deep: what points to one is captured, with nothing in it, what is passed
// by value is refused, and readers take the table.
func TestCrowdedRecords(t *testing.T) {
	var text strings.Builder
	for _, kind := range []string{"struct", "union"} {
		of := "char"
		for level := range 9 {
			fmt.Fprintf(&text, "%s %c%d { %s a, b, c, d, e, f, g, h, i, j; };\n", kind, kind[0], level, of)
			of = fmt.Sprintf("%s %c%d", kind, kind[0], level)
		}
	}
	text.WriteString("long by_pointer(struct s8 *s, union u8 *u, long n);\nlong by_value(union u8 u);\nlong few(struct s3 *s);\n")
	path := filepath.Join(t.TempDir(), "crowded.h")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	d := &Declarations{}
	if err := d.Header(path); err != nil {
		t.Fatal(err)
	}
	c := NewCompiler()
	c.Added = d
	compile := func(name string) (*Capture, error) {
		p := c.declared([]string{name}, 2)
		if p == nil {
			t.Fatalf("%s is not declared", name)
		}
		return c.Compile(p)
	}
	if got, err := compile("by_pointer"); err != nil || len(got.Signature.Entry) != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := compile("by_value"); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "parameter 0 has in it union u4, of more than 65536 parts") {
		t.Errorf("%v", err)
	}
	got, err := compile("few")
	if err != nil || len(c.Table.Type(c.Table.Type(got.Signature.Params[0].Type).Elem).Fields) != 10 {
		t.Errorf("%v", err)
	}
	if err := c.Table.Check(); err != nil {
		t.Error(err)
	}
	for id := range c.Table.Types {
		if n := len(c.Table.Points(calls.TypeID(id + 1))); n > 1 {
			t.Errorf("type %d has %d pointers", id+1, n)
		}
	}
}
