package calls

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"alleria/abp/internal/wire"
)

// randomRecords makes records as a recorder could.
func randomRecords(seed uint64, n int) []Record {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]Record, n)
	tsc := uint64(1) << 50
	for i := range out {
		tsc += r.Uint64N(1000)
		out[i] = Record{Exit: r.IntN(2) == 1, More: r.IntN(20) == 0, Cut: r.IntN(20) == 0, Func: 1 + r.Uint32N(5), TSC: tsc, SP: 1<<46 - 16*r.Uint64N(100), Ret: 1<<40 + r.Uint64N(4)}
		for range r.IntN(200) * r.IntN(2) {
			out[i].Words = append(out[i].Words, r.Uint64N(3))
		}
	}
	return out
}

// TestBlock reads back what was written.
func TestBlock(t *testing.T) {
	for seed := range uint64(20) {
		want := randomRecords(seed, 200)
		var e Encoder
		for range 2 { // also a second time, with what was remembered forgotten
			e.Reset()
			for i := range want {
				if !e.Add(markOf(&want[i])) {
					t.Fatalf("record %d is none", i)
				}
			}
		}
		if e.Count != 200 || e.First != want[0].TSC || e.Last != want[199].TSC {
			t.Fatalf("%d records from %d to %d", e.Count, e.First, e.Last)
		}
		old := differencesOf(want)
		d := NewDecoder(e.Payload(), Streams)
		for i := range 2 * len(want) {
			if i == len(want) {
				if ok, err := d.Next(new(Record)); ok || err != nil {
					t.Errorf("at the end: %v, %v", ok, err)
				}
				d = NewDecoder(old, Differences)
			}
			i %= len(want)
			var got Record
			if ok, err := d.Next(&got); !ok || err != nil {
				t.Fatalf("record %d: %v, %v", i, ok, err)
			}
			words := got.Words
			got.Words, want[i].Words = nil, slices.Clone(want[i].Words)
			w := want[i]
			w.Words = nil
			if !reflect.DeepEqual(got, w) || !slices.Equal(words, want[i].Words) {
				t.Fatalf("record %d: %+v, want %+v", i, got, want[i])
			}
		}
		if ok, err := d.Next(new(Record)); ok || err != nil {
			t.Errorf("at the end: %v, %v", ok, err)
		}
	}
}

// TestBitmaps reads a block as versions before 1.11 wrote them: an entry with two words, another one with the first of them changed.
func TestBitmaps(t *testing.T) {
	block, err := hex.DecodeString("08" + "02" + "c801" + "0a" + "02" + "00" + "0100000000000000" + "0200000000000000" + "08" + "02" + "00" + "00" + "02" + "02" + "0300000000000000")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(block, Bitmaps)
	for tsc, want := range [][]uint64{{1, 2}, {3, 2}} {
		var r Record
		if ok, err := d.Next(&r); !ok || err != nil || r.TSC != uint64(tsc+1) || r.SP != 100 || r.Ret != 5 || !slices.Equal(r.Words, want) {
			t.Errorf("%+v, %v, want the words %d", r, err, want)
		}
	}
	if ok, err := d.Next(new(Record)); ok || err != nil {
		t.Errorf("at the end: %v, %v", ok, err)
	}
}

// FuzzBlock: any bytes are records or an error, and what is read can be written and read again.
func FuzzBlock(f *testing.F) {
	var e Encoder
	records := randomRecords(3, 20)
	for i := range records {
		e.Add(markOf(&records[i]))
	}
	f.Add(e.Payload(), uint8(Streams))
	f.Add(differencesOf(records), uint8(Differences))
	f.Add(differencesOf(records), uint8(Bitmaps))
	f.Fuzz(func(t *testing.T, b []byte, encoding uint8) {
		d := NewDecoder(b, Encoding(encoding%3))
		var again Encoder
		var all []Record
		for {
			var r Record
			ok, err := d.Next(&r)
			if !ok || err != nil {
				break
			}
			r.Words = slices.Clone(r.Words)
			if len(all) > 1000 {
				break // a byte can say a great many
			}
			all = append(all, r)
			again.Add(markOf(&r))
		}
		d = NewDecoder(again.Payload(), Streams)
		for i := range all {
			var r Record
			if ok, err := d.Next(&r); !ok || err != nil || r.TSC != all[i].TSC || !slices.Equal(r.Words, all[i].Words) {
				t.Fatalf("record %d: %+v, %v", i, r, err)
			}
		}
	})
}

