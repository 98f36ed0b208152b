package acceptance

import (
	"testing"
)

// TestCallsSeenNatively: programs that run natively, with a window armed that never opens, and make calls that only the tracer can have come out as they do without it: a limit of the
// address space, which would count what is mapped for the tracer, children that no tracer would be told of, which would end by its breakpoints, and calls of ptrace.
func TestCallsSeenNatively(t *testing.T) {
	for _, c := range []struct{ program, flags, function string }{
		{"memory-limited", "-O1 -pthread", "work"},
		{"threads-untraced", "-O1 -pthread", "f"},
		{"threads-untraced", "-O1 -pthread -static", "f"},
		{"threads-untraced", "-O1 -pthread -DVOLATILE", "f"},
		{"traces-by-number", "-O1 -pthread", "work"},
	} {
		t.Run(c.program+c.flags, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			prog := build(t, programs+"/"+c.program+".c", c.flags)
			writeFile(t, dir, "w.xml", `<AlleriaConfig version="1.0"><Window><On><Return name="`+c.function+`" threshold="100000"/></On><Profile><Process><Thread><Image><Function>`+
				`<Instruction cat="anyMem" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
			r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", "out", "--", prog}, dir: dir})
			if r.status != 0 || string(r.stdout) != "ok\n" {
				t.Errorf("status %d: %q\n%s", r.status, r.stdout, clip(r.stderr))
			}
		})
	}
}
