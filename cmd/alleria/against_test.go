package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"alleria/internal/against"
	"alleria/internal/against/codec"
)

// fixture is the program that tests look at.
var fixture = codec.New("../../internal/against/testdata/build.sh")

func TestMain(m *testing.M) {
	cache, err := os.MkdirTemp("", "alleria-cache")
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil { // which lies below the user's
		_ = os.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	}
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", cache) // not the user's
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(cache)
	fixture.Remove()
	os.Exit(code)
}

// windowFile writes a configuration of one window from what stands in the window
// before Profile and in its Thread.
func windowFile(t *testing.T, events, images string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.xml")
	text := `<AlleriaConfig version="1.0"><Window name="w">` + events + "\n<Profile><Process><Thread>\n" + images +
		"\n</Thread></Process></Profile></Window></AlleriaConfig>"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// anyOf selects all instructions of functions of the main executable.
func anyOf(functions ...string) string {
	s := `<Image main="true">`
	for _, f := range functions {
		s += `<Function name="` + f + `"><Instruction cat="any" timeStamp="true"/></Function>`
	}
	return s + `</Image>`
}

// checkAgainst runs check --against --json.
func checkAgainst(t *testing.T, program, file string) (list []diagnostic, e against.Estimate) {
	t.Helper()
	status, out, errs := command(t, "check", "--against", program, "--json", file)
	var got struct {
		Diagnostics []diagnostic
		Estimates   []against.Estimate
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || len(got.Estimates) != 1 {
		t.Fatalf("check --against %s: %d %q %q %v", program, status, out, errs, err)
	}
	return got.Diagnostics, got.Estimates[0]
}

// estimateText is what check prints of gzip, with figures and versions open.
var estimateText = regexp.MustCompile(`(?s)^\S+ is correct\.

Window 1, w
  Open from the first instruction of each process to its end\.
  While open, records in every process and thread:
    in the main executable, the function main: every instruction, with the time
    in all other code: nothing

In /bin/gzip and what it is linked with \(3 images, [\d,]+ functions, [\d,]+ instructions\):

  Window w
 +functions +of +instructions +of +share
    gzip +1 +\d+ +[\d,]+ +[\d,]+ +[\d.]+ %
    everything +1 +[\d,]+ +[\d,]+ +[\d,]+ +[<\d. ]+ %
    nothing in libc\.so\.6 and ld-linux-x86-64\.so\.2
    recorded of each: timeStamp
    memory accesses among them: [\d,]+

These are instructions .*
`)

func TestEstimateText(t *testing.T) {
	codec.Installed(t, "/bin/gzip")
	status, out, errs := command(t, "check", "--against", "/bin/gzip", windowFile(t, "", anyOf("main")))
	if status != 0 || !estimateText.MatchString(out) || errs != "" {
		t.Errorf("%d %s\n%s", status, out, errs)
	}
	// sqlite3 is small, and its functions are in a library that is linked by another name.
	program := codec.Installed(t, "/usr/bin/sqlite3")
	list, _ := checkAgainst(t, program, windowFile(t, `<On><Call name="sqlite3_step" imageName="libsqlite3.so.0"/></On>`, anyOf("sqlite3_open")))
	if len(list) != 1 || !strings.Contains(list[0].Right, "libsqlite3.so.0.") {
		t.Errorf("%+v", list)
	}
}

func TestAgainstErrors(t *testing.T) {
	file := windowFile(t, "", anyOf("main"))
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program string
		status  int
		says    string
	}{
		{"alleria-no-such-program", 127, "no such program in PATH"},
		{"/no/such/file", 127, "not found"},
		{"/etc/passwd", 126, "/etc/passwd"},
	} {
		status, _, errs := command(t, "check", "--against", c.program, file)
		if status != c.status || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: %d %q", c.program, status, errs)
		}
	}
	if status, _, errs := command(t, "check", "--against", text, windowFile(t, "", `<Image/>`)); status != 0 || !strings.Contains(errs, "is a script: its process runs /bin/sh") {
		t.Errorf("a script: %d %q", status, errs)
	}
}
