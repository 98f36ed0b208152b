package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/analysis"
)

// dumpedLine is a line of dump --json.
type dumpedLine struct {
	Kind     string `json:"kind"`
	Taken    *bool  `json:"taken"`
	Accesses []struct {
		Store bool   `json:"store"`
		Value string `json:"value"`
	} `json:"accesses"`
}

// TestDumpForms: a dump as JSON has what the text has, entry by entry, and one that begins
// in the middle leaves out what came before.
func TestDumpForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `<AlleriaConfig version="1.0"><Window><On><Call name="main"/></On><Profile><Process><Thread syscalls="true"><Image><Function>
		<Instruction cat="any" accessValue="true" branch="true" timeStamp="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	if err := os.WriteFile(filepath.Join(dir, "window.xml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) []byte {
		r := run(t, command{argv: append([]string{alleria()}, args...), dir: dir})
		if r.status != 0 {
			t.Fatalf("%v: status %d, %s", args, r.status, clip(r.stderr))
		}
		return r.stdout
	}
	do("-q", "record", "-c", "window.xml", "-o", "out", "--", find("echo"), "x")

	text := string(do("dump", "out"))
	want := fmt.Sprint(strings.Count(text, "\n           load "), strings.Count(text, "\n           store "),
		strings.Count(text, "\n           taken to "), strings.Count(text, "\n           not taken"), strings.Count(text, "\n    syscall "), len(regexp.MustCompile(`(?m)^ {11}(load|store).* = `).FindAllString(text, -1)),
		len(regexp.MustCompile(`(?m)^ {0,9}\d+ 0x`).FindAllString(text, -1)))
	var values, loads, stores, taken, not, calls, instructions int
	for line := range bytes.Lines(do("dump", "--json", "out")) {
		var d dumpedLine
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch d.Kind {
		case "syscall":
			calls++
		case "instruction":
			instructions++
		}
		for _, a := range d.Accesses {
			if a.Value != "" {
				values++
			}
			if a.Store {
				stores++
			} else {
				loads++
			}
		}
		if d.Taken != nil && *d.Taken {
			taken++
		} else if d.Taken != nil {
			not++
		}
	}
	if got := fmt.Sprint(loads, stores, taken, not, calls, values, instructions); got != want || instructions == 0 || calls < 2 {
		t.Errorf("loads, stores, taken, not taken, calls, values, instructions: %s; the text has %s", got, want)
	}

	last := string(do("dump", "--from", fmt.Sprint(instructions-1), "out"))
	if strings.Count(last, "syscall ") != 2 || !strings.Contains(last, "exit_group(") { // the instruction and its call
		t.Errorf("from the last instruction on:\n%s", last)
	}
	if r := run(t, command{argv: []string{alleria(), "dump", "--from", "1G", "out"}, dir: dir}); r.status != 2 || !strings.Contains(string(r.stderr), "no such instruction") {
		t.Errorf("beyond the end: status %d, %s", r.status, r.stderr)
	}
}

// TestDumpByBlocks: executions that are written by blocks look like those that are written entry by entry, with
// vectors, times, signals and calls between them.
func TestDumpByBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread syscalls="true"><Image><Function>
		<Instruction cat="any" accessValue="true" branch="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	if err := os.WriteFile(filepath.Join(dir, "calls.xml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	for out, args := range map[string][]string{
		"everything": {"--", find("echo"), "x"},
		"calls":      {"-c", "calls.xml", "--", find("sh"), "-c", "trap : USR1; kill -USR1 $$; echo x"},
	} {
		if r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-o", out}, args...), dir: dir}); r.status != 0 {
			t.Fatalf("%s: status %d, %s", out, r.status, clip(r.stderr))
		}
		p, err := abp.Open(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for name, q := range map[string]abp.Query{"all": {}, "by time": {Order: abp.OrderTime}, "stretch": {Ordinals: abp.Range{From: 1000, To: 20_001}}, "function": {Functions: []string{"*cmp*"}}} {
			for _, json := range []bool{false, true} {
				var alone, blocks bytes.Buffer
				o := analysis.DumpOptions{Syntax: analysis.Intel, JSON: json}
				err := analysis.Dump(&blocks, p, q, o)
				o.Alone = true
				if err := errors.Join(err, analysis.Dump(&alone, p, q, o)); err != nil {
					t.Fatal(err)
				}
				if at := diffAt(alone.Bytes(), blocks.Bytes()); at >= 0 || alone.Len() == 0 {
					t.Errorf("%s, %s, JSON %v: %d bytes, entry by entry %d; they differ from here on:\n%.400s\n%.400s", out, name, json, blocks.Len(), alone.Len(),
						blocks.Bytes()[max(at-200, 0):], alone.Bytes()[max(at-200, 0):])
				}
			}
		}
	}
}

// diffAt returns where two texts differ, -1 if they don't.
func diffAt(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
