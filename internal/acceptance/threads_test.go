package acceptance

import (
	"fmt"
	"strings"
	"testing"
)

// TestThreadsSelected gives threads selections of their own: the most specific
// holds, also if it excludes all, and windows that are open together add up.
func TestThreadsSelected(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/workers.c", "")
	fn := func(name string) string {
		return `<Image main="true"><Function name="` + name + `"><Instruction cat="any" accessAddressAndSize="1"/></Function></Image>`
	}
	thread := func(n int, inner string) string { return fmt.Sprintf(`<Thread n="%d">%s</Thread>`, n, inner) }
	window := func(events, threads string) string {
		return `<Window>` + events + `<Profile><Process>` + threads + `</Process></Profile></Window>`
	}
	for _, c := range []struct {
		windows string
		want    string // of each thread which of reads and writes are recorded, r, w, b or -
	}{
		{window("", thread(2, fn("reads"))), "-r--"},
		{window("", thread(2, fn("reads"))+`<Thread>`+fn("writes")+`</Thread>`), "wrww"},
		{window("", thread(1, `<Image/>`)+`<Thread>`+fn("writes")+`</Thread>`), "-www"},
		{window("", thread(1, fn("reads"))+thread(2, fn("*s"))+thread(3, fn("writes"))+thread(4, `<Image/>`)), "rbw-"},
		{window("", thread(4, fn("reads"))) + window("", `<Thread>`+fn("writes")+`</Thread>`), "wwwb"},
		{window(`<On><Creation process="1" thread="3"/></On>`, thread(3, fn("reads"))+`<Thread>`+fn("writes")+`</Thread>`), "--rw"},
		{window(`<Till><Termination process="1" thread="2"/></Till>`, thread(3, fn("reads"))+`<Thread>`+fn("writes")+`</Thread>`), "ww--"},
	} {
		got := record(t, workDir(t), `<AlleriaConfig version="1.0">`+c.windows+`</AlleriaConfig>`, prog)
		var b strings.Builder
		for n := 1; n <= 4; n++ {
			r := got[fmt.Sprintf("1/%d", n)]
			reads, writes := r.functions["reads"], r.functions["writes"]
			switch {
			case reads+writes != len(r.addrs):
				t.Errorf("%s: thread %d recorded %v", c.windows, n, r.functions)
			case reads > 0 && writes > 0:
				b.WriteByte('b')
			case reads > 0:
				b.WriteByte('r')
			case writes > 0:
				b.WriteByte('w')
			default:
				b.WriteByte('-')
			}
			if reads > 0 && r.loads < 100*n || writes > 0 && r.stores < 100*n {
				t.Errorf("%s: thread %d made %d loads, %d stores", c.windows, n, r.loads, r.stores)
			}
		}
		if b.String() != c.want {
			t.Errorf("%s: %s, want %s", c.windows, b.String(), c.want)
		}
	}
	many := ""
	for n := range 40 {
		many += thread(n+1, `<Image/>`)
	}
	dir := workDir(t)
	writeConfig(t, dir, `<AlleriaConfig version="1.0">`+window("", many)+`</AlleriaConfig>`)
	r := run(t, command{argv: []string{alleria(), "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
	if r.status != 2 || !strings.Contains(string(r.stderr), "40 threads are named") {
		t.Errorf("too many threads: %d %s", r.status, r.stderr)
	}
}
