package acceptance

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fewest is how many of the commands have to be installed for the test to say
// anything.
const fewest = 60

// TestTransparency runs every command natively and in its modes and compares
// what can be seen of it.
func TestTransparency(t *testing.T) {
	t.Parallel()
	installed := 0
	for _, c := range commands() {
		argv, ok := c.resolve()
		if ok {
			installed++
		}
		t.Run(strings.ReplaceAll(c.name, "/", "_"), func(t *testing.T) {
			if !ok {
				t.Skipf("%s is not installed", c.argv[0])
			}
			t.Parallel()
			native, files := observe(t, c, argv, nil)
			for _, m := range c.turn() {
				t.Run(m.name, func(t *testing.T) {
					got, gotFiles := observe(t, c, argv, &m)
					same(t, native, got)
					if files != gotFiles {
						t.Errorf("files:\n%s", lineDiff(files, gotFiles))
					}
					t.Logf("native %v, traced %v", native.took.Round(time.Millisecond), got.took.Round(time.Millisecond))
				})
			}
		})
	}
	if installed < fewest {
		t.Errorf("%d of the commands are installed, want %d: .ci/deps test installs them", installed, fewest)
	}
}

// turn is the modes that a command runs in: for half of them record, for the others another one, which writes nothing for heavy ones, whose profiles are the dearest.
func (c program) turn() []mode {
	if *every {
		return modes()
	}
	return c.few()
}

// few is the modes of the short form.
func (c program) few() []mode {
	all := turnOf(strings.Join(c.argv, " "), len(modes())-1)
	record, others := all[0], all[1:]
	switch {
	case c.heavy && others[0].disk:
		return others[1:2]
	case c.heavy || len(strings.Join(c.argv, " "))%2 == 0:
		return others[:1]
	}
	return []mode{record}
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
	dir := inputDir(t)
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
	// What runs unrecorded is told of with -q, too.
	if stderr := unrecordedLine.ReplaceAll(got.stderr, nil); !bytes.Equal(stderr, want.stderr) {
		t.Errorf("stderr:\n%s", lineDiff(string(want.stderr), string(stderr)))
	}
}

// unrecordedLine is what record says of programs that the configuration leaves out.
var unrecordedLine = regexp.MustCompile(`(?m)^alleria: .* r[ua]ns? unrecorded.*\n`)

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
