package records

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// mostWords is more than the blocks of these tests have.
const mostWords = 1 << 12

// sensibleBlock is a block at random of which everything lies where it is said to.
func sensibleBlock(rng *rand.Rand) *Block {
	b := randomBlock(rng)
	b.Words = 64 + rng.IntN(100)
	word := func() int16 { return int16(rng.IntN(b.Words+1)) - 1 }
	b.TimeWord, b.BranchWord, b.Branch = word(), word(), b.Branch%(BranchSyscall+1)
	b.Ins = append(b.Ins, Ins{Len: 4, Flags: InsRecorded})
	b.Code = nil
	for i := range b.Ins {
		in := &b.Ins[i]
		in.Off = uint16(len(b.Code))
		b.Code = append(b.Code, make([]byte, in.Len)...)
		for k := range in.Accesses {
			a := &in.Accesses[k]
			a.Word, a.Value = word(), word()
			if a.Lanes != 0 || a.AuxWord != NoWord || a.IndexWord != NoWord {
				a.AuxWord, a.IndexWord = word(), word()
			}
			if a.Kind == AccessString {
				a.Word, a.AuxWord = 1, 2
			}
		}
	}
	for i := range b.Regs {
		b.Regs[i] = RegWord{Ins: uint16(rng.IntN(len(b.Ins))), Reg: b.Regs[i].Reg, Word: word()}
	}
	return b
}

// keptTable is a table of n blocks with parts and sample rates.
func keptTable(n int) *Blocks {
	rng, t := rand.New(rand.NewPCG(9, 10)), new(Blocks)
	for i := range n {
		b := sensibleBlock(rng)
		of := t.Add(b)
		if i%3 == 0 {
			t.AddPart(of, Part{Ins: 1 + rng.IntN(len(b.Ins)), Words: rng.IntN(b.Words), Target: b.Addr + rng.Uint64()>>20})
		}
		if i%50 == 0 {
			t.SetSampleRates(of, make([]uint32, len(b.Ins)))
		}
	}
	return t
}

// TestKept: a table that was kept has the same blocks, parts, rates and sums, and goes on by itself, whether its facts are looked at when it is read or when they are.
func TestKept(t *testing.T) {
	for _, all := range []bool{false, true} {
		keptComesBack(t, all)
	}
}

func keptComesBack(t *testing.T, all bool) {
	t.Helper()
	const n = 1<<blockPageBits + 500
	first := keptTable(n)
	read, high := FromKept(first.Keep(), mostWords, all)
	if read == nil {
		t.Fatal("no table")
	}
	if first.pieces() < 2 || read.Last() != first.Last() {
		t.Fatalf("%d pieces, %d blocks of %d", first.pieces(), read.Last(), first.Last())
	}
	var most Highest
	for id := range first.Last() + 1 {
		if id == 0 {
			continue
		}
		b := first.Get(id)
		same(t, b, read.Get(id))
		if x, y := sumOf(first, id), sumOf(read, id); x != y || x.Words != b.Words || first.Addr(id) != read.Addr(id) || first.IsPart(id) != read.IsPart(id) {
			t.Errorf("block %d: %+v, read %+v", id, x, y)
		}
		most.Image = max(most.Image, b.Image)
		for _, in := range b.Ins {
			most.Func = max(most.Func, in.Func)
		}
		if !slices.Equal(first.SampleRates(id), read.SampleRates(id)) || read.Instructions(id) != len(b.Ins) {
			t.Errorf("block %d: rates %v, not %v; %d instructions, not %d", id, read.SampleRates(id), first.SampleRates(id), read.Instructions(id), len(b.Ins))
		}
	}
	if high != most {
		t.Errorf("the highest numbers are %v, not %v", high, most)
	}
	next := sensibleBlock(rand.New(rand.NewPCG(1, 1)))
	if id := read.Add(next); id != first.Last()+1 {
		t.Errorf("the next block is %d", id)
	}
	same(t, next, read.Get(next.ID))
	runtime.KeepAlive(first)
	if empty, _ := FromKept(new(Blocks).Keep(), mostWords, all); empty == nil || empty.Last() != 0 {
		t.Error("nothing that was kept is no table")
	}
}

