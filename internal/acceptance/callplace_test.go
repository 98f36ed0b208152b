package acceptance

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCallsWithoutTheirInstruction records system calls and only instructions that access memory:
// a call stands between the same instructions as where all are recorded.
func TestCallsWithoutTheirInstruction(t *testing.T) {
	t.Parallel()
	fixture := build(t, "../../testdata/events/kernel.S", "-nostdlib -static -no-pie")
	line := regexp.MustCompile(`^ +\d+ (0x[0-9a-f]+) .*|^ +syscall \d+ (\w+)`)
	sequence := func(select_ string) (memory []string) {
		dir := workDir(t)
		writeConfig(t, dir, outsideConfig(`syscalls="true"`, `<Image><Function><Instruction `+select_+` accessAddressAndSize="true"/></Function></Image>`))
		if r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", "out", "--", fixture}, dir: dir}); len(r.stderr) > 0 {
			t.Fatalf("%d %s", r.status, r.stderr)
		}
		r := run(t, command{argv: []string{alleria(), "dump", "out"}, dir: dir})
		var last string
		for l := range strings.Lines(string(r.stdout)) {
			switch m := line.FindStringSubmatch(strings.TrimRight(l, "\n")); {
			case m == nil && (strings.HasPrefix(l, "           load") || strings.HasPrefix(l, "           store")):
				if last != "" {
					memory, last = append(memory, last), ""
				}
			case m == nil:
			case m[2] != "":
				memory, last = append(memory, m[2]), ""
			default:
				last = m[1]
			}
		}
		return memory
	}
	// Whether the first thread has to wait for the second to end, and how often, is the scheduler's to say:
	// of its loop one round is compared, without the call.
	settled := func(names []string) []string {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "futex" })
		return slices.CompactFunc(names, func(a, b string) bool { return a == b && strings.HasPrefix(a, "0x") })
	}
	all, some := sequence(`cat="any"`), sequence(`cat="anyMem"`)
	all, some = settled(all), settled(some)
	if len(all) < 5 || strings.Join(all, "\n") != strings.Join(some, "\n") {
		t.Errorf("all instructions:\n%s\nthose that access memory:\n%s", strings.Join(all, "\n"), strings.Join(some, "\n"))
	}
}
