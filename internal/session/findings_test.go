package session

import (
	"testing"

	"alleria/config"
)

// TestFindings: what a kind of event is, as the language has it, and how it is found out agree.
func TestFindings(t *testing.T) {
	// Reported by the engine whether asked for or not.
	unasked := map[config.EventKind]bool{config.EventCreation: true, config.EventLoad: true, config.EventUnload: true, config.EventExec: true, config.EventFork: true}
	for k := config.EventAll; k <= config.EventSample; k++ {
		f := findingOf(k)
		if (f.arm != nil) != k.Is(config.AtCode) {
			t.Errorf("%s: at code %v, and armed there %v", k, k.Is(config.AtCode), f.arm != nil)
		}
		if (f.bounds != nil) != k.Is(config.Counts) {
			t.Errorf("%s: counts %v, and has bounds %v", k, k.Is(config.Counts), f.bounds != nil)
		}
		if found := f.arm != nil || f.bounds != nil || f.want != nil; found == (unasked[k] || k.Is(config.Group)) {
			t.Errorf("%s: nothing finds out about it, or two do", k)
		}
	}
}
