package main

import (
	"strings"
	"testing"
)

// TestDoctorHere tries the real thing: whoever can run the engine's tests can
// trace.
func TestDoctorHere(t *testing.T) {
	status, out, errs := command(t, "doctor")
	if status != 0 || !strings.Contains(out, "a child was traced") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}
