package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"alleria/internal/session"
)

// command runs alleria in this process and returns what a shell would see.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"", 2, "a command is needed"},
		{"recrod -- true", 2, `unknown command "recrod"; did you mean record?`},
		{"help recrod", 2, `unknown command "recrod"; did you mean record?`},
		{"record", 2, "no program is named"},
		{"record --nosuch true", 2, "unknown flag: --nosuch"},
		{"record --only everything true", 2, "--only is translate, count or blocks"},
		{"record --compress 99 true", 2, "--compress is a level from 1 to 22"},
		{"record --compress fast true", 2, "--compress is a level"},
		{"record --max-size ten true", 2, "is not a size"},
		{"record --max-time 1fortnight true", 2, "is not a time"},
		{"record --max-instructions -1 true", 2, "is not a count"},
		{"record --threads -1 true", 2, "--threads is a number from 0"},
		{"record -c w.xml --on-call f true", 2, "exclude each other"},
		{"record --follow parents true", 2, "--follow is all, none or threads"},
		{"record --follow none --process 2 true", 2, "--process 2 has no effect"},
		{"record --process 0 true", 2, "processes are numbered from 1"},
		{"record --process 1,,2 true", 2, "leaves a process out"},
		{"record -c w.xml --process 2 true", 2, "exclude each other"},
		{"record --only count --process 2 true", 2, "--process has no effect"},
		{"record --discard -o x true", 2, "--discard writes nothing"},
		{"record alleria-no-such-program", 127, "no such program in PATH"},
		{"record /no/such/file", 127, "no such file"},
		{"record " + plain, 126, "cannot be executed: permission denied"},
		{"record /", 126, "cannot be executed"},
		{"man nosuch", 2, "no command"},
		{"version extra", 2, `unknown command "extra"`},
	} {
		status, _, stderr := command(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: status %d, %q; want %d and %q", c.args, status, stderr, c.status, c.says)
		}
		if strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: not one line: %q", c.args, stderr)
		}
	}
}

func TestOldSpelling(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"record -cfg w.xml prog", "record --config w.xml prog"},
		{"record -cfg=w.xml prog", "record --config=w.xml prog"},
		{"record -q -o out -cfg w.xml -- prog -cfg x", "record -q -o out --config w.xml -- prog -cfg x"},
		{"record -oout prog -cfg x", "record -oout prog -cfg x"},
		{"record --only count prog -cfg x", "record --only count prog -cfg x"},
		{"-q record -cfg w.xml prog", "-q record --config w.xml prog"},
		{"--log f record -cfg w.xml prog", "--log f record --config w.xml prog"},
		{"version -cfg x", "version -cfg x"},
	} {
		a := &app{}
		got := strings.Join(oldSpelling(a.root(nil), strings.Fields(c.in)), " ")
		if got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStatusOfSession(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errors.New("disk on fire"), statusOwn},
		{errors.Join(errors.New("exec"), session.ErrNotFound), statusNotFound},
		{errors.Join(errors.New("exec"), session.ErrCannotTrace), statusNotTraced},
		{errors.Join(errors.New("flags"), session.ErrUsage), statusUsage},
	} {
		if got := statusOf(c.err); got != c.status {
			t.Errorf("%v: status %d, want %d", c.err, got, c.status)
		}
	}
	a := &app{stderr: &bytes.Buffer{}}
	if got := a.status(&statusError{status: 143}); got != 143 || a.stderr.(*bytes.Buffer).Len() != 0 {
		t.Errorf("the target's own status became %d with message %q", got, a.stderr)
	}
}