// FuzzValues: any rows of types and any words are values or an error, and can be printed.
func FuzzValues(f *testing.F) {
	var e wire.Encoder
	types := []Type{{Kind: Char, Name: "char", Size: 1, Align: 1}, {Kind: Pointer, Size: 8, Elem: 1, Extent: ExtentSentinel}, {Kind: Struct, Size: 24, Fields: []Field{{"s", 2, 0, 0, 0}, {"b", 1, 8, 3, 12}, {"n", 4, 16, 0, 0}}},
		{Kind: Pointer, Size: 8, Elem: 3, Extent: ExtentCount, Count: 1}, {Kind: Array, Size: 48, Elem: 3, Count: 2}, {Kind: Enum, Size: 4, Names: []Const{{"A", 1}, {"B", 2}}}, {Kind: Float, Size: 16}, {Kind: String, Size: 24, Fields: []Field{{"s", 2, 8, 0, 0}}}}
	for i := range types {
		types[i].Encode(&e, TypeID(i+1))
	}
	sig := Signature{Entry: []Slot{{Param: 0, Type: 5, Pieces: []Piece{{0, 48}}}, {Param: 1, Type: 4, Pieces: []Piece{{0, 8}}}, {Param: 0, Type: 3, Hidden: true, Pieces: []Piece{{0, 8}}}}, Params: []Param{{Name: "x"}, {Name: "y", Index: 1}}}
	sig.Encode(&e)
	f.Add(e.B, []byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, rows, raw []byte, cut bool) {
		d := wire.Decoder{B: rows}
		var table Table
		for range 8 {
			var ty Type
			ty.Decode(&d)
			table.Types = append(table.Types, ty)
		}
		if table.Check() != nil {
			return
		}
		var s Signature
		s.Decode(&d)
		var words []uint64
		for len(raw) >= 8 {
			words = append(words, uintOf(raw[:8]))
			raw = raw[8:]
		}
		for _, exit := range []bool{false, true} {
			args, _ := s.Values(&table, exit, words, cut)
			for _, a := range args {
				if len(args) < 100 && len(rows) < 4096 {
					Format{Elements: 4, Bytes: 20}.Append(nil, a.Value)
				}
			}
		}
	})
}

