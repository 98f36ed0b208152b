package session

import (
	"testing"

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
