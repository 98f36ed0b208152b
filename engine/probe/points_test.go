package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// program is a process without a process: its memory is a file, whose offsets are addresses.
type program struct {
	t           *testing.T
	mem         *os.File
	native      bool
	invalidated int
}

func (f *program) Native() bool                 { return f.native }
func (f *program) Freeze() (thaw func())        { return func() {} }
func (f *program) Invalidate(start, end uint64) { f.invalidated++ }
func (f *program) Fail(err error) {
	if err != nil {
		f.t.Error(err)
	}
}

func (f *program) Fetch(addr uint64, n int) []byte {
	b := make([]byte, n)
	k, _ := f.mem.ReadAt(b, int64(addr))
	return b[:k]
}
func (f *program) Executable(addr uint64) bool { return addr >= codeAt && addr < codeAt+appPage }
func (f *program) MayChange(uint64) bool       { return false }
func (f *program) Mapping(addr uint64) *sys.Mapping {
	if !f.Executable(addr) {
		return nil
	}
	return &sys.Mapping{Start: codeAt, End: codeAt + appPage}
}
func (f *program) Lowest() uint64      { return codeAt }
func (f *program) Reread(*sys.Mapping) {}
func (f *program) Remapped()           {}

// codeAt is where the program's code lies, one page of nops with a function at f.
const (
	codeAt = 0x10000
	f      = codeAt + 0x40
)