func TestVersionAndMan(t *testing.T) {
	status, out, _ := command(t, "version", "--json")
	var v map[string]string
	if err := json.Unmarshal([]byte(out), &v); status != 0 || err != nil || v["version"] != version {
		t.Errorf("version --json: status %d, %q, %v", status, out, err)
	}
	_, line, _ := command(t, "version")
	if status, out, _ := command(t, "--version"); status != 0 || out != line || !strings.HasPrefix(out, "alleria "+version) {
		t.Errorf("--version: status %d, %q, and version says %q", status, out, line)
	}
	status, out, _ = command(t, "man", "record")
	if status != 0 || !strings.Contains(out, ".TH") || !strings.Contains(out, `till\-return`) {
		t.Errorf("man record: status %d, %.80q", status, out)
	}
	for _, bad := range []string{"=false", "[]", "<nil>"} {
		if strings.Contains(out, bad) {
			t.Errorf("the page of record shows %q as a value", bad)
		}
	}
	if man, err := exec.LookPath("man"); err == nil {
		cmd := exec.Command(man, "--warnings", "-l", "-")
		cmd.Stdin = strings.NewReader(out)
		if msg, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(msg), "warning:") {
			t.Errorf("man does not like the page: %v\n%s", err, msg)
		}
	}
	dir := t.TempDir()
	if status, _, errs := command(t, "man", "--dir", dir); status != 0 {
		t.Errorf("man --dir: %d %s", status, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "alleria-record.1")); err != nil {
		t.Error(err)
	}
	if status, out, _ := command(t, "completion", "bash"); status != 0 || !strings.Contains(out, "__start_alleria") {
		t.Errorf("completion bash: %d %.80q", status, out)
	}
	for _, args := range [][]string{{"completion"}, {"completion", "csh"}} {
		status, out, errs := command(t, args...)
		if status != statusUsage || out != "" || !strings.Contains(errs, "one of bash, fish, ") {
			t.Errorf("%v: %d %q %q", args, status, out, errs)
		}
	}
}

// TestNumbersOfFlags sees that a wrong number is said to be one in the user's words.
func TestNumbersOfFlags(t *testing.T) {
	for arg, want := range map[string]string{"x": "not a number", "-1": "not a number", "99999999999999999999": "out of range"} {
		status, _, errs := command(t, "report", "--process="+arg, t.TempDir())
		if status != statusUsage || !strings.Contains(errs, want) || strings.Contains(errs, "strconv") {
			t.Errorf("--process=%s: %d %q", arg, status, errs)
		}
	}
}

// TestEveryFlagIsExplained keeps the manual complete.
func TestEveryFlagIsExplained(t *testing.T) {
	root := (&app{}).root(nil)
	for _, c := range root.Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short help %q", c.Name(), c.Short)
		}
	}
}

func TestCheckAndConfigErrors(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.xml"), filepath.Join(dir, "bad.xml")
	text := `<AlleriaConfig version="1.0"><Window><On><Call name="main"/></On>
<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	for path, s := range map[string]string{good: text, bad: strings.Replace(text, "Call", "Cal", 1)} {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	status, out, errs := command(t, "check", good)
	if status != 0 || !strings.Contains(out, "main of the main executable is entered") {
		t.Errorf("check of a good file: %d %q %q", status, out, errs)
	}
	// Both ways in which a file is loaded report it alike: place first, no prefix.
	for _, args := range [][]string{{"check", good, bad}, {"record", "-c", bad, "true"}, {"record", "-cfg", bad, "true"}} {
		status, _, errs := command(t, args...)
		if status != 2 || !strings.Contains("\n"+errs, "\n"+bad+":1:") || !strings.Contains(errs, "Call") {
			t.Errorf("%v: %d %q", args, status, errs)
		}
	}
	status, out, _ = command(t, "check", "--json", bad)
	var list []diagnostic
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 2 || len(list) == 0 || list[0].Line != 1 || list[0].Severity != "error" {
		t.Errorf("check --json: %d %q %v", status, out, err)
	}
	if status, out, _ := command(t, "schema"); status != 0 || !strings.Contains(out, "AlleriaConfig") {
		t.Errorf("schema: %d %.60q", status, out)
	}
	for _, flags := range []string{"--fields tim", "--select foo=1", "--on-instructions many"} {
		args := append(append([]string{"record"}, strings.Fields(flags)...), "true")
		if status, _, errs := command(t, args...); status != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("record %s: %d %q", flags, status, errs)
		}
	}
}

// TestOneCommand: a command that is made alone, as its name in front has it, is the same as among all.
func TestOneCommand(t *testing.T) {
	all := (&app{}).subcommands(nil)
	whole := (&app{}).root(nil)
	for _, c := range all {
		if c.name == "man" { // of all commands
			continue
		}
		alone := (&app{}).root([]string{c.name})
		if len(alone.Commands()) != 1 {
			t.Fatalf("%s: %d commands", c.name, len(alone.Commands()))
		}
		among, _, err := whole.Find([]string{c.name})
		if err != nil || among == whole {
			t.Fatalf("%s is not among all: %v", c.name, err)
		}
		one := alone.Commands()[0]
		if one.Name() != c.name || one.UsageString() != among.UsageString() {
			t.Errorf("%s alone is %s:\n%s\namong all it is:\n%s", c.name, one.Name(), one.UsageString(), among.UsageString())
		}
	}
	if n := len(whole.Commands()); n != len(all)+2 {
		t.Errorf("%d commands, %d, completion and help are made", n, len(all))
	}
}
