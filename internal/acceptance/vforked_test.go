package acceptance

import (
	"strings"
	"testing"
)

// TestVforkedEvents: who waits for events of a process that has shared its creator's memory until its end is told that they are not seen, and nobody else is.
func TestVforkedEvents(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/vforked.c", "")
	for event, told := range map[string]bool{`<Creation process="2"/>`: true, `<Termination process="2"/>`: true, `<Creation process="3"/>`: false} {
		dir := workDir(t)
		file := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window name="w"><On>`+event+`</On>`+
			`<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
		r := run(t, command{argv: []string{alleria(), "record", "-c", file, "-o", profileDir, "--", prog}, dir: dir})
		if r.status != 0 || strings.Contains(string(r.stderr), "process 2 (vforked") != told {
			t.Errorf("%s: status %d, %s", event, r.status, clip(r.stderr))
		}
	}
}