// newProgram makes a program whose points are p.
func newProgram(t *testing.T, native bool) (*program, *Points) {
	t.Helper()
	mem, err := os.Create(filepath.Join(t.TempDir(), "mem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	if _, err := mem.WriteAt(bytes.Repeat([]byte{0x90}, appPage), codeAt); err != nil {
		t.Fatal(err)
	}
	prog := &program{t: t, mem: mem, native: native}
	var cache codecache.Cache
	cache.Init(false, nil)
	shared := &shm.Memory{Ctl: &shm.Control{Mem: make([]byte, layout.ControlSize)}}
	p := New(prog, prog, os.Getpid(), &sys.ProcessMemory{File: mem}, &cache, &translate.Translator{}, shared, Off{})
	return prog, &p
}

// byteAt is what lies in the program's memory.
func (f *program) byteAt(addr uint64) byte { return f.Fetch(addr, 1)[0] }

// TestOneProbeForAllActions: an address has one int3, from its first action on to the end of its last.
func TestOneProbeForAllActions(t *testing.T) {
	steps := []struct {
		name string
		do   func(p *Points) error
		int3 bool
	}{
		{"notify", func(p *Points) error { return p.Notify(f) }, true},
		{"count entries", func(p *Points) error { _, err := p.Entries(f); return err }, true},
		{"capture", func(p *Points) error { return p.Intercept(f, 1, &capture.Program{}) }, true},
		{"no notification", func(p *Points) error { p.Unnotify(f); return nil }, true},
		{"no count", func(p *Points) error { p.Unwatch(f); return nil }, true},
		{"no capture", func(p *Points) error { p.Unintercept(f); return nil }, false},
	}
	prog, p := newProgram(t, true)
	for _, s := range steps {
		before := prog.invalidated
		if err := s.do(p); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got := prog.byteAt(f) == 0xcc; got != s.int3 {
			t.Errorf("%s: an int3 lies there: %t", s.name, got)
		}
		if prog.invalidated == before {
			t.Errorf("%s: the code is not translated anew", s.name)
		}
	}
}

// TestCodeIsTheApplications: whoever reads code through the points sees no int3, and a copy of the memory gets its code back.
func TestCodeIsTheApplications(t *testing.T) {
	prog, p := newProgram(t, true)
	for _, at := range []uint64{f, f + 8} {
		if err := p.Notify(at); err != nil {
			t.Fatal(err)
		}
	}
	code := prog.Fetch(codeAt, appPage)
	p.Unprobed(code, codeAt)
	if bytes.IndexByte(code, 0xcc) >= 0 {
		t.Error("an int3 shows")
	}
	if got := p.WithProbes(code[f-codeAt:][:16], f); got[0] != 0xcc || got[8] != 0xcc || got[1] != 0x90 {
		t.Errorf("as it lies there: %x", got)
	}
	p.Unnotify(f + 8) // removed, and what was copied before still has it
	copied, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for _, at := range []int64{f, f + 8} {
		if _, err := copied.WriteAt([]byte{0xcc}, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Restore(&sys.ProcessMemory{File: copied}); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{f, f + 8} {
		var b [1]byte
		if _, err := copied.ReadAt(b[:], at); err != nil || b[0] != 0x90 {
			t.Errorf("%#x holds %#x, %v", at, b[0], err)
		}
	}
}

// TestHits: who runs into an int3 is led back to it, also into one that has just been removed.
func TestHits(t *testing.T) {
	_, p := newProgram(t, true)
	if err := p.Notify(f); err != nil {
		t.Fatal(err)
	}
	regs := sys.Regs{Rip: f + 1}
	if !p.HitAt(f, &regs) || regs.Rip != f {
		t.Errorf("the thread goes on at %#x", regs.Rip)
	}
	if p.HitAt(f+4, &regs) || p.Gone(f) {
		t.Error("something is taken for a probe that is none")
	}
	p.Unnotify(f)
	if p.HitAt(f, &regs) || !p.Gone(f) {
		t.Error("a probe that was removed is not known as such")
	}
}

// TestReplacedMemory: other memory at an address takes the int3 with it, and none is written into it.
func TestReplacedMemory(t *testing.T) {
	prog, p := newProgram(t, true)
	if err := p.Notify(f); err != nil {
		t.Fatal(err)
	}
	if _, err := prog.mem.WriteAt([]byte{0x55}, f); err != nil {
		t.Fatal(err)
	}
	p.Lost(f, f+1)
	p.Unnotify(f)
	if got := prog.byteAt(f); got != 0x55 {
		t.Errorf("%#x was written over", got)
	}
}

// TestInTheCacheNothingIsWritten: points of a process in the cache get their int3s when it goes native.
func TestInTheCacheNothingIsWritten(t *testing.T) {
	prog, p := newProgram(t, false)
	if err := p.Notify(f); err != nil {
		t.Fatal(err)
	}
	if got := prog.byteAt(f); got != 0x90 {
		t.Errorf("%#x lies there", got)
	}
	if err := p.PlaceAll(nil); err != nil {
		t.Fatal(err)
	}
	if got := prog.byteAt(f); got != 0xcc {
		t.Errorf("natively %#x lies there", got)
	}
	if p.RemoveAll(); prog.byteAt(f) != 0x90 {
		t.Error("the application does not have its code back")
	}
	// As for a thread that has entered an intercepted function and is led out of the code that captures it.
	if err := p.CatchAt(nil, f+1); err != nil || prog.byteAt(f+1) == 0xcc {
		t.Errorf("%v, and %#x lies at a return that nobody waits for any more", err, prog.byteAt(f+1))
	}
}

// TestSiteIsToldOfLast: code that finds a site in the table relies on what lies there, so that it is told of no site where nothing could be written.
func TestSiteIsToldOfLast(t *testing.T) {
	prog, p := newProgram(t, true)
	told := func() (n int) {
		for i := range layout.MaxCaptureSites + layout.CaptureProbes {
			if p.shm.Ctl.U64(layout.CaptureSites+8*i).Load() != 0 {
				n++
			}
		}
		return n
	}
	if err := p.CatchAt(nil, f); err != nil || told() != 1 {
		t.Errorf("%d sites are told of, not one: %v", told(), err)
	}
	if err := prog.mem.Truncate(f + 0x100); err != nil {
		t.Fatal(err)
	}
	if err := p.CatchAt(nil, f+0x200); err == nil || told() != 1 {
		t.Errorf("%d sites are told of, not one: %v", told(), err)
	}
}

// TestSitesBeforeEntries: returns are awaited before an entry is armed, so also where that fails.
func TestSitesBeforeEntries(t *testing.T) {
	prog, p := newProgram(t, true)
	if err := p.CatchAt(nil, f); err != nil {
		t.Fatal(err)
	}
	prog.native = false
	if err := p.Notify(f + 0x200); err != nil {
		t.Fatal(err)
	}
	p.removeProbe(f)
	if err := prog.mem.Truncate(f + 0x100); err != nil {
		t.Fatal(err)
	}
	prog.native = true
	if err := p.PlaceAll(nil); err == nil || prog.byteAt(f) != 0xcc {
		t.Errorf("%#x lies where a return is awaited, and the entry: %v", prog.byteAt(f), err)
	}
}

// TestPlaceAhead: int3s that are written together are those that would be written one by one, and are taken away as these.
func TestPlaceAhead(t *testing.T) {
	for _, off := range []bool{false, true} {
		prog, p := newProgram(t, true)
		p.off.PlaceAhead = off
		var entries []uint64
		for i := range uint64(32) {
			entries = append(entries, f+24*i)
		}
		if err := p.Notify(entries[5]); err != nil {
			t.Fatal(err)
		}
		p.PlaceAhead(entries)
		placed := 0
		for at := uint64(codeAt); at < codeAt+appPage; at++ {
			if prog.byteAt(at) == 0xcc {
				placed++
			}
		}
		if want := map[bool]int{false: len(entries), true: 1}[off]; placed != want {
			t.Errorf("off %v: %d int3s are there ahead instead of %d", off, placed, want)
		}
		for _, e := range entries {
			if err := p.Intercept(e, 1, &capture.Program{Returns: true}); err != nil {
				t.Fatal(err)
			}
			if orig, ok := p.Original(e); !ok || orig != 0x90 || prog.byteAt(e) != 0xcc {
				t.Errorf("off %v: %#x is %#x with %#x under it, %v", off, e, prog.byteAt(e), orig, ok)
			}
		}
		p.Unnotify(entries[5])
		for _, e := range entries {
			p.Unintercept(e)
		}
		for at := uint64(codeAt); at < codeAt+appPage; at++ {
			if prog.byteAt(at) != 0x90 {
				t.Errorf("off %v: %#x is left at %#x", off, prog.byteAt(at), at)
			}
		}
	}
}

// TestSitesGoWithTheirCode: where other code lies at a place to which captured calls have returned, no int3 is written there any more, and the first return to it
// is caught anew.
func TestSitesGoWithTheirCode(t *testing.T) {
	prog, p := newProgram(t, true)
	const site = f + 8
	if err := p.CatchAt(nil, site); err != nil {
		t.Fatal(err)
	}
	noted := func() (n int) {
		for i := range layout.CaptureProbes {
			if p.shm.Ctl.U64(siteWord(site, i)).Load() == site {
				n++
			}
		}
		return n
	}
	if prog.byteAt(site) != 0xcc || !p.CatchesAt(site) || noted() != 1 {
		t.Fatalf("%#x lies there, %t, %d", prog.byteAt(site), p.CatchesAt(site), noted())
	}
	other := bytes.Repeat([]byte{0x91}, 32)
	if _, err := prog.mem.WriteAt(other, f); err != nil {
		t.Fatal(err)
	}
	p.Lost(codeAt, codeAt+appPage)
	if err := p.PlaceAll(nil); err != nil {
		t.Fatal(err)
	}
	if got := prog.Fetch(f, len(other)); !bytes.Equal(got, other) || p.CatchesAt(site) || noted() != 0 {
		t.Errorf("%x lies there, %t, %d", got, p.CatchesAt(site), noted())
	}
	for range 2 {
		if err := p.CatchAt(nil, site); err != nil || prog.byteAt(site) != 0xcc || !p.CatchesAt(site) || noted() != 1 {
			t.Errorf("%v: %#x lies there, %t, %d", err, prog.byteAt(site), p.CatchesAt(site), noted())
		}
		if _, err := prog.mem.WriteAt(other, f); err != nil { // natively, and nobody has heard of it
			t.Fatal(err)
		}
	}
}
