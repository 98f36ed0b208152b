package residency

import (
	"testing"
	"time"
)

// TestHits takes hits that come shortly after each other for too many, and no others.
func TestHits(t *testing.T) {
	var p Process
	now := time.Second
	for n := range 100 * hotHits { // with pauses
		if now += hotPause + 1; p.Hit(now) {
			t.Fatalf("hit %d, with a pause in front of each, is one too many", n)
		}
	}
	now += time.Second
	for n := 1; n < hotHits; n++ {
		if now += hotPause; p.Hit(now) {
			t.Fatalf("hit %d in a row is one too many, want %d", n, hotHits)
		}
	}
	if !p.Hit(now) {
		t.Fatalf("%d hits in a row are not too many", hotHits)
	}
	if p.Stay(now); p.Hit(now) {
		t.Error("it is to stay though it stays")
	}
}

// TestQuiet has a busy process leave when little has been counted for a while, and neither sooner nor if it is to stay for good.
func TestQuiet(t *testing.T) {
	var p Process
	sum, looks := uint64(0), 0
	counts := func() uint64 { looks++; return sum }
	if p.Quiet(time.Hour, counts) || looks > 0 {
		t.Fatal("a process that is not busy is looked at")
	}
	now := time.Second
	p.Stay(now)
	for end := now + 3*coolTime; now < end; now += 10 * time.Millisecond { // it counts
		if sum += 100; p.Quiet(now, counts) {
			t.Fatalf("quiet at %v though it counts", now)
		}
	}
	if most := int(3*coolTime/coolLook) + 1; looks > most {
		t.Errorf("looked %d times, want %d at most", looks, most)
	}
	last := now
	for !p.Quiet(now, counts) {
		if now += 10 * time.Millisecond; now > last+2*coolTime {
			t.Fatal("it never gets quiet")
		}
	}
	if now < last+coolTime-2*coolLook {
		t.Errorf("quiet %v after it has counted, want %v", now-last, coolTime)
	}
	p.Leave()
	if p.Stays() {
		t.Error("it stays though it has left")
	}
	p.Keep()
	if p.Quiet(now+time.Hour, counts) || !p.Stays() {
		t.Error("it is to leave though it stays for good")
	}
	if p.Settle(); !p.Stays() {
		t.Error("it leaves though it stays for good")
	}
}

// TestKeepArmed: a process whose code nothing is to be put into stays, however quiet it is, until nothing can be reached any more.
func TestKeepArmed(t *testing.T) {
	var p Process
	p.KeepArmed()
	p.Stay(time.Second)
	if p.Quiet(time.Hour, func() uint64 { return 0 }) || !p.Stays() {
		t.Error("it leaves for being quiet")
	}
	if p.Settle(); p.Stays() {
		t.Error("it stays though nothing can be reached")
	}
}
