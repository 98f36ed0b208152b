package acceptance

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// calledFrom is what windows --json says of an opening's caller, and of its closing's.
type calledFrom struct {
	Caller     uint64
	CalledFrom string `json:"called_from"`
	Closed     *calledFrom
}

// callersOf are the callers of a profile's openings, in their order.
func callersOf(t *testing.T, dir string) (out []calledFrom) {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "windows", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil {
		t.Fatalf("%v: %s", err, clip(r.stdout))
	}
	return out
}

// returnsTo is where calls in the function of a program return to, by objdump, without the address at which it is loaded.
func returnsTo(t *testing.T, prog, function, called string) (all []uint64) {
	t.Helper()
	b, err := exec.Command("objdump", "-d", "--disassemble="+function, prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`call +[0-9a-f]+ <`+called+`>\n +([0-9a-f]+):`).FindAllSubmatch(b, -1)
	if m == nil {
		t.Fatalf("no call of %s in %s:\n%s", called, function, b)
	}
	for _, s := range m {
		at, _ := strconv.ParseUint(string(s[1]), 16, 64)
		all = append(all, at&0xfff)
	}
	return all
}

// TestOpeningsNameTheirCaller: each way to open a window says where the function returns to, which objdump tells as well.
func TestOpeningsNameTheirCaller(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/switch.c", "-O1 -foptimize-sibling-calls -Wno-clobbered")
	main, tail := returnsTo(t, prog, "main", "opener"), returnsTo(t, prog, "main", "tail")
	for way, flags := range map[string][]string{"by code": nil, "by requests": {"--engine", "no-toggle"}, "natively": {"--engine", "no-busy,no-toggle"}} {
		dir := workDir(t)
		config := windowed(`reopenable="true"`, `<On><One><Call name="opener"/><Call name="tail"/></One></On><Till><Return name="target"/></Till>`, "")
		if way == "by code" { // which knows of one event
			config = windowed(`reopenable="true"`, `<On><Call name="target"/></On><Till><Return name="target"/></Till>`, "")
		}
		config = strings.Replace(config, "<Image>", `<Image main="true">`, 1)
		recordWith(t, dir, config, true, append([]string{"--no-aslr"}, flags...), prog, "tails")
		list := callersOf(t, dir)
		want := 501 // the last is opener's
		if way == "by code" {
			want = 500
		}
		if len(list) != want {
			t.Fatalf("%s: %d openings, want %d", way, len(list), want)
		}
		for i, o := range list {
			at, tells := tail, "main+" // target is reached by a jump of tail's, and returns to tail's caller
			if i == 500 {
				at = main
			}
			if !slices.Contains(at, o.Caller&0xfff) || o.Caller != list[i/500*500].Caller || !strings.HasPrefix(o.CalledFrom, tells) {
				t.Fatalf("%s: opening %d says %#x, %q; it returns to one of %#x in main", way, i+1, o.Caller, o.CalledFrom, at)
			}
			if o.Closed != nil && o.Closed.Caller != 0 {
				t.Fatalf("%s: closing %d, on a return, says %#x", way, i+1, o.Closed.Caller)
			}
		}
		r := run(t, command{argv: []string{alleria(), "report", profileDir}, dir: dir})
		if !strings.Contains(string(r.stdout), ", called from main+") {
			t.Errorf("%s: report says %s", way, clip(r.stdout))
		}
	}
}

// TestCallersWithoutStack: a function that is entered with a stack pointer that leads nowhere is not called by anybody, and goes on.
func TestCallersWithoutStack(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/nostack.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	for way, flags := range map[string][]string{"by code": nil, "by requests": {"--engine", "no-toggle"}, "natively": {"--engine", "no-busy,no-toggle"}} {
		dir := workDir(t)
		// Awaiting a return of f looks where it returns to as well.
		config := windowed(`reopenable="true"`, `<On><Call name="f"/></On><Till><Return name="f"/></Till>`, "")
		recordWith(t, dir, config, true, flags, prog)
		if n := len(callersOf(t, dir)); n != 1 {
			t.Errorf("%s, until f returns: %d openings, want 1", way, n)
		}
		config = windowed(`reopenable="true"`, `<On><Call name="f"/></On><Till><Call name="g"/></Till>`, "")
		recordWith(t, dir, config, true, flags, prog)
		list := callersOf(t, dir)
		if len(list) != 100 {
			t.Errorf("%s: %d openings, want 100", way, len(list))
		}
		for i, o := range list {
			want := at["first"]
			if i%2 == 1 {
				want = at["second"]
			}
			if o.Caller != 0 || o.Closed == nil || o.Closed.Caller != want || !strings.HasPrefix(o.Closed.CalledFrom, "_start+") {
				t.Fatalf("%s: opening %d says %+v, closed %+v; want no caller, and %#x", way, i+1, o, o.Closed, want)
			}
		}
	}
}
