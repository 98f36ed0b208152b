package handover

import (
	"testing"
	"time"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/spin"
)

// forever is longer than anybody takes the processor away.
const forever = 1 << 40

// list is work that comes after so many looks.
type list struct {
	ready, looks, ahead int
	asked               bool
}

func (l *list) Ready(int) bool { l.looks++; return l.ready > 0 && l.looks >= l.ready }
func (l *list) Ahead() bool    { l.ahead--; return l.ahead >= 0 }
func (l *list) Asked() bool    { return l.asked }

// newWaiter makes a waiter with a bell, and a slot whose thread is on another processor than any there is.
func newWaiter(t *testing.T) (*Waiter, *shm.Slot) {
	b, err := shm.NewBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w := New(false)
	w.single = false
	w.Use(&b)
	s := &shm.Slot{Mem: make([]byte, layout.Save)}
	s.U32(layout.ReqCPU).Store(1 << 20)
	w.Asker = s
	return &w, s
}

// TestSpin looks for work until there is some, or the time is over, and tells the target that it is not crowded.
func TestSpin(t *testing.T) {
	w, _ := newWaiter(t)
	if l := (&list{ready: 3, ahead: 1}); !w.Spin(forever, l) || l.looks != 3 {
		t.Errorf("%d looks, want 3", l.looks)
	}
	if w.Spin(1, &list{}) {
		t.Error("there is something to do where nothing is")
	}
	if w.bell.U32(layout.Crowded).Load() != 0 {
		t.Error("the target is told that both share a processor")
	}
}

// TestBeside waits for nobody on its own processor, and says so, but with the switch that has it spin anywhere.
func TestBeside(t *testing.T) {
	w, s := newWaiter(t)
	w.single = true
	l := &list{ready: 1}
	if w.Spin(SpinTime, l) || l.looks > 0 {
		t.Error("it spins on the processor that the other one needs")
	}
	if w.bell.U32(layout.Crowded).Load() != 1 {
		t.Error("the target is not told")
	}
	if w.SpinFor(func() bool { return true }) {
		t.Error("it spins for a report there")
	}
	w.single = false
	s.U32(layout.ReqCPU).Store(w.cpu)
	if w.cpu != spin.Unknown && !w.Beside() {
		t.Error("it does not see that the thread that asked last is on its own processor")
	}
	w.anywhere = true
	if !w.Spin(forever, l) {
		t.Error("it does not spin though it is to do so anywhere")
	}
}

// TestSleep sleeps for a while where nobody asks, and not at all where somebody does.
func TestSleep(t *testing.T) {
	w, _ := newWaiter(t)
	w.Sleep(&list{asked: true}, func() time.Duration {
		t.Error("it sleeps though somebody asks")
		return 0
	})
	slept := false
	w.Sleep(&list{}, func() time.Duration {
		slept = w.bell.U32(layout.TracerAsleep).Load() == 1 && w.bell.U32(layout.TracerCPU).Load() == spin.Unknown
		return time.Microsecond
	})
	if !slept || w.bell.U32(layout.TracerAsleep).Load() != 0 {
		t.Error("it does not say that it sleeps, or that it has woken")
	}
}
