package acceptance

import (
	"encoding/json"
	"testing"
)

// TestCountsAtOpenings: what openings and closings say of instructions is what was executed, where that was counted from the
// start to then; what their thread had recorded, where code opens and closes the window; or nothing.
func TestCountsAtOpenings(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/counted.c", "-O1 -pthread")
	const profile = `<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window>`
	const work = `<Window name="w" reopenable="true"><On><Call name="work"/></On><Till><Return name="work"/></Till>` + profile
	type moment struct {
		Instructions uint64
		Thread       uint32
	}
	type opening struct {
		moment
		Window string
		Closed *moment
	}
	openings := func(windows string) (out []opening) {
		dir := workDir(t)
		recordWith(t, dir, `<AlleriaConfig version="1.0">`+windows+`</AlleriaConfig>`, true, nil, prog)
		r := run(t, command{argv: []string{alleria(), "windows", "--json", profileDir}, dir: dir})
		if err := json.Unmarshal(r.stdout, &out); err != nil {
			t.Fatalf("%v\n%s", err, clip(r.stdout))
		}
		return out
	}
	// The count ends with its window, before main: what the others do was counted by nobody.
	for _, o := range openings(`<Window name="a"><On><Instructions threshold="5000"/></On><Till><Instructions threshold="500" since="open"/></Till>` + profile + work) {
		switch {
		case o.Window == "a" && (o.Instructions < 5000 || o.Closed.Instructions < 5500):
			t.Errorf("opened after %d instructions, closed after %d", o.Instructions, o.Closed.Instructions)
		case o.Window == "w" && (o.Instructions != 0 || o.Closed.Instructions != 0):
			t.Fatalf("counts that nobody has kept: %+v, closed %+v", o, *o.Closed)
		}
	}
	// It goes on to the end: each opening has one, and so has the end of the process.
	last := uint64(0)
	for _, o := range openings(work + `<Window name="never"><On><Instructions threshold="1000000000"/></On>` + profile +
		`<Window name="main"><On><Call name="main"/></On>` + profile) {
		if o.Closed == nil || o.Instructions == 0 || o.Closed.Instructions <= o.Instructions || o.Window == "w" && o.Instructions <= last {
			t.Errorf("%+v, closed %+v, behind %d", o, o.Closed, last)
		}
		last = o.Instructions
	}
	// What one call records is what all do.
	call, known := uint64(0), 0
	for _, o := range openings(work) {
		if o.Closed == nil || o.Thread != 1 || o.Instructions == 0 || o.Closed.Instructions == 0 {
			continue
		}
		known++
		if n := o.Closed.Instructions - o.Instructions; call != 0 && n != call {
			t.Errorf("a call of %d instructions among those of %d", n, call)
		} else {
			call = n
		}
	}
	if known == 0 {
		t.Error("no call has counts")
	}
}