// sumOf is Sum of a block that there is.
func sumOf(t *Blocks, id uint32) Sum {
	s, ok := t.Sum(id)
	if !ok {
		return Sum{Words: -1}
	}
	return s
}

// TestWideRows: what a row has no room for is told by the facts.
func TestWideRows(t *testing.T) {
	b := &Block{Words: 70, Code: make([]byte, 8), TimeWord: NoWord, BranchWord: NoWord, Ins: []Ins{{Len: 8, Flags: InsRecorded | InsAddrs}}}
	for i := range 300 {
		b.Ins[0].Accesses = append(b.Ins[0].Accesses, Access{Word: int16(i % 70), Value: NoWord, AuxWord: NoWord, IndexWord: NoWord, AddrBits: 64, Size: 1 << (i % 4)})
	}
	large := *b
	large.Ins = []Ins{{Len: 8, Flags: InsRecorded | InsAddrs, Accesses: []Access{{Word: 1, Value: NoWord, AuxWord: NoWord, IndexWord: NoWord, Store: true, AddrBits: 64, Size: 1 << 20}}}}
	var table Blocks
	table.Add(b)
	table.Add(&large)
	table.AddPart(1, Part{Ins: 1, Words: 3})
	read, _ := FromKept(table.Keep(), mostWords, false)
	for _, from := range []*Blocks{&table, read} {
		if s := sumOf(from, 1); s.Loads != 300 || s.BytesRead != 75*15 || s.Words != 70 {
			t.Errorf("%+v", s)
		}
		if s := sumOf(from, 2); s.Stores != 1 || s.BytesWritten != 1<<20 {
			t.Errorf("%+v", s)
		}
		if s := sumOf(from, 3); s.Loads != 300 || s.Words != 3 {
			t.Errorf("%+v", s)
		}
	}
}

// TestKeptIsWrong: what would have a reader look beyond a block's code, its words or the table's memory is no table where all is looked at, and else no block for who reads it.
func TestKeptIsWrong(t *testing.T) {
	for what, spoil := range map[string]func(b *Block){
		"words":      func(b *Block) { b.Words = mostWords + 1 },
		"time":       func(b *Block) { b.TimeWord = int16(b.Words) },
		"branch":     func(b *Block) { b.BranchWord = int16(b.Words) },
		"kind":       func(b *Block) { b.Branch = BranchSyscall + 1 },
		"code":       func(b *Block) { b.Code = b.Code[:len(b.Code)-1] },
		"empty":      func(b *Block) { b.Ins = nil },
		"register":   func(b *Block) { b.Regs = []RegWord{{Ins: uint16(len(b.Ins))}} },
		"register's": func(b *Block) { b.Regs = []RegWord{{Word: int16(b.Words)}} },
		"access": func(b *Block) {
			b.Ins[0].Flags, b.Ins[0].Accesses = InsAddrs, []Access{{Word: int16(b.Words), Value: NoWord}}
		},
		"string": func(b *Block) {
			b.Ins[0].Flags, b.Ins[0].Accesses = InsAddrs, []Access{{Kind: AccessString, Word: NoWord, AuxWord: 1}}
		},
		"access kind": func(b *Block) { b.Ins[0].Accesses = []Access{{Kind: 6, Lanes: 1}}; b.Ins[0].Len = 0 },
	} {
		b := sensibleBlock(rand.New(rand.NewPCG(3, 3)))
		var good, bad Blocks
		good.Add(b)
		if table, _ := FromKept(good.Keep(), mostWords, true); table == nil || table.Get(1) == nil {
			t.Fatalf("%s: no table before", what)
		}
		runtime.KeepAlive(&good)
		spoil(b)
		bad.Add(b)
		if table, _ := FromKept(bad.Keep(), mostWords, true); table != nil {
			t.Errorf("%s: a table", what)
		}
		if table, _ := FromKept(bad.Keep(), mostWords, false); table != nil && table.Get(1) != nil {
			t.Errorf("%s: a block", what)
		}
		runtime.KeepAlive(&bad)
	}
	for what, spoil := range map[string]func(k *Kept){
		"place":  func(k *Kept) { k.Rows[5].place = 1 << 30 },
		"none":   func(k *Kept) { k.Rows[5].place = 0 },
		"nought": func(k *Kept) { k.Rows[0].place = 1 },
		"words":  func(k *Kept) { k.Rows[5].words = mostWords + 1 },
		"rows":   func(k *Kept) { k.Rows = nil },
		"end":    func(k *Kept) { k.Facts[0] = k.Facts[0][:len(k.Facts[0])/2] },
		"piece":  func(k *Kept) { k.Facts = append(k.Facts, k.Facts[0]) },
		"nobody": func(k *Kept) { k.Rates = []uint32{1 << 20, 0, 1} },
		"rates":  func(k *Kept) { k.Rates = k.Rates[:len(k.Rates)-1] },
	} {
		whole := keptTable(100)
		k := whole.Keep()
		spoil(&k)
		if table, _ := FromKept(k, mostWords, false); table != nil {
			t.Errorf("%s: a table", what)
		}
		runtime.KeepAlive(whole)
	}
	for what, spoil := range map[string]func(k *Kept){
		"row's words": func(k *Kept) { k.Rows[len(k.Rows)-1].words-- },
		"row's ins":   func(k *Kept) { k.Rows[len(k.Rows)-1].ins++ },
		"no part":     func(k *Kept) { k.Rows[len(k.Rows)-1].flags ^= rowPart },
		"image":       func(k *Kept) { k.High.Image-- },
		"function":    func(k *Kept) { k.High.Func-- },
	} {
		whole := keptTable(100)
		k := whole.Keep()
		spoil(&k)
		if table, _ := FromKept(k, mostWords, true); table != nil {
			t.Errorf("%s: a table where all is looked at", what)
		}
		table, _ := FromKept(k, mostWords, false)
		missing := 0
		for id := uint32(1); id <= whole.Last(); id++ {
			if table == nil || table.Get(id) == nil {
				missing++
			}
		}
		if missing == 0 || missing == int(whole.Last()) {
			t.Errorf("%s: %d of %d blocks are none", what, missing, whole.Last())
		}
		runtime.KeepAlive(whole)
	}
}

