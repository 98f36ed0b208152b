package records

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
)

// TestForms: what is found out of a block is known to all tables that have it from the same file, those to which it came later too, and to no other.
func TestForms(t *testing.T) {
	const n = 1<<blockPageBits + 500
	first := keptTable(n)
	kept, _ := FromKept(first.Keep(), mostWords, false)
	var copied, owner, later Blocks
	copied.Copy(kept)
	owner.Own(kept)
	of := func(id uint32) Form {
		return Form{Words: uint16(copied.row(id).words), Weight: uint16(id), StackWord: int16(id % 9), TimeWord: NoWord, BranchWord: int16(id%4096) - 1,
			Conditional: id%2 == 0, Dynamic: id%3 == 0, HasTarget: id%5 == 0, Target: -int32(id)}
	}
	var both sync.WaitGroup
	for k := range 2 {
		both.Go(func() {
			for id := uint32(1 + k); id <= n; id += 2 {
				copied.SetForm(id, of(id))
			}
		})
	}
	both.Wait()
	later.Copy(kept)
	sensible := first.Get(1)
	mine := copied.Add(sensible)
	later.Add(sensible)
	copied.SetForm(mine, Form{Weight: 1})
	if _, ok := copied.Form(mine); ok {
		t.Error("a block of one table has a form for others")
	}
	next, other := withForms(&copied), withForms(&later)
	for _, table := range []*Blocks{&copied, &owner, &later, next, other, kept} {
		for id := uint32(1); id <= n; id++ {
			got, ok := table.Form(id)
			got.size = 0
			if want := of(id); !ok || got != want {
				t.Fatalf("the form of block %d is %+v, %v, want %+v", id, got, ok, want)
			}
			whole, wholeOf, ok := table.Packed(id)
			alone, aloneOf, found := first.Packed(id) // without forms
			if !ok || !found || wholeOf != aloneOf || (wholeOf != 0) != first.IsPart(id) || !bytes.Equal(whole[min(8, len(whole)):], alone[min(8, len(alone)):]) {
				t.Fatalf("block %d: % x of %d, want % x of %d", id, whole, wholeOf, alone, aloneOf)
			}
		}
	}
	next.SetForm(mine, of(mine))
	if _, ok := next.Form(mine); !ok {
		t.Error("a block that came to the table before others had it has no form")
	}
	if _, ok := other.Form(mine); ok {
		t.Error("another block of that number has its form")
	}
	runtime.KeepAlive(first)
}

// withForms is what a later process takes over from one with this table.
func withForms(from *Blocks) *Blocks {
	t := new(Blocks)
	t.Share(from)
	t.ShareForms()
	return t
}

// TestPackedEnds: the facts of a block end where those of the next begin.
func TestPackedEnds(t *testing.T) {
	table := keptTable(300)
	size := 0
	for id := uint32(1); id <= table.Last(); id++ {
		facts, _, ok := table.Packed(id)
		if !ok || len(facts) == 0 {
			t.Fatalf("block %d has none", id)
		}
		size += len(facts)
	}
	if size != table.Bytes() {
		t.Errorf("%d bytes of %d", size, table.Bytes())
	}
	if _, _, ok := table.Packed(table.Last() + 1); ok {
		t.Error("a block that there is not")
	}
}
