package probe

import (
	"bytes"
	"encoding/binary"
	"testing"

	"alleria/engine/asking"
	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// loadSigaction is the instruction in front of rt_sigaction, and the call.
var loadSigaction = []byte{0xb8, 13, 0, 0, 0, 0x0f, 0x05}

// noted is the site of such an instruction.
func noted(at uint64) *asking.Site { return &asking.Site{At: at, Call: asking.Sigaction} }

const regionBytes = 1 << 22

// newNoted is a program that calls rt_sigaction at f, with room for code that notes near it.
func newNoted(t *testing.T) (*program, *Points) {
	t.Helper()
	prog, p := newProgram(t, true)
	if _, err := prog.mem.WriteAt(loadSigaction, f); err != nil {
		t.Fatal(err)
	}
	mem, err := sys.Memfd("region", regionBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	a, err := codecache.NewRegion(mem, 0, regionBytes, 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Unmap)
	p.cache.Regions = append(p.cache.Regions, a)
	return prog, p
}

// TestNote: the jump in front of the call shows to nobody, leads to code from anywhere in which a thread goes back to it, and goes with the rest.
func TestNote(t *testing.T) {
	prog, p := newNoted(t)
	j := p.WriteNote(noted(f), nil)
	if j == nil || !p.PlaceNote(j) {
		t.Fatal("it is not placed")
	}
	there := prog.Fetch(f, 7)
	if there[0] != 0xe9 || f+5+uint64(int64(int32(binary.LittleEndian.Uint32(there[1:])))) != j.Code || !bytes.Equal(there[5:], loadSigaction[5:]) {
		t.Errorf("it is % x, to %#x", there, j.Code)
	}
	code := prog.Fetch(codeAt, appPage)
	if p.Unprobed(code, codeAt); !bytes.Equal(code[f-codeAt:][:7], loadSigaction) {
		t.Errorf("the program's code is % x", code[f-codeAt:][:7])
	}
	for _, at := range []uint64{j.Code, j.skip - 1, j.Hit} {
		if p.JumpAt(at) != j || !j.Notes() {
			t.Errorf("%#x is not its code", at)
		}
		if to, ok := p.NoteBail(at); !ok || to != j.skip {
			t.Errorf("a fault at %#x leads to %#x", at, to)
		}
	}
	if to, ok := p.NoteBail(j.skip); ok {
		t.Errorf("a fault of the program's own instruction leads to %#x", to)
	}
	if to, ok := p.NoteBail(j.Hit + 1); ok {
		t.Errorf("a fault behind it leads to %#x", to)
	}
	if at := p.CopyOf(f); at != j.Code {
		t.Errorf("who goes on there goes on at %#x", at)
	}
	if p.WriteNote(noted(f), nil) != nil {
		t.Error("there is a second one")
	}
	if p.DropNotes(); !bytes.Equal(prog.Fetch(f, 7), loadSigaction) || p.WriteNote(noted(f), nil) != nil {
		t.Error("it stays, or is made again")
	}
}

// TestNoteOfAny: the code of syscall() itself has an int3 of its own, by which the site is known, and all of it but the program's instruction leads back.
func TestNoteOfAny(t *testing.T) {
	prog, p := newNoted(t)
	site := &asking.Site{At: f, Call: asking.Sigaction, Kind: asking.Any}
	if _, err := prog.mem.WriteAt(append(site.Load(), 0x0f, 0x05), f); err != nil {
		t.Fatal(err)
	}
	j := p.WriteNote(site, nil)
	if j == nil || !p.PlaceNote(j) {
		t.Fatal("it is not placed")
	}
	if at, ok := p.Asks(j.asks); !ok || at != f || p.JumpAt(j.asks) != j || j.asks <= j.skip || j.asks >= j.Hit {
		t.Errorf("its int3 at %#x is one of %#x, %t", j.asks, at, ok)
	}
	if _, ok := p.Asks(j.asks + 1); ok {
		t.Error("something else is its int3")
	}
	code := p.cache.Regions[0].Mem
	if off := j.asks - p.cache.Regions[0].Base; code[off] != 0xcc || !bytes.Equal(code[j.skip-p.cache.Regions[0].Base:][:5], site.Load()) {
		t.Errorf("its code is % x", code[j.skip-p.cache.Regions[0].Base:][:16])
	}
	if p.DropNotes(); !bytes.Equal(prog.Fetch(f, 5), site.Load()) {
		t.Error("it stays")
	}
}

// TestNoteGivesWay: who watches the instruction has the program's own there, and none is placed where somebody does.
func TestNoteGivesWay(t *testing.T) {
	prog, p := newNoted(t)
	j := p.WriteNote(noted(f), nil)
	if j == nil || !p.PlaceNote(j) {
		t.Fatal("it is not placed")
	}
	if err := p.Notify(f); err != nil {
		t.Fatal(err)
	}
	if there := prog.Fetch(f, 7); there[0] != 0xcc || !bytes.Equal(there[1:], loadSigaction[1:]) {
		t.Errorf("it is % x", there)
	}
	p.Unnotify(f)
	if !bytes.Equal(prog.Fetch(f, 7), loadSigaction) {
		t.Error("it is not the program's code behind that")
	}
	_, p = newNoted(t)
	if err := p.Notify(f + 2); err != nil {
		t.Fatal(err)
	}
	if p.WriteNote(noted(f), nil) != nil {
		t.Error("it displaces a point")
	}
	_, p = newNoted(t)
	for n := range 64 { // as long as there is room
		if j := p.WriteNote(noted(f+uint64(n)*8), nil); j == nil {
			if n < 4 {
				t.Errorf("there is room for %d", n)
			}
			return
		}
	}
	t.Error("the room has no end")
}

// TestNoted: what code has noted is taken once.
func TestNoted(t *testing.T) {
	_, p := newNoted(t)
	if _, ok := p.Noted(); ok {
		t.Error("something is noted")
	}
	for i := range uint64(4) {
		p.shm.Ctl.U64(layout.NotedAction + 8*int(i)).Store(100 + i)
	}
	p.shm.Ctl.U32(layout.NotedLast).Store(1)
	if a, ok := p.Noted(); !ok || a != [4]uint64{100, 101, 102, 103} {
		t.Errorf("%v, %v", a, ok)
	}
	if _, ok := p.Noted(); ok {
		t.Error("it is taken twice")
	}
}
