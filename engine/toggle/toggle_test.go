package toggle

import (
	"slices"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/engine/testprogram"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// code is translations in a test.
type code struct {
	prepared []codecache.Variant
	none     uint64 // a function without code
}

func (c *code) Prepare(v codecache.Variant) { c.prepared = append(c.prepared, v) }

func (c *code) Behind(entry uint64, v codecache.Variant) uint64 {
	if entry == c.none {
		return 0
	}
	return entry<<8 + uint64(v)
}

const (
	control         = 0x7000_0000
	record          = codecache.Record + 1
	opens, closes   = uint64(0x1000), uint64(0x2000)
	every, each     = uint64(5), uint64(3)
	openSet, noneIn = uint64(1), uint64(0)
)

// toggling makes a process whose code may toggle a window, and its thread.
func toggling(t *testing.T, returns bool) (*Process, *Thread, *shm.Slot, *Window) {
	m, s := testprogram.Shared(t)
	w := &Window{Open: probe.NewCounter(m.Ctl, 0, opens, false), Close: probe.NewCounter(m.Ctl, 1, closes, returns),
		OpenAfter: every, CloseAfter: each, OpenMark: openSet, CloseMark: noneIn}
	p := new(Process)
	p.Set(w)
	return p, new(Thread), s, w
}

// words are what code at a place goes by.
func words(c *probe.Counter) (w []uint64) {
	for i := range 8 {
		w = append(w, c.Word(layout.PlaceMark+8*i).Load())
	}
	return append(w, c.Word(layout.PlaceCode).Load())
}

// TestReady looks at what code goes by once it may toggle, and when it is stopped.
func TestReady(t *testing.T) {
	for _, returns := range []bool{false, true} {
		p, th, s, w := toggling(t, returns)
		c := new(code)
		p.Ready(th, s, control, record, true, c)
		if p.May() || !p.Inside(s) || !slices.Equal(c.prepared, []codecache.Variant{codecache.Plain, record}) {
			t.Errorf("may: %t, inside: %t, prepared %d", p.May(), p.Inside(s), c.prepared)
		}
		open, close := control+uint64(w.Open.Offset()), control+uint64(w.Close.Offset())
		want := []uint64{records.Mark(records.MarkSwitch, openSet), opens, 1, uint64(codecache.TableOff(record)), open, probe.Never, close, each, opens<<8 + uint64(record)}
		if got := words(w.Open); !slices.Equal(got, want) {
			t.Errorf("where it opens: %#x, want %#x", got, want)
		}
		want = []uint64{records.Mark(records.MarkSwitch, noneIn), closes, 0, uint64(codecache.TableOff(codecache.Plain)), close, probe.Never, open, every, closes << 8}
		if returns { // by the table
			want[1], want[8] = 0, 1
		}
		if got := words(w.Close); !slices.Equal(got, want) {
			t.Errorf("where it closes: %#x, want %#x", got, want)
		}
		p.Stop()
		if w.Open.Word(layout.PlaceCode).Load() != 0 || w.Close.Word(layout.PlaceCode).Load() != 0 || !p.May() {
			t.Error("code still toggles")
		}
	}
}

// TestNotReady has code ask where it cannot toggle: nothing is left half prepared.
func TestNotReady(t *testing.T) {
	for name, given := range map[string]func(p *Process, s *shm.Slot, c *code){
		"no code where it opens":  func(_ *Process, _ *shm.Slot, c *code) { c.none = opens },
		"no code where it closes": func(_ *Process, _ *shm.Slot, c *code) { c.none = closes },
		"switched off":            func(p *Process, _ *shm.Slot, _ *code) { p.Off = true },
		"nothing can be recorded": func(_ *Process, s *shm.Slot, _ *code) { s.Set(layout.ChunkBytes, 0) },
		"no window":               func(p *Process, _ *shm.Slot, _ *code) { p.Set(nil) },
	} {
		p, th, s, w := toggling(t, false)
		c := new(code)
		given(p, s, c)
		p.Ready(th, s, control, record, false, c)
		if p.ready || w.Open.Word(layout.PlaceCode).Load() != 0 || w.Close.Word(layout.PlaceCode).Load() != 0 {
			t.Errorf("%s: code toggles", name)
		}
	}
}

// TestSync has code toggle some times, and looks at what is learnt of it, and once.
func TestSync(t *testing.T) {
	p, th, s, w := toggling(t, false)
	p.Ready(th, s, control, record, false, new(code))
	for _, c := range []struct {
		toggles, inside uint64
		open, close     uint64 // what the counters count to then
	}{{0, 0, probe.Never, probe.Never}, {1, 1, probe.Never, each}, {4, 1, probe.Never, each}, {5, 0, every, probe.Never}} {
		was := s.Get(layout.Toggles)
		s.Set(layout.Toggles, c.toggles)
		s.Set(layout.Inside, c.inside)
		times, inside := p.Sync(th, s)
		if times != c.toggles-was || times > 0 && inside != (c.inside == 1) {
			t.Errorf("%d toggles: %d more, inside %t", c.toggles, times, inside)
		}
		if again, _ := p.Sync(th, s); again != 0 {
			t.Errorf("%d toggles: %d are told twice", c.toggles, again)
		}
		// What has come since a counter was armed tells what it is taken to be armed with.
		for name, at := range map[string]struct {
			c *probe.Counter
			n uint64
		}{"opens": {w.Open, c.open}, "closes": {w.Close, c.close}} {
			at.c.Word(layout.PlaceLeft).Store(at.n - 2)
			if took := at.c.Take(); took != 2 {
				t.Errorf("%d toggles: where it %s %d have come, want 2", c.toggles, name, took)
			}
			at.c.SetArmed(at.n)
		}
	}
}

// TestAnotherWindow has code ask at the places of the one before.
func TestAnotherWindow(t *testing.T) {
	p, th, s, w := toggling(t, false)
	p.Ready(th, s, control, record, false, new(code))
	same := *w
	if p.Set(&same); !p.ready {
		t.Error("the same window stops code")
	}
	p.Set(nil)
	if p.Has() || w.Open.Word(layout.PlaceCode).Load() != 0 {
		t.Error("code still toggles a window that is gone")
	}
	s.Set(layout.Toggles, 1)
	if times, _ := p.Sync(th, s); times != 0 {
		t.Errorf("%d toggles of no window", times)
	}
}
