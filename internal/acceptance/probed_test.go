package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSyscallsUnderProbes waits for system calls, and for arrivals at their very
// instructions: natively there is a probe on each, and the call has to be seen all the
// same, to be counted once, and to do what it does.
func TestSyscallsUnderProbes(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/probed.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	var probes strings.Builder
	for n := range 6 {
		fmt.Fprintf(&probes, `<Address value="%#x" threshold="1000"/>`, at[fmt.Sprint("call", n+1)])
	}
	for _, others := range []string{"", nothing} {
		others += strings.Replace(nothing, `name="nothing">`, `name="probes"><On><One>`+probes.String()+`</One></On>`, 1)
		for _, c := range []struct {
			event string
			first string // label of the first recorded instruction
		}{
			{`<Syscall name="getpid"/>`, "after1"},
			{`<Syscall name="getpid" threshold="3"/>`, "after1"},
			{`<Syscall name="getpid" threshold="6"/>`, ""},
			{`<Syscall name="clone"/>`, "after2"},
			{`<Syscall name="read"/>`, "after3"},
			{`<Syscall name="read" threshold="2"/>`, ""},
			{`<Syscall name="fork"/>`, "after4"},
			{`<Syscall name="wait4"/>`, "after5"},
			{`<Syscall name="exit_group" thread="1"/>`, ""},
			{fmt.Sprintf(`<Address value="%#x" threshold="4"/>`, at["call1"]), "call1"},
			{fmt.Sprintf(`<Address value="%#x" threshold="6"/>`, at["call1"]), ""},
			{fmt.Sprintf(`<Address value="%#x" threshold="2"/>`, at["call3"]), ""},
		} {
			t.Run(c.event, func(t *testing.T) {
				dir := workDir(t)
				got := record(t, dir, windowed("", "<On>"+c.event+"</On>", others), prog)["1/1"]
				if got.first() != at[c.first] {
					t.Errorf("begins at %#x, not %s", got.first(), c.first)
				}
				if n := len(openings(t, dir)); n != 1 && (n != 0 || c.first != "") && !strings.Contains(c.event, "exit_group") {
					t.Errorf("%d openings", n)
				}
				calls := 0
				for _, a := range got.addrs {
					if a == at["after1"] {
						calls++
					}
				}
				if want := map[bool]int{true: 3, false: 5}[strings.Contains(c.event, "threshold")]; slices.Contains([]string{"after1"}, c.first) && calls != want {
					t.Errorf("%d calls are recorded, not %d", calls, want)
				}
			})
		}
	}
}

// TestSyscallOf32Bits: calls by int 0x80 have numbers of their own, which are not those that
// an event has.
func TestSyscallOf32Bits(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/int80.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	if r := run(t, command{argv: []string{prog}, dir: workDir(t)}); r.status != 0 {
		t.Skipf("no 32-bit calls here: %d", r.status)
	}
	for kind, others := range map[string]string{"native": "", "cached": nothing} {
		for _, event := range []string{`<Syscall name="getpid"/>`, `<Syscall number="39"/>`, `<Syscall name="getpid" threshold="2"/>`} {
			got := record(t, workDir(t), windowed("", "<On>"+event+"</On>", others), prog)["1/1"]
			want := at["after_getpid"]
			if strings.Contains(event, "threshold") {
				want = 0
			}
			if got.first() != want {
				t.Errorf("%s %s: begins at %#x, not %#x", kind, event, got.first(), want)
			}
		}
	}
}

// TestZeroUnderProbe waits for a function whose first byte is zero, so that the byte does not
// tell whether a probe has replaced it. Threads were sent back to the probe, which counted the
// call again each time, until the process went into the cache; without that, for ever.
func TestZeroUnderProbe(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/zero.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	for _, c := range []struct {
		event string
		first string // label of the first recorded instruction
		calls int    // that are recorded
	}{
		{`<Call name="zero" threshold="4"/>`, "zero", 3},
		{`<Return name="zero" threshold="4"/>`, "after", 2},
		{fmt.Sprintf(`<Address value="%#x" threshold="5"/>`, at["zero"]), "zero", 2},
		{`<Call name="zero" threshold="7"/>`, "", 0},
	} {
		for _, engine := range [][]string{nil, {"--engine", "no-busy"}, {"--engine", "no-busy,no-jumps"}} {
			dir := workDir(t)
			writeConfig(t, dir, windowed("", "<On>"+c.event+"</On>", ""))
			argv := append([]string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir}, engine...)
			r := run(t, command{argv: append(argv, "--", prog), dir: dir, timeout: time.Minute})
			if r.status != 6 {
				t.Errorf("%s, %v: status %d, %s", c.event, engine, r.status, clip(r.stderr))
				continue
			}
			got, calls := dumped(t, dir)["1/1"], 0
			for _, a := range got.addrs {
				if a == at["zero"] {
					calls++
				}
			}
			if got.first() != at[c.first] || calls != c.calls {
				t.Errorf("%s, %v: begins at %#x, not %s, and has %d calls, not %d", c.event, engine, got.first(), c.first, calls, c.calls)
			}
		}
	}
}
