package acceptance

import (
	"strings"
	"testing"
)

// TestIgnoredSignals counts calls in the cache while signals without handlers arrive,
// some of them when the thread has just been taken out of the cache to execute an
// instruction natively: it has to come back. The sender has the same processor: there is
// always another signal, unless the thread is sheltered from them.
func TestIgnoredSignals(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/ignored.c", "-O1")
	for _, on := range []string{`<Call name="target" threshold="50"/>`, `<Return name="target" threshold="50"/>`} {
		t.Run(on, func(t *testing.T) {
			dir := workDir(t)
			conf := windowed("", "<On>"+on+"</On>", nothing)
			// The sender executes anything from thousands to billions of instructions.
			conf = strings.ReplaceAll(conf, "<Thread>", `<Thread n="1">`)
			recordWith(t, dir, conf, true, nil, prog)
			if o := openings(t, dir); len(o) != 1 {
				t.Errorf("%d openings", len(o))
			}
		})
	}
	t.Run("native", func(t *testing.T) {
		dir := workDir(t)
		recordWith(t, dir, windowed("", `<On><Call name="target" threshold="51"/></On>`, ""), true, nil, prog)
		if o := openings(t, dir); len(o) != 0 {
			t.Errorf("%d openings", len(o))
		}
	})
	t.Run("selected", func(t *testing.T) {
		selected := `<Process><Thread><Image><Function name="target"><Instruction cat="any"/></Function></Image></Thread></Process>`
		got := record(t, workDir(t), `<AlleriaConfig version="1.0"><Window><Profile>`+selected+`</Profile></Window></AlleriaConfig>`, prog)
		if n := got["1/1"].functions["target"]; n%50 != 0 || n < 50*4 {
			t.Error("target executed ", n, " instructions in 50 calls")
		}
	})
}