// TestKeptIsWrongSomewhere: facts that are none are found wherever they lie among those that are gone over side by side, and so are the highest numbers.
func TestKeptIsWrongSomewhere(t *testing.T) {
	const n = 3 * leastShare
	one := sensibleBlock(rand.New(rand.NewPCG(3, 3)))
	one.Image = 1
	for _, at := range []int{0, n / 3, n / 2, n - 1} {
		for _, words := range []int{one.Words, mostWords + 1} {
			var table Blocks
			for i := range n {
				b := *one
				if i == at {
					b.Words, b.Image = words, 7
				}
				table.Add(&b)
			}
			read, high := FromKept(table.Keep(), mostWords, true)
			if good := words <= mostWords; (read != nil) != good || good && high.Image != 7 {
				t.Errorf("%d words of block %d: a table %t, with images up to %d", words, at, read != nil, high.Image)
			}
			runtime.KeepAlive(&table)
		}
	}
}

// FuzzKept: any bytes are a table that can be read, or none.
func FuzzKept(f *testing.F) {
	whole := keptTable(40)
	k := whole.Keep()
	f.Add(slices.Clone(k.Facts[0]), uint16(3), uint32(9), uint8(0))
	runtime.KeepAlive(whole)
	f.Fuzz(func(t *testing.T, facts []byte, which uint16, at uint32, flags uint8) {
		k := Kept{Facts: [][]byte{facts}, Rows: slices.Clone(k.Rows), Rates: k.Rates, High: k.High}
		r := &k.Rows[int(which)%len(k.Rows)]
		r.place += at
		r.flags ^= flags
		table, _ := FromKept(k, mostWords, false)
		if all, _ := FromKept(k, mostWords, true); table == nil {
			if all != nil {
				t.Error("it is a table where more is looked at")
			}
			return
		}
		var b Block
		for id := range table.Last() + 1 {
			there := table.Read(id, &b)
			_, _ = table.Sum(id)
			_ = table.Addr(id)
			if there && table.Instructions(id) != len(b.Ins) {
				t.Errorf("block %d has %d instructions, not %d", id, len(b.Ins), table.Instructions(id))
			}
		}
		for id := range table.Last() + 1 {
			table.Move(id, 1<<20)
			table.AddPart(id, Part{Ins: 1})
		}
	})
}
