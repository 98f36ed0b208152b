package pstree

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "rewrite golden files")

// sample is a build: one that works, one killed, one not followed, one without times.
func sample() []*Node {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := func(ms int) *time.Time { t := at.Add(time.Duration(ms) * time.Millisecond); return &t }
	status := func(n int) *int { return &n }
	return Link([]*Node{
		{Number: 3, PID: 302, Parent: 1, Command: []string{"./a", "it's", "<&\"\\>", "", "new\nline"}, Followed: true, Exit: status(139), Signal: 11, Started: begun(150), Seconds: 0.1},
		{Number: 1, PID: 300, Command: []string{"/usr/bin/make", "-j4"}, Program: "/usr/bin/make", Executed: []string{"/usr/bin/env", "/usr/bin/make"}, Followed: true,
			Exit: status(2), Started: begun(0), Seconds: 2.125, CPUSeconds: 0.5, MaxRSS: 12 << 20},
		{Number: 2, PID: 301, Parent: 1, Command: []string{"cc", "-c", "a.c", strings.Repeat("x", 80)}, Followed: true, Exit: status(0), Started: begun(100), Seconds: 0.9},
		{Number: 4, PID: 303, Parent: 2, Command: []string{"\xff\x1b[31m"}, Started: begun(200)},
		{Number: 5, PID: 304, Parent: 2, Followed: true, MaxRSS: 900},
	})
}

func TestGolden(t *testing.T) {
	for name, draw := range map[string]func(io.Writer, []*Node) error{
		"tree.txt": func(w io.Writer, roots []*Node) error { return Text(w, roots, 0) }, "tree.dot": DOT, "tree.svg": SVG,
	} {
		var b bytes.Buffer
		if err := draw(&b, sample()); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + name
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s differs; look with go test ./analysis/pstree -update and git diff:\n%s", golden, b.String())
		}
	}
}

// TestCut: on a terminal of 60 columns no line has more, a program's name stands for its path, and a good end is not said.
func TestCut(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, sample(), 60); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 60 || n == 60 && !strings.HasSuffix(line, "…") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if lines[1] != "├─ 2 (pid 301, 0.9 s) cc -c a.c xxxxxxxxxxxxxxxxxxxxxxxxxxx…" {
		t.Error(lines[1])
	}
	b.Reset()
	if err := Text(&b, []*Node{{Number: 1, PID: 7, Followed: true, Command: []string{"/usr/bin/a b", "c"}}}, 60); err != nil || b.String() != "1 (pid 7) 'a b' c\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// TestLink has nodes whose parents are unknown, later than they, or themselves.
func TestLink(t *testing.T) {
	roots := Link([]*Node{{Number: 2, Parent: 9}, {Number: 3, Parent: 3}, {Number: 1, Parent: 4}, {Number: 4, Parent: 2}, {Number: 5, Parent: 2}})
	var got []int
	Walk(roots, func(n *Node, depth int) { got = append(got, 10*n.Number+depth) })
	want := []int{10, 20, 41, 51, 30}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if text, err := json.Marshal(Link([]*Node{{Number: 1}})); err != nil || !strings.Contains(string(text), `"children":[]`) || !strings.Contains(string(text), `"command":[]`) {
		t.Errorf("%s %v", text, err)
	}
	if got := Link(nil); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestSVGIsXML has the picture of strange commands read by other programs.
func TestSVGIsXML(t *testing.T) {
	for _, roots := range [][]*Node{sample(), {}, Link([]*Node{{Number: 1, PID: 2}})} {
		var b bytes.Buffer
		if err := SVG(&b, roots); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("numbers that are none:\n%s", b.String())
		}
		pipe(t, b.Bytes(), "xmllint", "--noout", "-")
	}
}

// TestDOTIsRead has Graphviz read it.
func TestDOTIsRead(t *testing.T) {
	var b bytes.Buffer
	if err := DOT(&b, sample()); err != nil {
		t.Fatal(err)
	}
	out := pipe(t, b.Bytes(), "dot", "-Tplain")
	for _, line := range []string{"node p1", "node p5", "edge p1 p2", "edge p2 p5"} {
		if !strings.Contains(out, line) {
			t.Errorf("%s is missing:\n%s", line, out)
		}
	}
}

// pipe runs a tool over a text; without the tool the test says so and ends.
func pipe(t *testing.T, text []byte, tool string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not installed", tool)
	}
	c := exec.Command(path, args...)
	c.Stdin = bytes.NewReader(text)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
	return string(out)
}

// TestLine has a shell read commands back.
func TestLine(t *testing.T) {
	for _, words := range [][]string{{"a"}, {"a b", "c'd", `e"f`, "$g", "*", "h\\", "ä", "~", "#x", "{a,b}", "!"}, {"", "x"}, {"a\nb", "\x1b[1m'\"\\", "\xff", "\x7f", "\u200b"}} {
		n := Node{Command: words}
		out, err := exec.Command("bash", "-c", "printf '%s\\n' "+n.Line()).Output()
		if err != nil || string(out) != strings.Join(words, "\n")+"\n" {
			t.Errorf("%q: %s became %q, %v", words, n.Line(), out, err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	for _, draw := range []func(io.Writer, []*Node) error{func(w io.Writer, roots []*Node) error { return Text(w, roots, 0) }, DOT, SVG} {
		if err := draw(broken{}, sample()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}
