package abp

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/abp/frame"
	"alleria/abp/internal/wire"
)

// sample is a block that loads and stores.
func sample() *Block {
	b := &Block{
		ID: 1, Addr: 0x1000, Words: 2, TimeWord: NoWord, BranchWord: NoWord,
		Code: []byte{0x8b, 0x07, 0x89, 0x06},
		Ins: []Ins{
			{Off: 0, Len: 2, Flags: InsRecorded | InsAddrs | InsMemory, AccTo: 1},
			{Off: 2, Len: 2, Flags: InsRecorded | InsAddrs | InsMemory, AccFrom: 1, AccTo: 2},
		},
		Accesses: []Access{
			{AddrBits: 64, Size: 4, Word: 0, AuxWord: NoWord, IndexWord: NoWord, Value: NoWord},
			{AddrBits: 64, Size: 4, Word: 1, AuxWord: NoWord, IndexWord: NoWord, Value: NoWord, Store: true},
		},
	}
	if err := b.Prepare(); err != nil {
		panic(err)
	}
	return b
}

// sampleFile is a whole profile: main and frames in one file.
func sampleFile(t testing.TB) []byte {
	t.Helper()
	b := sample()
	var out bytes.Buffer
	w, err := NewWriter(&out, &Header{Type: TypeMain, Process: 3, Executable: "/bin/x", CommandLine: []string{"x", "-y"}, User: [UserSize]byte{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	enc, err := frame.NewEncoder(func(uint32) *frame.Shape { return b.Shape() }, 0)
	if err != nil {
		t.Fatal(err)
	}
	enc.Begin()
	if err := enc.Chunk([]uint64{1, 0x5000, 0x6000, 1, 0x5004, 0x6004}, 10, 20); err != nil {
		t.Fatal(err)
	}
	h := &FrameHeader{
		Thread: 1, OSID: 9, Chunks: 1, MaxBlock: 1, FirstTSC: 10, LastTSC: 20, Execs: 2, Words: enc.Words, Encoding: enc.Version(),
		Counts: Counts{4, 4, 2, 2, 8, 8},
	}
	err = errors.Join(
		w.Section(SectionImages, 0, (&Image{Number: 1, Path: "/bin/x", BuildID: []byte{1}, Segments: []Segment{{1, 2, 3, 4}}}).Append(nil)),
		w.Section(SectionBlocks, 0, b.Append(nil)),
		w.Section(SectionUser+7, 0, []byte("mine")),
		w.Section(SectionSampling, 0, (&Sampling{Thread: 1, Recorded: 1, Passed: 99}).Append((&Sampling{Thread: 1, Recorded: 4, Passed: 36, Bursts: 2, Lost: 1, LostWords: 6}).Append(nil))),
		w.Section(99, 0, []byte("of a later version")),
		w.Frame(h, enc.Finish(make([]byte, FrameRoom)), nil),
		w.Finish(&EndInfo{Ended: 1e9, Counts: h.Counts, Reason: "exit"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(b []byte) (*Profile, error) {
	f, err := newFile("bytes", bytes.NewReader(b), uint64(len(b)))
	if err != nil {
		return nil, err
	}
	proc := &Process{main: f, files: []*File{f}}
	if err := proc.load(); err != nil {
		return nil, err
	}
	return &Profile{processes: []*Process{proc}}, nil
}

func TestFile(t *testing.T) {
	p, err := openBytes(sampleFile(t))
	if err != nil {
		t.Fatal(err)
	}
	h := p.Process(3).Header()
	if h.Executable != "/bin/x" || !slices.Equal(h.CommandLine, []string{"x", "-y"}) || h.Ended != time.Unix(1, 0) || h.User[1] != 2 || h.Counts.Stores != 2 {
		t.Errorf("header %+v", h)
	}
	if !p.Complete() {
		t.Error("not complete")
	}
	f := p.Process(3).Main()
	i := slices.IndexFunc(f.Sections(), func(s Section) bool { return s.Type == SectionUser+7 })
	if mine, err := f.ReadSection(i, nil); err != nil || string(mine) != "mine" {
		t.Errorf("user section %q: %v", mine, err)
	}
	var addrs []uint64
	err = p.EachExec(Query{}, func(x *Exec) error {
		x.ForEachAccess(func(m *Mem) { addrs = append(addrs, m.Addr) })
		return nil
	})
	if err != nil || !slices.Equal(addrs, []uint64{0x5000, 0x6000, 0x5004, 0x6004}) {
		t.Errorf("accesses %x: %v", addrs, err)
	}
}

// FuzzOpen: whatever a file holds, opening and reading it ends in entries or an
// error.
func FuzzOpen(f *testing.F) {
	whole := sampleFile(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[:HeaderSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := openBytes(b)
		if err != nil {
			if p != nil {
				t.Fatal("a profile and an error")
			}
			return
		}
		n := 0
		r := p.Reader(Query{Order: OrderTime})
		for n < 1<<16 && r.NextExec() { // not entries: a string access may have any length
			n++
		}
		readFrames(p)
	})
}

// readFrames asks each frame for its sums, and decodes some of it.
func readFrames(p *Profile) {
	r := p.FrameReader(Query{})
	for _, proc := range p.Processes() {
		for _, th := range proc.Threads() {
			for _, ref := range th.Frames {
				if s, err := r.FrameSums(proc, ref); s != nil && err != nil {
					panic("sums and an error")
				}
				r.Frame(proc, ref)
				for n := 0; n < 1<<10 && r.NextStretch(); n++ {
					if words := r.Stretch(); words != nil {
						r.StretchExec(0)
					}
				}
			}
		}
	}
}

func TestRowsRoundTrip(t *testing.T) {
	rows := []struct {
		in     interface{ Append([]byte) []byte }
		out    any
		decode func(any, *wire.Decoder)
	}{
		{&CPUIDLeaf{1, 2, 3, 4, 5, 6, 7}, new(CPUIDLeaf), func(v any, d *wire.Decoder) { v.(*CPUIDLeaf).decode(d) }},
		{&Image{2, true, "/p", []byte{9}, 1, 2, 3, []Segment{{1, 2, 3, 4}, {5, 6, 7, 8}}}, new(Image), func(v any, d *wire.Decoder) { v.(*Image).decode(d) }},
		{&Function{1, 2, "_Zf", "f", 3, 4, "f.c", 5}, new(Function), func(v any, d *wire.Decoder) { v.(*Function).decode(d) }},
		{&FamilyRow{1, 2, 3, true, 4, 5, true, -9, []string{"a", ""}}, new(FamilyRow), func(v any, d *wire.Decoder) { v.(*FamilyRow).decode(d) }},
		{&WindowDef{1, "w", "d"}, new(WindowDef), func(v any, d *wire.Decoder) { v.(*WindowDef).decode(d) }},
		{&WindowEvent{1, true, "call", 2, 3, 4, 5, 6, 7, 8, 9}, new(WindowEvent), func(v any, d *wire.Decoder) { v.(*WindowEvent).decode(d) }},
		{&Syscall{1, 2, 3, 4, 5, [6]uint64{1, 2, 3, 4, 5, 6}, -7, 8, CallOwn}, new(Syscall), func(v any, d *wire.Decoder) { v.(*Syscall).decode(d) }},
		{&Signal{1, 2, 3, 4, -5, 6, 7, 8}, new(Signal), func(v any, d *wire.Decoder) { v.(*Signal).decode(d) }},
		{&Snapshot{1, "open", []Region{{1, 2, 3, true, 4, 5, "heap", 6, 7, 8, 9}, {9, 10, 3, true, 4, 5, "", 6, 11, 12, 13}}, false}, new(Snapshot), func(v any, d *wire.Decoder) { v.(*Snapshot).decode(d) }},
		{&SubProfile{1, "1.abp"}, new(SubProfile), func(v any, d *wire.Decoder) { v.(*SubProfile).decode(d) }},
		{&QueryMessage{"q", "t", -1, 2, 3}, new(QueryMessage), func(v any, d *wire.Decoder) { v.(*QueryMessage).decode(d) }},
		{&EndInfo{1, 2, Counts{1, 2, 3, 4, 5, 6}, 3, 4, "r"}, new(EndInfo), func(v any, d *wire.Decoder) { v.(*EndInfo).decode(d) }},
	}
	for _, r := range rows {
		payload := r.in.Append(nil)
		if err := eachRow(payload, func(_ uint16, d *wire.Decoder) {
			r.decode(r.out, d)
			if len(d.B) != 0 {
				t.Errorf("%T: %d bytes left", r.in, len(d.B))
			}
		}); err != nil || !reflect.DeepEqual(r.in, r.out) {
			t.Errorf("%+v became %+v: %v", r.in, r.out, err)
		}
		// A row of a later version has more fields.
		longer := append(append([]byte(nil), payload...), 1, 2, 3)
		longer[4] += 3
		if err := eachRow(longer, func(_ uint16, d *wire.Decoder) { r.decode(r.out, d) }); err != nil {
			t.Errorf("%T with new fields: %v", r.in, err)
		}
		for n := range payload {
			if n > 0 && eachRow(payload[:n], func(_ uint16, d *wire.Decoder) { r.decode(r.out, d) }) == nil {
				t.Errorf("%T cut at %d is taken", r.in, n)
			}
		}
	}
}

func TestRunFile(t *testing.T) {
	dir := t.TempDir()
	exit := 3
	want := &Run{Format: 1, Tool: "x", Command: []string{"a"}, Outcome: Outcome{State: OutcomeRunning}, Processes: []ProcessEntry{{Number: 1, Exit: &exit}}}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	want.Outcome.State = OutcomeComplete
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRun(dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v: %v", got, err)
	}
	if _, err := Open(dir); err != nil {
		t.Errorf("a run without recorded processes: %v", err)
	}
}

// TestRunCounted: functions of several processes that were counted are named once in the file, and come back as they were; those of one are a list in it.
func TestRunCounted(t *testing.T) {
	dir := t.TempDir()
	one := &Counted{Threads: []CountedThread{{Number: 1, TID: 5, Instructions: 12}}, Functions: []CountedFunction{{Name: "f g", Image: "a", Instructions: 7, Calls: 3}, {Image: "b", Instructions: 3}, {Instructions: 2}},
		Edges: []CountedEdge{{Caller: -1, Callee: 1, Calls: 1}}}
	two := &Counted{Threads: []CountedThread{{Number: 1, TID: 6, Instructions: 1 << 63}}, Functions: []CountedFunction{{Image: "b", Instructions: 1 << 63}, {Name: "f g", Image: "b", Instructions: 1}}}
	for n, all := range [][]ProcessEntry{{{Number: 1, Counted: one}, {Number: 2}}, {{Number: 1, Counted: one}, {Number: 2}, {Number: 3, Counted: two}}} {
		want := &Run{Format: 1, Tool: "x", Outcome: Outcome{State: OutcomeComplete}, Processes: all}
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, RunFile))
		if err != nil {
			t.Fatal(err)
		}
		if list, names := strings.Contains(string(text), `"name": "f g"`), strings.Contains(string(text), `"counts": "`); !list || names != (n == 1) || strings.Count(string(text), `"b"`) != 1+n {
			t.Errorf("%d processes: %s", len(all), text)
		}
		got, err := ReadRun(dir)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v: %v", got, err)
		}
		for _, wrong := range []string{"4:1", "-1:1", "x:1", "0", "0:y", "0:1:z", "0:1:1:1"} {
			bad := strings.Replace(string(text), "0:7:3", wrong, 1)
			if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadRun(dir); bad != string(text) && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
	}
}

// TestByTimeOpensLate: in the order of time a thread has a decoder from its first frame to its last, and not all threads at once.
func TestByTimeOpensLate(t *testing.T) {
	const threads = 50
	b := sample()
	var out bytes.Buffer
	w, err := NewWriter(&out, &Header{Type: TypeMain, Process: 3})
	if err != nil {
		t.Fatal(err)
	}
	enc, err := frame.NewEncoder(func(uint32) *frame.Shape { return b.Shape() }, 0)
	if err != nil {
		t.Fatal(err)
	}
	errs := []error{w.Section(SectionBlocks, 0, b.Append(nil))}
	for i := range uint64(threads) {
		at := 1000 * (threads - i) // the last comes first
		enc.Begin()
		errs = append(errs, enc.Chunk([]uint64{1, at, at + 64}, at, at+900))
		h := &FrameHeader{Thread: uint32(i + 1), OSID: 9, Chunks: 1, MaxBlock: 1, FirstTSC: at, LastTSC: at + 900, Execs: 1, Words: enc.Words, Encoding: enc.Version(), Counts: Counts{2, 2, 1, 1, 4, 4}}
		errs = append(errs, w.Frame(h, enc.Finish(make([]byte, FrameRoom)), nil))
	}
	if err := errors.Join(append(errs, w.Finish(&EndInfo{Ended: 1e9}))...); err != nil {
		t.Fatal(err)
	}
	p, err := openBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r := p.Reader(Query{Order: OrderTime})
	n := 0
	for ; r.NextExec(); n++ {
		open := 0
		for _, c := range r.cursors[:cap(r.cursors)] {
			if c != nil && c.dec != nil {
				open++
			}
		}
		if x := r.Exec(); x.Thread != uint32(threads-n) || open > 2 {
			t.Fatalf("execution %d: thread %d, %d decoders", n, x.Thread, open)
		}
	}
	if n != threads || r.Err() != nil {
		t.Errorf("%d executions: %v", n, r.Err())
	}
}
