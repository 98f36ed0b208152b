// Package testprogram is what the rooms' tests have in place of a process: a few bytes of code, a code cache, and a slot that no
// thread has.
//
// Tests of package translate and of what translates by it use Program, which lacks what is said in translate's own types (Point, Captures, Plan): that
// package's own tests could not import it otherwise. Nothing else uses it, and nothing of it is shared between tests.
package testprogram

import (
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

const (
	// CodeAt is where a program's code lies, and RegionAt where its cache does.
	CodeAt   = 0x401000
	RegionAt = 0x10000000
	// RegionBytes has room for a group in both parts.
	RegionBytes = 4 << 20
)

// Program is a few bytes of code at CodeAt, as its translator sees it.
type Program struct {
	Code   []byte
	Split  uint64   // where a block must begin
	Checks []uint64 // that were published
}

// Fetch reads the code, as each of these methods is that of translate.Target.
func (g *Program) Fetch(addr uint64, n int) []byte {
	if addr-CodeAt >= uint64(len(g.Code)) {
		return nil
	}
	code := g.Code[addr-CodeAt:]
	return code[:min(n, len(code))]
}

func (g *Program) LookAround(uint64) bool                  { return false }
func (g *Program) Made(uint64) bool                        { return false }
func (g *Program) Executable(addr uint64) bool             { return addr-CodeAt < uint64(len(g.Code)) }
func (g *Program) Guarded(uint64) bool                     { return false }
func (g *Program) Changing(uint64) bool                    { return false }
func (g *Program) Changes([]x86.Insn) bool                 { return false }
func (g *Program) WithProbes(code []byte, _ uint64) []byte { return code }
func (g *Program) Mapping(uint64) (start, end uint64)      { return CodeAt, CodeAt + uint64(len(g.Code)) }
func (g *Program) Splits(addr uint64) bool                 { return addr == g.Split }
func (g *Program) EntryFrom(_, _ uint64) codecache.Entry   { return codecache.Uncounted }
func (g *Program) EntriesAround(uint64) []uint64           { return nil }
func (g *Program) Publish(checks []uint64, _ codecache.Variant) {
	g.Checks = append(g.Checks, checks...)
}

// Cache makes an empty code cache of one region.
func Cache(t testing.TB) *codecache.Cache {
	t.Helper()
	f, err := sys.Memfd("alleria-test", RegionBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := codecache.NewRegion(f, 0, RegionBytes, RegionAt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.UnmapAligned(r.Mem) })
	var c codecache.Cache
	c.Init(false, func() { t.Error("the region is full") })
	c.Regions = []*codecache.Region{r}
	return &c
}

// Shared makes what a process shares with the tracer, and a slot of it with a ring of four chunks.
func Shared(t testing.TB) (*shm.Memory, *shm.Slot) {
	t.Helper()
	bell, err := shm.NewBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bell.Close)
	m, err := shm.NewMemory(&bell)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Unmap)
	m.SlotsBase, m.Ctl = 0x7100_0000_0000, &shm.Control{Mem: make([]byte, layout.ControlSize)}
	s, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	s.InitRing(shm.Ring{ChunkBytes: 16 * layout.RingSlack, Chunks: 4})
	return &m, s
}