// TestPairs follows calls through tail calls, longjmp and ends without beginnings.
func TestPairs(t *testing.T) {
	sigs := map[uint32]*Signature{1: {Number: 1, Name: "f", Returns: true, Addr: 16}, 2: {Number: 2, Name: "g", Returns: true}, 3: {Number: 3, Name: "F", Returns: true, Addr: 16}}
	in := func(fn uint32, sp, ret, tsc uint64) Record { return Record{Func: fn, SP: sp, Ret: ret, TSC: tsc} }
	out := func(fn uint32, sp, ret, tsc uint64) Record {
		return Record{Exit: true, Func: fn, SP: sp, Ret: ret, TSC: tsc}
	}
	for name, c := range map[string]struct {
		records []Record
		want    []string
	}{
		"nested":   {[]Record{in(1, 100, 1, 1), in(2, 80, 2, 2), out(2, 80, 2, 3), out(1, 100, 1, 4)}, []string{"g 1 returned 1 0", "f 0 returned 3 1"}},
		"tail":     {[]Record{in(1, 100, 1, 1), in(2, 100, 1, 2), out(2, 100, 1, 3), out(1, 100, 1, 4)}, []string{"g 1 returned 1 0", "f 0 returned 3 1"}},
		"longjmp":  {[]Record{in(1, 100, 1, 1), in(2, 80, 2, 2), out(1, 100, 1, 4)}, []string{"g 1 left without returning 2 0", "f 0 returned 3 2"}},
		"again":    {[]Record{in(1, 100, 1, 1), in(1, 100, 1, 5), out(1, 100, 1, 6)}, []string{"f 0 left without returning 4 0", "f 0 returned 1 0"}},
		"before":   {[]Record{out(1, 100, 1, 1), in(2, 100, 1, 2)}, []string{"f 0 entered before 0 0", "g 0 unfinished 0 0"}},
		"other":    {[]Record{in(1, 100, 1, 1), in(3, 80, 2, 2), out(3, 80, 2, 3), out(1, 100, 1, 4)}, []string{"F 1 returned 1 0", "f 0 returned 3 1"}},
		"replaced": {[]Record{in(1, 100, 1, 1), in(3, 100, 1, 2), out(3, 100, 1, 4), out(1, 100, 1, 4)}, []string{"f 0 left without returning 1 0", "F 0 returned 2 0"}},
		"unwound":  {[]Record{in(1, 100, 1, 1), in(2, 80, 2, 2), in(2, 120, 2, 3), out(2, 120, 2, 4)}, []string{"g 1 left without returning 1 0", "f 0 left without returning 2 1", "g 0 returned 1 0"}},
		"recursed": {[]Record{in(1, 100, 1, 1), in(1, 80, 1, 2), in(1, 60, 1, 3), out(1, 60, 1, 4), out(1, 80, 1, 5), out(1, 100, 1, 6)}, []string{"f 2 returned 1 0", "f 1 returned 3 1", "f 0 returned 5 3"}},
	} {
		p := NewPairer(sigs, 1)
		var got []string
		p.Ended = func(c *Call) error {
			got = append(got, c.Sig.Name+" "+string(rune('0'+c.Depth))+" "+c.End.String()+" "+string(rune('0'+c.Stop-c.Start))+" "+string(rune('0'+c.Inner)))
			return nil
		}
		for i := range c.records {
			if err := p.Add(&c.records[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestGoroutines: a goroutine's calls end on other threads and other stacks than they began on, which the threads' records say, and others come between them; those of the thread's own
// stack are apart.
func TestGoroutines(t *testing.T) {
	f, g, c := &Signature{Number: 1, Name: "f", Returns: true, Goroutine: true}, &Signature{Number: 2, Name: "g", Returns: true, Goroutine: true}, &Signature{Number: 3, Name: "c", Returns: true}
	sigs := map[uint32]*Signature{1: f, 2: g, 3: c}
	var all Goroutines
	var got []string
	threads := []*Pairer{NewPairer(sigs, 1), NewPairer(sigs, 2)}
	for _, p := range threads {
		p.Goroutines = &all
		p.Ended = func(c *Call) error {
			got = append(got, fmt.Sprint(c.Thread, " ", c.Sig.Name, " ", c.Depth, " ", c.End))
			return nil
		}
	}
	for i, r := range []struct {
		thread int
		Record
	}{
		{0, Record{Func: ofGoroutine, SP: 0x70, Ret: 1000}},
		{0, Record{Func: 1, SP: 900}},
		{0, Record{Func: 3, SP: 5000}}, // C code on the thread's own stack
		{0, Record{Func: ofGoroutine, SP: 0x80, Ret: 3000}},
		{0, Record{Func: 2, SP: 2900}}, // another goroutine, further up
		{1, Record{Func: ofGoroutine, SP: 0x70, Ret: 9000}},
		{1, Record{Func: 2, SP: 8800}},
		{1, Record{Exit: true, Func: 2, SP: 8800}},
		{1, Record{Exit: true, Func: 1, SP: 8900}},
		{0, Record{Exit: true, Func: 3, SP: 5000}},
		{0, Record{Exit: true, Func: 2, SP: 2900}},
		{0, Record{Func: 2, SP: 2950}},
	} {
		r.TSC = uint64(i)
		if err := threads[r.thread].Add(&r.Record); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range threads {
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"2 g 1 returned", "1 f 0 returned", "1 c 0 returned", "1 g 0 returned", "1 g 0 unfinished"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStacks: of a program that has several stacks a thread, calls end on the stack on which they were entered, also those that were entered before that was known.
func TestStacks(t *testing.T) {
	sigs := map[uint32]*Signature{1: {Number: 1, Name: "f", Returns: true}, 2: {Number: 2, Name: "g", Returns: true}}
	var all Goroutines
	var got []string
	threads := []*Pairer{NewPairer(sigs, 1), NewPairer(sigs, 2)}
	for _, p := range threads {
		p.Goroutines = &all
		p.Ended = func(c *Call) error {
			got = append(got, fmt.Sprint(c.Thread, " ", c.Sig.Name, " ", c.End))
			return nil
		}
	}
	for i, r := range []struct {
		thread int
		Record
	}{
		{0, Record{Func: 1, SP: 900}},
		{0, Record{Func: 2, SP: 500}},
		{0, Record{Exit: true, Func: ofGoroutine, SP: 800, Ret: 1000}}, // it is back from what was taken for the same stack
		{0, Record{Exit: true, Func: 1, SP: 900}},
		{0, Record{Func: 1, SP: 850}},
		{1, Record{Exit: true, Func: ofGoroutine, SP: 400, Ret: 600}}, // which goes on in another thread
		{1, Record{Func: 1, SP: 450}},
		{1, Record{Exit: true, Func: ofGoroutine, SP: 700, Ret: 1000}}, // and this one, which has grown
		{1, Record{Exit: true, Func: 1, SP: 850}},
	} {
		r.TSC = uint64(i)
		if err := threads[r.thread].Add(&r.Record); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range threads {
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"1 f returned", "1 f returned", "1 g unfinished", "2 f unfinished"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBits takes bit fields out of bytes, also of nine.
func TestBits(t *testing.T) {
	b := []byte{0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x7f}
	for _, c := range []struct {
		f    Field
		kind Kind
		want uint64
	}{{Field{Bit: 4, Bits: 8}, Unsigned, 0x1f}, {Field{Bits: 8}, Signed, ^uint64(0)}, {Field{Bit: 4, Bits: 64}, Unsigned, 0xf07060504030201f}, {Field{Offset: 8, Bit: 6, Bits: 2}, Unsigned, 1}} {
		if got, ok := bitField(b, &c.f, &Type{Kind: c.kind}); got != c.want || !ok {
			t.Errorf("%+v: %#x, %v", c.f, got, ok)
		}
	}
	if _, ok := bitField(b, &Field{Offset: 8, Bit: 6, Bits: 3}, &Type{}); ok {
		t.Error("beyond the end")
	}
}

// markOf is the words of a record in a ring.
func markOf(r *Record) []uint64 {
	head := uint64(r.Func) << markFunc
	for _, f := range []struct {
		on  bool
		bit uint64
	}{{r.Exit, 1}, {r.More, markMore}, {r.Cut, markCut}, {r.Altered, markAlter}} {
		if f.on {
			head |= f.bit
		}
	}
	return append([]uint64{head, r.TSC, r.SP, r.Ret}, r.Words...)
}

// differencesOf is a block as versions 1.11 and 1.12 wrote them.
func differencesOf(records []Record) []byte {
	var e differences
	for i := range records {
		e.add(&records[i])
	}
	return e.b
}

// BenchmarkEncoder packs calls of two integers and a result.
func BenchmarkEncoder(b *testing.B) {
	in := []uint64{1 << markFunc, 0, 1 << 46, 1 << 40, 0, 0}
	out := []uint64{1<<markFunc | 1, 0, 1 << 46, 1 << 40, 0}
	var e Encoder
	for n := range uint64(b.N) {
		in[1], in[4], in[5], out[1], out[4] = 1<<50+n*60, n, 3*n, 1<<50+n*60+30, 4*n
		e.Add(in)
		e.Add(out)
		if e.Size() > 256<<10 {
			b.ReportMetric(float64(len(e.Payload()))/float64(e.Count/2), "bytes/call")
			e.Reset()
		}
	}
}

// BenchmarkDecoder takes such calls apart.
func BenchmarkDecoder(b *testing.B) {
	var e Encoder
	for n := range uint64(20000) {
		e.Add([]uint64{1 << markFunc, 1<<50 + n*60, 1 << 46, 1 << 40, n, 3 * n})
		e.Add([]uint64{1<<markFunc | 1, 1<<50 + n*60 + 30, 1 << 46, 1 << 40, 4 * n})
	}
	payload, r := e.Payload(), Record{}
	d := NewDecoder(payload, Streams)
	for b.Loop() {
		for range 2 {
			ok, err := d.Next(&r)
			if err != nil {
				b.Fatal(err)
			}
			if !ok {
				d = NewDecoder(payload, Streams)
			}
		}
	}
}

// TestStreams holds the bytes of a block: two calls with an argument and a result, of which the second call's kinds are predicted.
func TestStreams(t *testing.T) {
	var e Encoder
	for n := range uint64(2) {
		e.Add([]uint64{3 << markFunc, 10 * n, 100, 5, 7 + n})
		e.Add([]uint64{3<<markFunc | 1, 10*n + 2, 100, 5, 1 << 40})
	}
	const want = "0a" + "08" + // bytes of the kinds and the sizes
		"00" + "18" + "01" + "00" + // the first kind, an entry of function 3 with one word, with no record predicted behind it
		"01" + "19" + "01" + "00" + // the second, a return
		"00" + "01" + // the first again, and then one that is predicted
		"1011" + "1181" + "0110" + "0100" + // sizes of TSC, SP, return address and word of each
		"c80a0e" + "04c80a0000000000010000" + "1002" + "04"
	if got := hex.EncodeToString(e.Payload()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
