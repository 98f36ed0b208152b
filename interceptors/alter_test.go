package interceptors

import (
	"encoding/binary"
	"slices"
	"testing"

	"alleria/abp/calls"
	"alleria/internal/capture"
)

// alterable is a machine whose values can be changed.
type alterable struct{ *machine }

func (m alterable) Set(src capture.Source, b []byte) bool {
	copy(m.sources[src], b)
	return m.sources[src] != nil
}

func (m alterable) WriteAt(b []byte, addr uint64) bool {
	at := addr - m.base
	return at+uint64(len(b)) <= uint64(len(m.mem)) && copy(m.mem[at:], b) == len(b)
}

func (m alterable) Map(_, _ uint64) bool { return false }
func (m alterable) Stack() uint64        { return 0 }
func (m alterable) Go(_, _ uint64)       {}

func (m alterable) ThreadBase() uint64 { return 0 }

// TestMutations draws each kind of change many times: results are of the kind, all that there are come, and as often as asked for.
func TestMutations(t *testing.T) {
	pointer := `<Pointer name="three" elementType="u2" direction="inc" count="3"/>`
	for _, c := range []struct {
		typ, set string
		old      uint64
		ok       func(x uint64) bool
		kinds    int // different results that have to come, at least
	}{
		{"s4", "-5", 1, func(x uint64) bool { return x == 0xfffffffb }, 1},
		{"u8", "3, 4", 1, func(x uint64) bool { return x == 3 || x == 4 }, 2},
		{"u1", "bitflip", 0x0f, func(x uint64) bool { d := x ^ 0x0f; return d != 0 && d&(d-1) == 0 && x < 256 }, 8},
		{"s2", "boundary", 5, func(x uint64) bool { return slices.Contains([]uint64{0, 1, 0xffffffff, 0x7fff, 0xffff8000}, x) }, 5},
		{"u2", "random", 5, func(x uint64) bool { return x < 1<<16 }, 100},
		{"f8", "boundary", 5, func(x uint64) bool { return x<<12 == 0 || x<<1 == 2 || x<<12 == 1<<63 || x<<12>>12 == 1<<52-1 }, 7},
		{"bool", "random", 1, func(x uint64) bool { return x == 0 }, 1},
		{"three", "bitflip", 0, nil, 48},
	} {
		ic := parse(t, pointer, `<Intercept retType="s4" seed="5"><Parameter index="0" type="`+c.typ+`" in="1" set="`+c.set+`" probability="1/2"/></Intercept>`)
		_, cap := compile(t, ic)
		src := cap.Program.Entry[0].Src
		seen := map[uint64]int{}
		changed := 0
		for range 1000 {
			m := alterable{newMachine()}
			m.sources[src] = words(c.old)
			if c.ok == nil {
				m.sources[src] = words(m.put(make([]byte, 6)))
			}
			act := cap.Program.Alter(capture.Entered)
			if act == nil {
				continue
			}
			for _, ch := range act.Do(m) {
				changed++
				got := binary.LittleEndian.Uint64(m.sources[src])
				if c.ok == nil {
					got = binary.LittleEndian.Uint64(append(slices.Clone(m.mem), 0, 0))
					if ch.How != capture.Contents || ch.New != got>>(8*ch.Offset)&0xffff || ch.Old != 0 || ch.Bytes != 2 {
						t.Errorf("%+v makes %#x", ch, got)
					}
				} else if ch.How != capture.Replaced || ch.Old != c.old || !c.ok(got) || uint32(got) != uint32(widened(&calls.Type{}, got)) {
					t.Errorf("%s set to %s: %+v makes %#x", c.typ, c.set, ch, got)
				}
				seen[got]++
			}
		}
		if len(seen) < c.kinds || changed < 200 || changed > 600 {
			t.Errorf("%s set to %s: %d changes to %d values", c.typ, c.set, changed, len(seen))
		}
	}
}

// TestFailures says what functions return that fail.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, ret string
		rax       uint64
		fails     bool
	}{
		{"open", "s4", ^uint64(0), true}, {"malloc", "ptr", 0, true}, {"mmap", "ptr", ^uint64(0), true}, {"fread", "u8", 0, true}, {"pthread_create", "s4", 12, true}, {"sqrt", "f8", 0, false},
	} {
		ic := parse(t, "", `<Intercept retType="`+c.ret+`" fail="ENOMEM"/>`)
		comp := NewCompiler()
		p := comp.Configured(ic, nil)
		p.Changes.Name = c.name
		cap, err := comp.Compile(p)
		if (err == nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		m := alterable{newMachine()}
		m.sources[gpr(0)] = words(77)
		act := cap.Program.Alter(capture.Entered)
		ch := act.Do(m)
		if got := binary.LittleEndian.Uint64(m.sources[gpr(0)]); !act.Leave || got != c.rax || len(ch) != 1 || ch[0].New != 12 || ch[0].How != capture.Failed {
			t.Errorf("%s returns %#x, %+v", c.name, got, ch)
		}
	}
}
