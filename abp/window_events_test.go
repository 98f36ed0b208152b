package abp

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// TestWindowEventsInOrder writes events as a recorder does, those that code made later
// than those of the tracer, and reads them in the order of time.
func TestWindowEventsInOrder(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, &Header{Type: TypeMain, Process: 1})
	if err != nil {
		t.Fatal(err)
	}
	sections := [][]uint64{{1, 40, 900}, {2, 3, 10, 5}, {}, {41, 42, 43}, {39, 50, 40}, {1000}, {899, 900, 901}}
	var want []uint64
	for n, times := range sections {
		payload := (&WindowDef{Index: uint32(n), Name: "w"}).Append(nil)
		for _, at := range times {
			payload = (&WindowEvent{Window: uint32(n), TSC: at, Reason: "r"}).Append(payload)
		}
		want = append(want, times...)
		if err := w.Section(SectionWindows, 0, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(&EndInfo{Reason: "exit"}); err != nil {
		t.Fatal(err)
	}
	p, err := openBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	proc := p.Processes()[0]
	var got []uint64
	last := make(map[uint64]uint32)
	err = proc.EachWindowEvent(func(e *WindowEvent) error {
		if before, again := last[e.TSC]; again && before > e.Window {
			t.Errorf("at %d section %d comes before %d", e.TSC, before, e.Window)
		}
		last[e.TSC] = e.Window
		got = append(got, e.TSC)
		return nil
	})
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if len(proc.WindowDefs()) != len(sections) {
		t.Errorf("%d definitions", len(proc.WindowDefs()))
	}
	enough := errors.New("enough")
	n := 0
	if err := proc.EachWindowEvent(func(*WindowEvent) error { n++; return enough }); err != enough || n != 1 {
		t.Errorf("%d events, %v", n, err)
	}
}
