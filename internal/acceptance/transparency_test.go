package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// table is where the outcome for people is written.
const table = "../../docs/transparency.md"

// TestTransparency runs every command natively and in every mode and compares
// what can be seen of it.
func TestTransparency(t *testing.T) {
	var mu sync.Mutex
	rows := make(map[string][]string)
	for _, c := range commands() {
		t.Run(strings.ReplaceAll(c.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			argv, ok := c.resolve()
			if !ok {
				t.Skipf("%s is not installed", c.argv[0])
			}
			var row []string
			native, files := observe(t, c, argv, nil)
			for _, m := range modes() {
				good := t.Run(m.name, func(t *testing.T) {
					got, gotFiles := observe(t, c, argv, &m)
					same(t, native, got)
					if files != gotFiles {
						t.Errorf("files:\n%s", lineDiff(files, gotFiles))
					}
					t.Logf("native %v, traced %v", native.took.Round(time.Millisecond), got.took.Round(time.Millisecond))
				})
				row = append(row, map[bool]string{true: "same", false: "**differs**"}[good])
			}
			mu.Lock()
			rows[c.name] = row
			mu.Unlock()
		})
	}
	t.Cleanup(func() { // runs when the parallel tests have ended
		if *update && !t.Failed() {
			if err := os.WriteFile(table, document(rows), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
}

// resolve finds the row's program.
func (c program) resolve() ([]string, bool) {
	name := c.argv[0]
	if name == "cc1" {
		m, _ := filepath.Glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1")
		if len(m) == 0 {
			return nil, false
		}
		name = m[len(m)-1]
	}
	path := find(name)
	return append([]string{path}, c.argv[1:]...), path != ""
}

// observe runs a command in a fresh copy of the inputs; m nil is natively.
func observe(t *testing.T, c program, argv []string, m *mode) (result, string) {
	dir := workDir(t)
	run1 := command{argv: argv, stdin: c.stdin, dir: dir}
	if m != nil {
		run1.argv = m.under(argv)
	}
	r := run(t, run1)
	// HOME is in the output of nothing here, but paths of git and of temporary
	// files may be.
	r.stdout = bytes.ReplaceAll(r.stdout, []byte(dir), []byte("DIR"))
	r.stderr = bytes.ReplaceAll(r.stderr, []byte(dir), []byte("DIR"))
	if m != nil && m.disk {
		verify(t, filepath.Dir(dir))
	}
	return r, tree(t, dir)
}

// same compares what two runs showed.
func same(t *testing.T, want, got result) {
	t.Helper()
	if got.status != want.status {
		t.Errorf("status %d, natively %d", got.status, want.status)
	}
	if !bytes.Equal(got.stdout, want.stdout) {
		t.Errorf("stdout:\n%s", lineDiff(string(want.stdout), string(got.stdout)))
	}
	if !bytes.Equal(got.stderr, want.stderr) {
		t.Errorf("stderr:\n%s", lineDiff(string(want.stderr), string(got.stderr)))
	}
}

// lineDiff shows the first lines that differ.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < len(w) || i < len(g); i++ {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		return fmt.Sprintf("from line %d\n  natively: %s\n  traced:   %s", i+1,
			clip([]byte(strings.Join(w[min(i, len(w)):min(i+3, len(w))], "\n"))), clip([]byte(strings.Join(g[min(i, len(g)):min(i+3, len(g))], "\n"))))
	}
	return "equal"
}

// document is the table as Markdown.
func document(rows map[string][]string) []byte {
	var b bytes.Buffer
	b.WriteString(documentHead)
	b.WriteString("| command |")
	for _, m := range modes() {
		fmt.Fprintf(&b, " %s |", m.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(modes())) + "\n")
	for _, c := range commands() {
		row := rows[c.name]
		if row == nil {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(c.name, "|", "\\|"), strings.Join(row, " | "))
	}
	return b.Bytes()
}

const documentHead = `# Transparency

A traced program behaves as it does natively: the same output, messages, exit status and files. The table is what
` + "`go test ./internal/acceptance -run Transparency -update`" + ` found; the same test without ` + "`-update`" + ` runs in CI and fails when
anything differs. Inputs are in ` + "`internal/acceptance/inputs_test.go`" + `.

The columns are ways of recording: *translate* and *count* are ` + "`--only`" + ` of that name, *record* is every memory access of
the whole run to disk, *discard* is the same with the entries dropped, *main* is a window from the call of
` + "`main`" + ` to its return, natively before and after. What was written to disk passed ` + "`alleria verify`" + `.

`
