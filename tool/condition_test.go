package tool

import (
	"slices"
	"testing"
)

// access is a record of TestConditionsInApplication.
type access struct {
	PC, Addr, Value, RDI uint64
	Size                 uint32
	AH                   uint8
	Store                bool
}

// TestConditionsInApplication: what the program's threads leave out is what a filter of everything leaves out, however blocks are made and whatever a condition is about; and it is left out of the ring.
func TestConditionsInApplication(t *testing.T) {
	prog := sorting(t)
	record := func(conditions []Condition, flags ...string) (all []access, words uint64) {
		y := New("conditions")
		Define(y, Buffer[access]{Full: func(b *Batch[access]) []access {
			all = append(all, b.Records...)
			return b.Records
		}}).Fill(Accesses("anyMem").When(conditions...), Fields{"PC": PC(), "Addr": Address(), "Value": Value(), "Size": Size(), "Store": Store(), "RDI": Register("rdi"), "AH": Register("ah")})
		if exit, err := runs(t, y, append(flags, "-no-aslr"), prog); err != nil || exit == 125 {
			t.Fatal(exit, err)
		}
		return all, y.words.Load()
	}
	everything, most := record(nil)
	var at access // in the middle of the array that is sorted
	for _, a := range everything {
		if a.Size == 4 && a.Store && a.Addr > at.Addr && a.Addr < 1<<32 {
			at = a
		}
	}
	at.Addr -= 4000
	for name, c := range map[string]struct {
		when  []Condition
		keep  func(a *access) bool
		share uint64 // of the words, in percent, that there are at most
	}{
		"address":           {[]Condition{{Address(), at.Addr, at.Addr + 63}}, func(a *access) bool { return a.Addr >= at.Addr && a.Addr < at.Addr+64 }, 20},
		"address and store": {[]Condition{{Store(), 1, 1}, {Address(), at.Addr, at.Addr + 400}}, func(a *access) bool { return a.Store && a.Addr >= at.Addr && a.Addr <= at.Addr+400 }, 20},
		"never":             {[]Condition{{Address(), 8, 16}}, func(*access) bool { return false }, 2},
		"value":             {[]Condition{{Value(), 1 << 20, 1 << 21}}, func(a *access) bool { return a.Value >= 1<<20 && a.Value <= 1<<21 }, 90},
		"register":          {[]Condition{{Register("rdi"), 0, 10}}, func(a *access) bool { return a.RDI <= 10 }, 90},
		"high byte":         {[]Condition{{Register("ah"), 200, 255}}, func(a *access) bool { return a.AH >= 200 }, 90},
		"size":              {[]Condition{{Size(), 8, 8}}, func(a *access) bool { return a.Size == 8 }, 30},
		"instruction":       {[]Condition{{PC(), at.PC, at.PC}}, func(a *access) bool { return a.PC == at.PC }, 40},
		"wide ranges":       {[]Condition{{Address(), 1 << 40, 1 << 63}, {Size(), 1, 8}}, func(a *access) bool { return a.Addr >= 1<<40 }, 60},
	} {
		var want []access
		for i := range everything {
			if a := &everything[i]; c.keep(a) {
				want = append(want, *a)
			}
		}
		ways := [][]string{nil}
		if name == "address" {
			ways = [][]string{nil, {"-engine", "no-conditions"}, {"-engine", "no-lazy"}, {"-engine", "no-super"}, {"-buffering", "nway"}, {"-buffering", "fastforward"}, {"-sequential", "-bs", "16"}, {"-no-plans"}}
		}
		for _, flags := range ways {
			got, words := record(c.when, flags...)
			if !slices.Equal(got, want) {
				t.Errorf("%s %v: %d records, a filter of everything has %d", name, flags, len(got), len(want))
			}
			all := len(flags) > 1 && (flags[1] == "no-conditions" || flags[1] == "fastforward")
			if all != (words == most) || !all && words > most*c.share/100 {
				t.Errorf("%s %v: %d words, %d of everything", name, flags, words, most)
			}
			t.Logf("%s %v: %d records of %d, %d words of %d", name, flags, len(got), len(everything), words, most)
		}
	}
}
