package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"alleria/config"
)

// TestNew reads back what each set of options writes, as the configuration that
// was meant, and lets the schema judge it.
func TestNew(t *testing.T) {
	schema := filepath.Join("..", "..", "schemas", "alleria.xsd")
	_, noLint := exec.LookPath("xmllint")
	frame := func(window, events, image, functions string) string {
		return `<AlleriaConfig version="1.0"><Window` + window + `>` + events + `<Profile><Process><Thread><Image` + image + `>` + functions +
			`</Image></Thread></Process></Profile></Window></AlleriaConfig>`
	}
	const address = `<Function><Instruction cat="anyMem" accessAddressAndSize="1"/></Function>`
	for args, want := range map[string]string{
		"": frame("", "", ` main="1"`, address),
		"--process 4,cc1* --what blocks": `<AlleriaConfig version="1.0"><Window><Profile><Process/><Process n="4"><Thread><Image main="1"><Function><Instruction cat="any"/>` +
			`</Function></Image></Thread></Process><Process name="cc1*"><Thread><Image main="1"><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`,
		"--image all --what values": frame("", "", "",
			`<Function><Instruction cat="anyMem" accessAddressAndSize="1" accessValue="1"/></Function>`),
		"--image app --what blocks --name x--y": frame(` name="x--y"`, "", ` anyButSys="1"`, `<Function><Instruction cat="any"/></Function>`),
		"--image libc.so.6 --function mem* --function a<b>&c": frame("", "", ` name="libc.so.6"`,
			`<Function name="mem*"><Instruction cat="anyMem" accessAddressAndSize="1"/></Function>`+
				`<Function name="a&lt;b>&amp;c"><Instruction cat="anyMem" accessAddressAndSize="1"/></Function>`),
		"--image /opt/x--y --instructions 1G:2G": frame("", `<On><Instructions threshold="1G"/></On><Till><Instructions threshold="2G"/></Till>`, ` path="/opt/x--y"`, address),
		"--instructions :500k":                   frame("", `<Till><Instructions threshold="500k"/></Till>`, ` main="1"`, address),
		"--on-call f@libz.so.1 --till-return g@/a/b --reopenable": frame(` reopenable="1"`,
			`<On><Call name="f" imageName="libz.so.1"/></On><Till><Return name="g" imagePath="/a/b"/></Till>`, ` name="libz.so.1"`, address),
		"--on-call f --instructions :9 --what branches": frame("", `<On><Call name="f"/></On><Till><Instructions threshold="9"/></Till>`, ` main="1"`,
			`<Function><Instruction cat="COND_BR" branch="1"/><Instruction cat="UNCOND_BR" branch="1"/><Instruction cat="CALL" branch="1"/><Instruction cat="RET" branch="1"/></Function>`),
		"--what all": frame("", "", ` main="1"`,
			`<Function><Instruction cat="any" timeStamp="1" routineId="1" accessAddressAndSize="1" accessValue="1" branch="1"/></Function>`),
	} {
		status, out, errs := command(t, append([]string{"new"}, strings.Fields(args)...)...)
		got, _, err := config.Parse("new", []byte(out))
		if status != 0 || errs != "" || err != nil {
			t.Errorf("new %s: %d %q %v\n%s", args, status, errs, err, out)
			continue
		}
		wanted, _, err := config.Parse("want", []byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if string(got.XML()) != string(wanted.XML()) {
			t.Errorf("new %s:\n%s\nwant\n%s", args, got.XML(), wanted.XML())
		}
		if !strings.Contains(out, `<?xml-model href="alleria.xsd"`) || strings.Count(out, "<!--") < 4 {
			t.Errorf("new %s: neither hint nor comments:\n%s", args, out)
		}
		if noLint != nil {
			continue
		}
		lint := exec.Command("xmllint", "--noout", "--schema", schema, "-")
		lint.Stdin = strings.NewReader(out)
		if report, err := lint.CombinedOutput(); err != nil {
			t.Errorf("new %s: %s\n%s", args, report, out)
		}
	}
}

func TestNewWithProgram(t *testing.T) {
	program := fixture.Program(t)
	file := filepath.Join(t.TempDir(), "alleria.config")
	args := []string{"new", "--program", program, "--on-call", "codec::Encoder::encode", "--function", "codec::*", "-o", file}
	if status, out, errs := command(t, args...); status != 0 || out != "" || !strings.Contains(errs, "wrote "+file) {
		t.Errorf("%d %q %q", status, out, errs)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if status, out, _ := command(t, "check", "--against", program, file); status != 0 || !strings.Contains(out, "codec::Encoder::encode of the main executable is entered") {
		t.Errorf("check of what was written: %d %q", status, out)
	}
	// It stays as it is unless asked for twice.
	if status, _, errs := command(t, args...); status != 2 || !strings.Contains(errs, "--force replaces it") {
		t.Errorf("over an existing file: %d %q", status, errs)
	}
	for _, wrong := range [][]string{
		{"--function", "codec::Encoder::encod"}, {"--on-call", "helper_sum"}, {"--image", "libhelper.so.1"}, {"--program", "/no/such/file"},
	} {
		status, out, errs := command(t, append(append([]string{}, append(args, "--force")...), wrong...)...)
		if status == 0 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q %q", wrong, status, out, errs)
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("a refused call changed the file: %v\n%s", err, after)
	}
	if status, _, _ := command(t, append(args, "--force", "--what", "blocks")...); status != 0 {
		t.Errorf("--force: %d", status)
	}
}

func TestNewErrors(t *testing.T) {
	for args, says := range map[string]string{
		"--what much":                        "--what is one of addresses, values, blocks, branches and all",
		"--instructions 5":                   "two numbers with a colon",
		"--instructions :":                   "two numbers with a colon",
		"--instructions x:5":                 "is not a count",
		"--instructions 0:5":                 "a count from 1",
		"--on-call f --instructions 1:2":     "one event each",
		"--till-return f --instructions 1:2": "one event each",
		"--reopenable":                       "--reopenable needs an event",
		"--reopenable --instructions :5":     "--reopenable needs an event",
		"--function f --function f":          "f",
		"-o /no/such/directory/file":         "no such file or directory",
		"extra":                              "unknown command",
	} {
		status, out, errs := command(t, append([]string{"new"}, strings.Fields(args)...)...)
		if status != 2 || out != "" || !strings.Contains(errs, says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("new %s: %d %q %q, want %q", args, status, out, errs, says)
		}
	}
}
