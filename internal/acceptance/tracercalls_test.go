package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCallsThatOpen records the system calls at whose entry a window opens, natively
// running threads' as those in the code cache.
func TestCallsThatOpen(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/tracer-calls.S", "-nostdlib -static -no-pie")
	for _, c := range []struct {
		call string
		want []string
	}{
		{"arch_prctl", slices.Repeat([]string{"arch_prctl"}, 400)},
		{"exit_group", []string{"exit_group"}},
	} {
		dir := workDir(t)
		writeConfig(t, dir, fmt.Sprintf(`<AlleriaConfig version="1.0"><Window reopenable="true"><On><Syscall name="%s"/></On>
<Till><Instructions threshold="3" since="open"/></Till><Profile><Process><Thread syscalls="true"><Image/></Thread></Process></Profile></Window></AlleriaConfig>`, c.call))
		for _, flags := range [][]string{nil, {"--engine", "no-busy"}} {
			argv := append([]string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir}, flags...)
			if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 0 || len(r.stderr) > 0 {
				t.Fatalf("%d %s", r.status, r.stderr)
			}
			verify(t, dir)
			var got []string
			d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir})
			for line := range strings.Lines(string(d.stdout)) {
				if m := dumpCall.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
					got = append(got, m[1])
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s %v: %d calls are recorded, %d were made with the window open", c.call, flags, len(got), len(c.want))
			}
		}
	}
}
