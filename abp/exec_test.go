package abp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// one makes an execution of a block with one instruction that has these
// operands.
func one(words []uint64, ops ...Access) *Exec {
	b := &Block{
		ID: 1, Words: len(words), TimeWord: NoWord, BranchWord: NoWord, Code: []byte{0x90},
		Ins:      []Ins{{Len: 1, Flags: InsRecorded | InsAddrs | InsMemory, AccTo: uint16(len(ops))}},
		Accesses: ops,
	}
	if err := b.Prepare(); err != nil {
		panic(err)
	}
	return &Exec{Block: b, Words: words, Completed: 1, FSBase: 0x10_0000_0000, GSBase: 0x20_0000_0000}
}

func TestAccessKinds(t *testing.T) {
	plain := Access{AddrBits: 64, Size: 4, Word: 0, AuxWord: NoWord, IndexWord: NoWord, Value: NoWord}
	with := func(change func(a *Access)) Access {
		a := plain
		change(&a)
		return a
	}
	rep := func(word, aux int16, size uint32, store bool) Access {
		return with(func(a *Access) { a.Kind, a.Word, a.AuxWord, a.Size, a.Store = AccessString, word, aux, size, store })
	}
	for name, c := range map[string]struct {
		x    *Exec
		want string
	}{
		"plain":    {one([]uint64{0x100}, with(func(a *Access) { a.Offset = -8 })), "L f8+4 "},
		"absolute": {one(nil, with(func(a *Access) { a.Word, a.Offset, a.Store = NoWord, 0x77, true })), "S 77+4 "},
		"fs":       {one([]uint64{0x100}, with(func(a *Access) { a.Seg = SegFS })), "L 1000000100+4 "},
		"32 bits":  {one([]uint64{0x1_ffff_fffe}, with(func(a *Access) { a.Offset, a.AddrBits, a.Seg = 4, 32, SegGS })), "L 2000000002+4 "},
		"value":    {one([]uint64{0x100, 0x0102030405060708}, with(func(a *Access) { a.Value, a.Size = 1, 3 })), "L 100+3=080706 "},
		"wide":     {one([]uint64{0x100, 1, 2}, with(func(a *Access) { a.Value, a.Size = 1, 16 })), "L 100+16=01000000000000000200000000000000 "},
		"up":       {one([]uint64{0x100, 0x108}, rep(0, 1, 4, true)), "S 100+4 S 104+4 "},
		"down":     {one([]uint64{0x108, 0x100}, rep(0, 1, 4, false)), "L 108+4 L 104+4 "},
		"no times": {one([]uint64{0x108, 0x108}, rep(0, 1, 4, false)), ""},
		"movs":     {one([]uint64{0x100, 0x102, 0x200, 0x202}, rep(0, 1, 1, false), rep(2, 3, 1, true)), "L 100+1 S 200+1 L 101+1 S 201+1 "},
		"masked": {one([]uint64{0x100, 0b1101}, with(func(a *Access) { a.Kind, a.AuxWord, a.Lanes = AccessMasked, 1, 3 })),
			"L 100+4/5 L 108+4/5 "},
		"masked value": {one([]uint64{0x100, 0b10, 0x1111_1111_2222_2222}, with(func(a *Access) { a.Kind, a.AuxWord, a.Lanes, a.Value = AccessMasked, 1, 2, 2 })),
			"L 104+4/2=11111111 "},
		"packed": {one([]uint64{0x100, 0b1011}, with(func(a *Access) { a.Kind, a.AuxWord, a.Lanes, a.Store = AccessPacked, 1, 4, true })),
			"S 100+12/b "},
		"packed none": {one([]uint64{0x100, 0b1_0000}, with(func(a *Access) { a.Kind, a.AuxWord, a.Lanes = AccessPacked, 1, 4 })), ""},
		"gather": {one([]uint64{0x1000, 0b111, 0xffff_ffff_0000_0002, 3}, with(func(a *Access) {
			a.Kind, a.AuxWord, a.Lanes, a.IndexWord, a.IndexSize, a.Scale, a.Offset = AccessGather, 1, 3, 2, 4, 8, 0x10
		})), "L 1020+4/7 L 1008+4/7 L 1028+4/7 "},
		"xsave":      {one([]uint64{0x100, 576}, with(func(a *Access) { a.Kind, a.AuxWord = AccessSized, 1 })), "L 100+576 "},
		"xsave none": {one([]uint64{0x100, 0}, with(func(a *Access) { a.Kind, a.AuxWord = AccessSized, 1 })), ""},
		"bit up":     {one([]uint64{0x100, 65}, with(func(a *Access) { a.Kind, a.AuxWord = AccessBits, 1 })), "L 108+4 "},
		"bit down":   {one([]uint64{0x100, ^uint64(0)}, with(func(a *Access) { a.Kind, a.AuxWord, a.Size = AccessBits, 1, 2 })), "L fe+2 "},
	} {
		got := ""
		counts := Counts{Instructions: 1, MemInstructions: 1}
		c.x.ForEachAccess(func(m *Mem) {
			counts.access(m.Store, 1, uint64(m.Size))
			kind := "L"
			if m.Store {
				kind = "S"
			}
			got += fmt.Sprintf("%s %x+%d", kind, m.Addr, m.Size)
			if m.Mask != 0 {
				got += fmt.Sprintf("/%x", m.Mask)
			}
			if m.Value != nil {
				got += fmt.Sprintf("=%x", m.Value)
			}
			got += " "
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.x.Counts() != counts {
			t.Errorf("%s: counts %+v, want %+v", name, c.x.Counts(), counts)
		}
	}
}

func TestEmulated(t *testing.T) {
	x := one([]uint64{0x100}, Access{AddrBits: 64, Size: 4, Word: 0, AuxWord: NoWord, IndexWord: NoWord, Value: NoWord})
	x.IsEmulated, x.Words, x.Emulated = true, nil, []uint64{0x50, 8, 0x60, 4 | EmulatedStore}
	var got []uint64
	x.ForEachAccess(func(m *Mem) { got = append(got, m.Addr, uint64(m.Size)) })
	if !slices.Equal(got, []uint64{0x50, 8, 0x60, 4}) {
		t.Errorf("%x", got)
	}
	if c := x.Counts(); c != (Counts{1, 1, 1, 1, 8, 4}) {
		t.Errorf("%+v", c)
	}
	// With a register and the values of the accesses, then with less than that.
	x.Block.Registers = []RegisterWord{{0, RegRIP, NoWord}, {0, RegGPR64 | 3, 0}}
	for _, c := range []struct {
		beside []uint64
		want   string
	}{
		{[]uint64{0x77, 0x1122334455667788, 0xaabbccddee}, "rip=0000000000000000 rbx=7700000000000000 8877665544332211 eeddccbb"},
		{[]uint64{0x77, 5}, "rip=0000000000000000 rbx=7700000000000000 0500000000000000 "},
		{nil, "rip=0000000000000000  "},
	} {
		x.Beside = c.beside
		var text []string
		list, _ := x.Registers(0, nil, nil)
		for _, r := range list {
			text = append(text, fmt.Sprintf("%s=%x", r.Register, r.Value))
		}
		x.ForEachAccess(func(m *Mem) { text = append(text, fmt.Sprintf("%x", m.Value)) })
		if got := strings.Join(text, " "); got != c.want {
			t.Errorf("beside %x: %q, want %q", c.beside, got, c.want)
		}
	}
}

func TestBadBlocks(t *testing.T) {
	for name, change := range map[string]func(b *Block){
		"number":    func(b *Block) { b.ID = 0 },
		"words":     func(b *Block) { b.Words = MaxBlockWords + 1 },
		"time word": func(b *Block) { b.TimeWord = 2 },
		"branch":    func(b *Block) { b.Branch = 99 },
		"code":      func(b *Block) { b.Ins[1].Len = 9 },
		"operands":  func(b *Block) { b.Ins[1].AccTo = 9 },
		"word":      func(b *Block) { b.Accesses[0].Word = 2 },
		"kind":      func(b *Block) { b.Accesses[0].Kind = 77 },
		"aux":       func(b *Block) { b.Accesses[0].Kind = AccessString },
		"value":     func(b *Block) { b.Accesses[0].Value = 2 },
		"lanes":     func(b *Block) { b.Accesses[0].Kind, b.Accesses[0].AuxWord, b.Accesses[0].Lanes = AccessMasked, 1, 65 },
		"bits":      func(b *Block) { b.Accesses[0].Kind, b.Accesses[0].AuxWord, b.Accesses[0].Size = AccessBits, 1, 3 },
		"index": func(b *Block) {
			b.Accesses[0].Kind, b.Accesses[0].AuxWord, b.Accesses[0].IndexSize = AccessGather, 1, 3
		},
	} {
		b := sample()
		change(b)
		if b.Prepare() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
