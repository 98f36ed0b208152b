package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckKnowsWhatRecordRefuses: what record would refuse of a configuration, and what can match
// nothing, check says before.
func TestCheckKnowsWhatRecordRefuses(t *testing.T) {
	var threads strings.Builder
	for n := range 40 {
		fmt.Fprintf(&threads, `<Thread n="%d"><Image/></Thread>`, n+1)
	}
	for text, want := range map[string]string{
		`<Window><On><Syscall name="opennat"/></On><Profile><Process/></Profile></Window>`:                                                                                                    `the nearest is "openat"`,
		`<Window><On><Syscall number="99999"/></On><Profile><Process/></Profile></Window>`:                                                                                                    `there is no system call 99999`,
		`<Window><Profile><Process>` + threads.String() + `</Process></Profile></Window>`:                                                                                                     `threads are named; at most`,
		`<Window><Profile><Process><Thread><Image><Function><Instruction class="MOVV"/></Function></Image></Thread></Process></Profile></Window>`:                                             `the nearest known one is "MOV"`,
		`<Window><Profile><Process><Thread><Image><Function><Instruction class="XQZWJK"/></Function></Image></Thread></Process></Profile></Window>`:                                           `is not known to the decoder`,
		`<Window><Profile><Process><Thread><Image><Function><Instruction class="VFMADD231PS"/></Function></Image></Thread></Process></Profile></Window>`:                                      ``,
		`<Window><On><Syscall name="futex"/></On><Profile><Process><Thread n="3"><Image><Function/></Image></Thread><Thread><Image><Function/></Image></Thread></Process></Profile></Window>`: ``,
	} {
		file := filepath.Join(t.TempDir(), "w.xml")
		if err := os.WriteFile(file, []byte(`<AlleriaConfig version="1.0">`+text+`</AlleriaConfig>`), 0o644); err != nil {
			t.Fatal(err)
		}
		status, _, said := command(t, "check", file)
		if refused := strings.Contains(want, "at most") || strings.Contains(text, `number="99999"`) || strings.Contains(text, "opennat"); (status == 2) != refused {
			t.Errorf("%s\nstatus %d", text, status)
		}
		if want == "" && (strings.Contains(said, "unsupported") || strings.Contains(said, "decoder")) || !strings.Contains(said, want) {
			t.Errorf("%s\nwant %q, have %s", text, want, said)
		}
	}
}

// TestImageAll: record understands the word that new has for all images.
func TestImageAll(t *testing.T) {
	var f windowFlags
	f.oneOff.Image = "all"
	c, _, err := f.fromFlags(os.Stderr)
	if err != nil || c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Name != "" {
		t.Errorf("%v", err)
	}
	_, out, _ := command(t, "new", "--on-call", "deflate@libz.so.1")
	if !strings.Contains(out, `<Image name="libz.so.1">`) {
		t.Errorf("a window on a library's function:\n%s", out)
	}
	_, out, _ = command(t, "new", "--on-call", "deflate@libz.so.1", "--image", "main")
	if !strings.Contains(out, `<Image main="true">`) {
		t.Errorf("an image that was named:\n%s", out)
	}
}
