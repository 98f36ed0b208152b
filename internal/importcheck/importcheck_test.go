package importcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRepository is the check itself: CI runs it by this name.
func TestRepository(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("not the module's root: %v", err)
	}
	for _, check := range []func(root string) ([]Violation, error){Check, CheckPages} {
		found, err := check(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			t.Error(v)
		}
	}
}

// TestCheck proves that the check bites, one file per rule.
func TestCheck(t *testing.T) {
	files := map[string]string{
		"schemas/a.go":                `import "alleria/config"`,
		"config/a.go":                 `import "alleria/schemas"`,
		"engine/deep/a.go":            `import "alleria/emit"`,
		"engine/b.go":                 `import "alleria/engine/deep"`,
		"internal/session/a.go":       `import "alleria/cmd/alleria"`,
		"internal/session/b.go":       `import "alleria/engine"`,
		"cmd/alleria/a.go":            `import "alleria/internal/session"`,
		"abp/a.go":                    `import "unsafe"`,
		"abp/a_unsafe.go":             `import "unsafe"`,
		"abp/a_unsafe_amd64.go":       `import "unsafe"`,
		"abp/b.go":                    `import "C"`,
		"abp/b_cgo.go":                "import \"C\"\nimport \"unsafe\"",
		"abp/a_test.go":               `import "alleria/engine"`,
		"analysis/testdata/x/main.go": `import "alleria/engine"`,
		"novel/a.go":                  `import "fmt"`,
		"cab/a.go":                    `import "alleria/cabinet"`,
		"engine/step/a.go":            `import "golang.org/x/sys/unix"`,
		"engine/x86/a.go":             `import "golang.org/x/sys/unix"`,
		"internal/sys/a.go":           `import "golang.org/x/sys/unix"`,
		"window/a.go":                 `import "golang.org/x/sys/cpu"`,
		"engine/c.go":                 "import \"alleria/internal/sys\"\nvar c = sys.Cont",
		"engine/d.go":                 "import k \"alleria/internal/sys\"\nfunc d() { k.Kill(1); k.Listen(2) }",
		"engine/tracee/a.go":          "import \"alleria/internal/sys\"\nvar c = sys.Cont",
	}
	root := t.TempDir()
	for name, body := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("package p\n\n"+body+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"abp/a.go:3: unsafe",
		"abp/b.go:3: cgo",
		"cab/a.go:3: cab may import internal/sys, internal/layout, but imports cabinet",
		"engine/c.go:4: sys.Cont is called only by engine/tracee",
		"engine/d.go:4: sys.Listen is called only by engine/tracee",
		"engine/deep/a.go:3: engine may import",
		"engine/x86/a.go:3: golang.org/x/sys/unix is imported only by internal/sys",
		"internal/session/a.go:3: internal/session may import",
		"novel/a.go:1: folder novel has no row",
		"schemas/a.go:3: schemas may import none",
	}
	found, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(want) {
		t.Fatalf("found %d violations, want %d: %v", len(found), len(want), found)
	}
	for i, v := range found {
		if !strings.HasPrefix(v.String(), want[i]) {
			t.Errorf("violation %d: %q, want %q…", i, v, want[i])
		}
	}
}

func TestCheckReportsUnparsable(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "abp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "abp/a.go"), []byte("pack age"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(root); err == nil {
		t.Fatal("a file that does not parse went unnoticed")
	}
}

// TestCheckPages has pages name what is not there, and a row differ from the rules.
func TestCheckPages(t *testing.T) {
	root := t.TempDir()
	for name, body := range map[string]string{
		"engine/x86/decode.go": "", "engine/asm/form.go": "", "cab/ring.go": "", "docs/internal/engine.md": "", "docs/internal/README.md": "",
		"docs/internal/engine/x86.md": "`form.go`, `engine/x86.TestForm` and `engine/x86/form.go`\n",
		architecture: "The decoder (`engine/x86`, `decode.go`) and `golang.org/x/sys/unix`, `x86.Insn`.\n\n" +
			"`decode.go` of no folder, and `engine/gone`.\n\n" +
			"- `engine/x86/dec*.go`\n- `engine/x86/enc*.go`\n```\n`engine/drawn`\n```\n" +
			"| folder | is | imports of ours |\n|---|---|---|\n| `engine/` | it | `internal/diskcache` |\n" +
			"| `engine/x86/` | it | `internal/records` |\n| `cab/` | it | `internal/layout`, `internal/sys` |\n",
	} {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"internal/records", "internal/layout", "internal/sys", "internal/diskcache"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	found, err := CheckPages(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range found {
		got = append(got, fmt.Sprintf("%d %s", v.Line, v.What))
	}
	want := []string{
		"3 decode.go is not there", "3 engine/gone is not there", "6 engine/x86/enc*.go is not there",
		"12 engine may import internal/capture, internal/diskcache, internal/layout, internal/records, internal/spin, internal/sys by the import rules, and internal/diskcache by this row",
		"1 engine/asm has no row in the table of folders", "1 internal/diskcache has no row in the table of folders",
		"1 internal/layout has no row in the table of folders", "1 internal/records has no row in the table of folders", "1 internal/sys has no row in the table of folders",
		"1 engine/x86/form.go is not there",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
