package session

import (
	"slices"
	"testing"

	"alleria/abp"
	"alleria/engine"
)

// TestArmingEndsWithProcess: of a process that is killed while its functions are armed the others are not tried, and nothing is said of them.
func TestArmingEndsWithProcess(t *testing.T) {
	f := newFakeRunOf(t, `<Window><Profile><Process><Thread><Image><Function name="*"><Intercept/></Function></Image></Thread></Process></Profile></Window>`)
	f.mappings[firstPID] = mapped(t, f.image, 0)
	if fate := f.Executed(firstPID); fate != engine.Trace {
		t.Fatal(fate)
	}
	p, _ := f.tracesUntil(firstPID, 1)
	if len(p.armed) != 2 || len(f.lacking) != 0 {
		t.Errorf("%d functions were tried instead of 2; said: %q", len(p.armed), f.lacking)
	}
	p.over(&engine.End{Exited: true})
	f.end()
}

// TestForkedHasItsCreatorsCaptures: a forked process has what was made of its creator's functions, under the same numbers, and its profile has their types; by itself
// each process makes the same once more.
func TestForkedHasItsCreatorsCaptures(t *testing.T) {
	for _, alone := range []bool{false, true} {
		f := newFakeRunOf(t, `<Window><Profile><Process><Thread><Image><Function name="*"><Intercept/></Function></Image></Thread></Process></Profile></Window>`)
		if alone {
			f.opts.Engine = []string{captureAlone}
		}
		p, thread := f.begin()
		if fate := thread.forks(firstPID + 1); fate != engine.Trace {
			t.Fatal(fate)
		}
		child, _ := f.traces(firstPID + 1)
		if len(p.armed) == 0 || !slices.Equal(slices.Sorted(slices.Values(child.armed)), slices.Sorted(slices.Values(p.armed))) {
			t.Errorf("alone %v: %x armed in the creator, %x in the child", alone, p.armed, child.armed)
		}
		of, own := p.ps.image.capture, child.ps.image.capture
		for entry, a := range of.at {
			b := own.at[entry]
			if b == nil || b.armed == nil || b.armed.number != a.armed.number || b.name != a.name || (b.armed.capture == a.armed.capture) == alone {
				t.Errorf("alone %v: %s is %+v in the creator and %+v in the child", alone, a.name, a, b)
			}
		}
		child.exits()
		p.exits()
		f.end()
		profile, err := abp.Open(f.dir)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		for _, proc := range profile.Processes() {
			c, err := proc.Calls()
			if err != nil || c == nil {
				t.Fatal(err)
			}
			numbers = append(numbers, len(c.Signatures))
			c.Close()
		}
		profile.Close()
		if len(numbers) != 2 || numbers[0] != len(p.armed) || numbers[1] != numbers[0] {
			t.Errorf("alone %v: signatures of %v functions, of %d armed", alone, numbers, len(p.armed))
		}
	}
}
