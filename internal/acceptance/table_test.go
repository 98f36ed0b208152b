package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// table is the list of commands and fixtures for people.
const table = "../../docs/transparency.md"

// TestTable fails when the documentation lists other commands or fixtures than
// those that the tests run.
func TestTable(t *testing.T) {
	want := document(t)
	if *update {
		if err := os.WriteFile(table, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date; go test ./internal/acceptance -run Table -update writes it\n%s", table, lineDiff(string(want), string(got)))
	}
}

// document is the table as Markdown. It says what is run, not how it went: the
// tests fail where anything differs.
func document(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(documentHead)
	b.WriteString("| program | as it is called | way |\n|---|---|---|\n")
	for _, c := range commands() {
		name := cell(c.name)
		if c.heavy {
			name += " *"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, codeCell(strings.Join(c.line(), " ")), names(c.few()))
	}
	b.WriteString(documentFixtures)
	b.WriteString("| program | what it does | besides *record* |\n|---|---|---|\n")
	for _, file := range fixtures(t) {
		fmt.Fprintf(&b, "| [`%s`](../testdata/programs/%[1]s) | %s | %s |\n", filepath.Base(file), cell(firstSentence(t, file)), names(often(fixtureModes(t, file))))
	}
	return b.Bytes()
}

// fixtureModes are the modes of all of a fixture's builds.
func fixtureModes(t *testing.T, file string) (out []mode) {
	fx, err := readFixture(file)
	if err != nil {
		t.Fatal(err)
	}
	in := make(map[string]bool)
	for _, flags := range fx.builds {
		for _, m := range fixtureFew(fx.name(flags)) {
			in[m.name] = true
		}
	}
	for _, m := range modes() {
		if in[m.name] {
			out = append(out, m)
		}
	}
	return out
}

// line is the command as a shell would have it, long keys left out.
func (c program) line() []string {
	out := make([]string, 0, len(c.argv)+2)
	for _, a := range c.argv {
		switch {
		case len(a) == 64 && !strings.Contains(a, " "):
			a = a[:8] + "…"
		case a == "" || strings.ContainsAny(a, " |<>{}()*;$\"&\\"):
			a = "'" + a + "'"
		}
		out = append(out, a)
	}
	if c.stdin != "" {
		out = append(out, "<", c.stdin)
	}
	return out
}

// often leaves the mode out that everything runs in.
func often(modes []mode) (out []mode) {
	for _, m := range modes {
		if m.name != "record" {
			out = append(out, m)
		}
	}
	return out
}

func names(modes []mode) string {
	var n []string
	for _, m := range modes {
		n = append(n, m.name)
	}
	return strings.Join(n, ", ")
}

// cell is text that does not end a table's cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_").Replace(s)
}

// codeCell is code in a table's cell.
func codeCell(s string) string {
	return "`` " + strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ") + " ``"
}

// firstSentence is what the comment at a fixture's top begins with.
func firstSentence(t *testing.T, file string) string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var words []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if text := strings.Trim(line, "/*# "); text != "" && !strings.Contains(text, "expect ") && !strings.HasPrefix(text, "build: ") {
			words = append(words, text)
		}
		text := strings.Join(words, " ")
		if s, _, ended := strings.Cut(text+" ", ". "); ended {
			return strings.TrimSuffix(s, ".")
		}
		if strings.HasSuffix(line, "*/") && len(words) > 0 || strings.Contains(line, "expect ") {
			return text
		}
	}
	t.Fatalf("%s begins with no comment", file)
	return ""
}

const documentHead = `# Transparency

A traced program behaves as it does natively: the same output, messages, exit status and files. The tests run the
commands below on inputs of their own (` + "`internal/acceptance/inputs_test.go`" + `) natively and traced, and fail where anything
differs; what was written to disk passes ` + "`alleria verify`" + `. This page is written by
` + "`go test ./internal/acceptance -run Table -update`" + `, and a test fails when it is out of date.

Every command runs in one way, in turn: half of them with every memory access of the whole run recorded to disk (*record*), the
others in another one. *translate* and *count* are ` + "`--only`" + ` of that name, *discard* is *record* with the entries
dropped, *main* is a window from the call of ` + "`main`" + ` to its return, natively before and after. With ` + "`-every`" + ` the tests run
everything in all of them (` + "`make soak`" + `); commands with a star are recorded to disk then only.

What a program can see if it looks:

- Private memory that may be written and executed at once is made read-only while its code is executed and nobody writes it. Stores and system calls that write there get the right back before they
  do, so that they end as natively; ` + "`/proc/self/maps`" + ` shows it. Another process that is not traced and writes there by ` + "`process_vm_writev`" + ` is refused, and so is an ` + "`ioctl`" + ` that writes where a structure points
  to, or a futex that passes priorities on, in a page of code.
- ` + "`/proc/self/maps`" + ` has our mappings, ` + "`/proc/self/status`" + ` names the tracer, and what waits takes other times.
- Its own code where functions are watched while it runs natively: a breakpoint or a jump lies on a function's first bytes for as long as a window waits for
  the function, and a program that copies or sums up those bytes, by loads, ` + "`write`, `process_vm_readv`" + ` or ` + "`/proc/self/mem`" + `, gets them. Where it never runs natively, as with
  ` + "`--only translate`" + `, a whole run recorded or ` + "`--unpatched`" + `, nothing lies there.
- The address of the last x87 instruction (` + "`fnstenv`, `fnsave`, `fxsave`, `xsave`" + `, frames of signals) is the program's own, but in environments of 16 bits and where the
  processor still holds one of the code cache when the program goes on natively.

By hand, since few have it: .NET Core 3.1 (` + "`dotnet`" + `), sixteen runs of programs of exceptions (also from SIGSEGV and SIGFPE, through frames and filters, unhandled), stack overflow, the collector with finalizers, pinned and large
objects, threads and their pool, tasks and timers, hot and made code, delegates, generics, vectors, calls of libc with callbacks, mapped files, sockets, children and ends of every kind: natively, and five times each *translate*, *count*, *discard* and
armed natively on ` + "`malloc`" + `; SIGINT and SIGTERM from outside three times each. Nothing differed.

## Commands

`

const documentFixtures = `
## Programs made for the purpose

Each does what has broken a tracer before. They check themselves, natively as well. Every one is recorded to disk, and half of them run in another way besides (with ` + "`-every`" + ` all of them in every way).

`
