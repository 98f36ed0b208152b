package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestFunctionByOffset names a function of a stripped program by image and offset, in a
// selection and in events, and compares with the same program and its symbols.
func TestFunctionByOffset(t *testing.T) {
	t.Parallel()
	whole := build(t, "../../testdata/windows/switch.c", "-O1 -foptimize-sibling-calls -Wno-clobbered")
	stripped := build(t, "../../testdata/windows/switch.c", "-O1 -foptimize-sibling-calls -Wno-clobbered -s")
	name := fmt.Sprintf("%s+%#x", filepath.Base(stripped), labels(t, whole)["target"])
	selection := `<AlleriaConfig version="1.0"><Window name="w" reopenable="%t">%s<Profile><Process><Thread><Image main="true"><Function name="%s">` +
		`<Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	events := `<On><Call name="%[1]s" threshold="3"/></On><Till><Return name="%[1]s" threshold="2"/></Till>`
	for _, c := range []struct {
		events   string
		reopens  bool
		recorded int
	}{
		{"", false, 3000 * 7},
		{events, true, 3000 / 4 * 2 * 7}, // opened by the third call, closed by the second return
	} {
		var got [2][]uint64
		for i, p := range []struct{ prog, name string }{{whole, "target"}, {stripped, name}} {
			on := ""
			if c.events != "" {
				on = fmt.Sprintf(c.events, p.name)
			}
			got[i] = recordWith(t, workDir(t), fmt.Sprintf(selection, c.reopens, on, p.name), true, []string{"--no-aslr"}, p.prog, "loop")["1/1"].addrs
		}
		if len(got[0]) != c.recorded || !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: %d instructions by symbols, %d by offset, %d by design", c.events, len(got[0]), len(got[1]), c.recorded)
		}
	}
}
