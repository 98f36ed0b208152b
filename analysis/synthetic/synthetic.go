// Package synthetic writes the profile of a made-up program, for the tests of
// what reads profiles.
//
// In a nutshell: main calls work a hundred times and copies 64 bytes once; its
// second thread only works; a second process is known but was not followed. It
// is small enough to count by hand, which is what the tests compare with. It is
// put together from the format's own parts and not recorded, so that it neither
// changes with the machine nor needs one that can trace.
//
// Tests of analysis and of the commands call it. It keeps no state.
package synthetic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"alleria/abp"
	"alleria/abp/frame"
)

// Addresses of the program's functions, heap and stack.
//
// They are where Linux puts a position-dependent executable, its heap, a library and
// the stack when randomisation is off, so that what guesses by address (labels of
// heat maps) is tested with the real layout.
const (
	Main = 0x401000
	Work = 0x401100
	Copy = 0x7ffff7c01000
	Heap = 0x4c0000
	Top  = 0x7fffffffe000

	blockMain = 1 // mov rax,[rbp-8]; call work
	blockWork = 2 // mov [rdi],eax; ret
	blockCopy = 3 // rep movsb, in libc
	blockJIT  = 4 // nop, in no image
)

// everything is the flags of an instruction whose four facts are all
// recorded.
const everything = abp.InsRecorded | abp.InsAddrs | abp.InsValues | abp.InsRoutine

// blocks are the program's static blocks, made anew for each caller because
// Prepare writes into them. They have everything that a configuration can ask for, so that readers meet every field.
func blocks() []*abp.Block {
	plain := func(word, value int16, off int64, size uint32, store bool) abp.Access {
		return abp.Access{Store: store, AddrBits: 64, Size: size, Word: word, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: value, Offset: off}
	}
	repeated := func(word, aux int16, store bool) abp.Access {
		a := plain(word, abp.NoWord, 0, 1, store)
		a.Kind, a.AuxWord = abp.AccessString, aux
		return a
	}
	return []*abp.Block{
		{ // words: rbp, value loaded, rsp
			ID: blockMain, Image: 1, Addr: Main, Target: Work, Words: 4, TimeWord: 3, BranchWord: abp.NoWord, Branch: abp.BranchCall,
			Code: []byte{0x48, 0x8b, 0x45, 0xf8, 0xe8, 0xf7, 0, 0, 0},
			Ins: []abp.Ins{
				{Off: 0, Len: 4, Flags: everything | abp.InsMemory | abp.InsTime, AccFrom: 0, AccTo: 1, Func: 1},
				{Off: 4, Len: 5, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsRoutine | abp.InsMemory | abp.InsBranch, AccFrom: 1, AccTo: 2, Func: 1},
			},
			Accesses: []abp.Access{plain(0, 1, -8, 8, false), plain(2, abp.NoWord, -8, 8, true)},
		},
		{ // words: rdi, value stored, rsp, return address
			ID: blockWork, Image: 1, Addr: Work, Words: 4, TimeWord: abp.NoWord, BranchWord: 3, Branch: abp.BranchRet,
			Code: []byte{0x89, 0x07, 0xc3},
			Ins: []abp.Ins{
				{Off: 0, Len: 2, Flags: everything | abp.InsMemory, AccFrom: 0, AccTo: 1, Func: 2},
				{Off: 2, Len: 1, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory | abp.InsBranch, AccFrom: 1, AccTo: 2},
			},
			Accesses: []abp.Access{plain(0, 1, 0, 4, true), plain(2, abp.NoWord, 0, 8, false)},
		},
		{ // words: rsi before, rsi after, rdi before, rdi after
			ID: blockCopy, Image: 2, Addr: Copy, Words: 4, TimeWord: abp.NoWord, BranchWord: abp.NoWord,
			Code:     []byte{0xf3, 0xa4},
			Ins:      []abp.Ins{{Len: 2, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: 0, AccTo: 2}},
			Accesses: []abp.Access{repeated(0, 1, false), repeated(2, 3, true)},
		},
		{
			ID: blockJIT, Addr: 0x10000000, TimeWord: abp.NoWord, BranchWord: abp.NoWord,
			Code: []byte{0x90}, Ins: []abp.Ins{{Len: 1, Flags: abp.InsRecorded | abp.InsAddrs}},
		},
	}
}

// mainRun is one execution of main's block, with its time stamp.
// The words are in the order that the block's accesses name them, the block's
// number first: that is all an execution is in the stream.
func mainRun(tsc uint64) []uint64 {
	return []uint64{blockMain, Top + 0x100, 0x1122334455667788, Top, tsc}
}

// workRun is one execution of work's block: the i-th stores the i-th number.
// The stores are four bytes apart, so that a hundred of them touch seven lines and
// one page: sums by address can be told in the head.
func workRun(i uint64) []uint64 {
	return []uint64{blockWork, Heap + 4*i, i, Top - 8, Main + 9}
}

// copyRun copies n bytes from the heap's start to its second page.
// A repeated instruction is one execution however long it was: its accesses follow
// from the registers before and after.
func copyRun(n uint64) []uint64 {
	return []uint64{blockCopy, Heap, Heap + n, Heap + 0x1000, Heap + 0x1000 + n}
}

// Write writes the run into a directory that it makes.
//
// Times, ids and addresses are constants: what is made of the run can be compared
// with a golden file to the byte. The second process has no directory, as one that
// was not followed.
func Write(dir string) error { return write(dir, writeTables) }

// WriteSampled writes the same run as one of which bursts were recorded: 423 of 8,460 instructions.
func WriteSampled(dir string) error {
	return write(dir, func(w *abp.Writer, h *abp.Header) error {
		row := &abp.Sampling{Thread: 1, Recorded: 423, Passed: 8037, Bursts: 3}
		return errors.Join(writeTables(w, h), w.Section(abp.SectionSampling, 0, row.Append(nil)))
	})
}

// write writes the run with the tables of its process.
func write(dir string, tables func(*abp.Writer, *abp.Header) error) error {
	if err := os.MkdirAll(filepath.Join(dir, "p1"), 0o755); err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ended := started.Add(2 * time.Second)
	exit := 3
	run := &abp.Run{Format: 1, Tool: "test", Command: []string{"demo", "a b"}, Started: started, Ended: &ended,
		Outcome: abp.Outcome{State: abp.OutcomeComplete},
		Processes: []abp.ProcessEntry{
			{Number: 1, PID: 100, Command: []string{"demo", "a b"}, Followed: true, Exit: &exit, Dir: "p1", Threads: 2},
			{Number: 2, PID: 105, Parent: 1, Command: []string{"child"}},
		}}
	if err := run.Write(dir); err != nil {
		return err
	}
	h := abp.Header{Type: abp.TypeMain, Machine: abp.Machine{OS: abp.OSLinux, PageSize: 4096}, Created: started, Started: started, TSCAtStart: 1000, TSCFrequency: 1e9,
		Process: 1, PID: 100, Executable: "/usr/bin/demo", CommandLine: []string{"demo", "a b"}}
	if err := writeFile(filepath.Join(dir, "p1", abp.MainFile), &h, tables); err != nil {
		return err
	}
	h.Type, h.Stream = abp.TypeSub, 1
	return writeFile(filepath.Join(dir, "p1", "1.abp"), &h, writeThreads)
}

// writeFile writes one file of the format, closed in order.
// "In order" means with END and the directory of sections, as a run that was not
// killed leaves them. Errors of closing are errors: a full disk says so
// there.
func writeFile(path string, h *abp.Header, put func(*abp.Writer, *abp.Header) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	w, err := abp.NewWriter(f, h)
	if err == nil {
		err = put(w, h)
	}
	if err == nil {
		err = w.Finish(&abp.EndInfo{Ended: time.Date(2026, 3, 1, 12, 0, 2, 0, time.UTC).UnixNano(), Counts: h.Counts})
	}
	return errors.Join(err, f.Close())
}

// row is a row of any table.
type row interface{ Append([]byte) []byte }

// writeTables writes what main.abp has besides the header.
// Sections come in the order in which the reading library needs no second pass:
// blocks, what they refer to, then events.
func writeTables(w *abp.Writer, _ *abp.Header) error {
	var all []row
	for _, b := range blocks() {
		all = append(all, b)
	}
	var errs []error
	section := func(kind abp.SectionType, rows ...row) {
		var payload []byte
		for _, r := range rows {
			payload = r.Append(payload)
		}
		errs = append(errs, w.Section(kind, 0, payload))
	}
	section(abp.SectionBlocks, all...)
	section(abp.SectionImages,
		&abp.Image{Number: 1, Main: true, Path: "/usr/bin/demo", Base: 0x400000, Segments: []abp.Segment{{Start: 0x400000, End: 0x402000}}},
		&abp.Image{Number: 2, Path: "/lib/libc.so.6", Base: 0x7ffff7c00000, Segments: []abp.Segment{{Start: 0x7ffff7c00000, End: 0x7ffff7e00000}}})
	section(abp.SectionFunctions,
		&abp.Function{Number: 1, Image: 1, Name: "main", Addr: Main, Size: 0x100, File: "demo.c", Line: 12},
		&abp.Function{Number: 2, Image: 1, Name: "_ZN4demo4workEi", Demangled: "demo::work", Addr: Work, Size: 0x40},
		&abp.Function{Number: 3, Image: 2, Name: "memcpy", Addr: Copy, Size: 0x80})
	section(abp.SectionWindows,
		&abp.WindowDef{Index: 0, Name: "all"},
		&abp.WindowDef{Index: 1, Name: "copying"},
		&abp.WindowDef{Index: 2, Name: "never"},
		&abp.WindowEvent{Window: 0, Opened: true, Reason: "start", TSC: 1000, Thread: 1},
		&abp.WindowEvent{Window: 1, Opened: true, Reason: "Call memcpy", TSC: 1000 + 5e8, Thread: 1, Addr: Copy, Instructions: 400, Loads: 200, Stores: 200},
		&abp.WindowEvent{Window: 1, Opened: false, Reason: "Return memcpy", TSC: 1000 + 6e8, Thread: 1, Addr: Main + 9, Instructions: 401, Loads: 264, Stores: 264, Overshoot: 2})
	section(abp.SectionProcessFamily,
		&abp.FamilyRow{Number: 1, PID: 100, Followed: true, Exited: true, ExitStatus: 3, Command: []string{"demo", "a b"}},
		&abp.FamilyRow{Number: 2, PID: 105, Parent: 1, Exited: true, ExitStatus: -9, Command: []string{"child"}})
	section(abp.SectionLLW, &abp.Snapshot{TSC: 1000, Regions: []abp.Region{
		{Start: 0x400000, End: 0x402000, Kind: abp.RegionImage, Label: "/usr/bin/demo"},
		{Start: Heap, End: Heap + 0x10000, Kind: abp.RegionHeap, Label: "[heap]"},
		{Start: 0x7ffffffde000, End: 0x7ffffffff000, Kind: abp.RegionStack, Label: "[stack]"},
	}})
	return errors.Join(errs...)
}

// writeThreads writes thread 1 in two frames and thread 2 in one.
//
// Between them the frames have all that a reader must carry from one to the next:
// windows that were open before, an ordinal that goes on, and marks in the middle.
// The cut stands for a fault: main's second instruction did not run.
func writeThreads(w *abp.Writer, h *abp.Header) error {
	var first []uint64
	for i := range uint64(100) {
		first = append(append(first, mainRun(1000+i*1e6)...), workRun(i)...)
	}
	second := append([]uint64{abp.Mark(abp.MarkWindows, 3), 1000 + 5e8}, copyRun(64)...)
	second = append(second, abp.Mark(abp.MarkWindows, 1), 1000+6e8)
	second = append(second, abp.Mark(abp.MarkCut, 1))
	second = append(second, mainRun(1000+7e8)...)
	second = append(second, blockJIT)
	var other []uint64
	for i := range uint64(10) {
		other = append(other, workRun(i)...)
	}
	// The counts are what the words mean; a test compares them with what is
	// counted when the words are read.
	err1 := writeFrame(w, h, &abp.FrameHeader{Thread: 1, OSID: 100, Windows: 1, FirstTSC: 1000, LastTSC: 1000 + 4e8, Execs: 200,
		Counts: abp.Counts{Instructions: 400, MemInstructions: 400, Loads: 200, Stores: 200, BytesRead: 1600, BytesWritten: 1200}}, first)
	err2 := writeFrame(w, h, &abp.FrameHeader{Thread: 1, OSID: 100, Seq: 1, Chunk: 1, Ordinal: 400, Windows: 1, FirstTSC: 1000 + 4e8, LastTSC: 1000 + 7e8, Execs: 3,
		Counts: abp.Counts{Instructions: 3, MemInstructions: 2, Loads: 65, Stores: 64, BytesRead: 72, BytesWritten: 64}}, second)
	err3 := writeFrame(w, h, &abp.FrameHeader{Thread: 2, OSID: 101, Windows: 1, FirstTSC: 2000, LastTSC: 3000, Execs: 10,
		Counts: abp.Counts{Instructions: 20, MemInstructions: 20, Loads: 10, Stores: 10, BytesRead: 80, BytesWritten: 40}}, other)
	return errors.Join(err1, err2, err3)
}

// writeFrame encodes words as one frame.
// Blocks are prepared anew for each frame, since an encoder keeps their shapes.
func writeFrame(w *abp.Writer, file *abp.Header, h *abp.FrameHeader, words []uint64) error {
	all := blocks()
	for _, b := range all {
		if err := b.Prepare(); err != nil {
			return fmt.Errorf("synthetic run: %w", err)
		}
	}
	enc, err := frame.NewEncoder(func(id uint32) *frame.Shape { return all[id-1].Shape() }, 0)
	if err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	enc.Begin()
	if err := enc.Chunk(words, h.FirstTSC, h.LastTSC); err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	h.Words, h.Chunks, h.MaxBlock, h.Encoding = enc.Words, 1, uint32(len(all)), enc.Version()
	file.Counts.Add(h.Counts, 1) // for END, which sums a file up
	return w.Frame(h, enc.Finish(make([]byte, abp.FrameRoom)), nil)
}

// WriteLarge writes a run whose only thread executes main and work in turn, runs
// times each, for measurements.
//
// It is regular and therefore compresses beyond anything real: good for measuring
// the reader's own work, wrong for judging sizes.
func WriteLarge(dir string, runs int) error {
	const perFrame = 100_000
	if err := os.MkdirAll(filepath.Join(dir, "p1"), 0o755); err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	h := abp.Header{Type: abp.TypeMain, Machine: abp.Machine{OS: abp.OSLinux}, Process: 1, PID: 100, TSCFrequency: 1e9, CommandLine: []string{"demo"},
		Flags: abp.FlagInstructions | abp.FlagAddresses | abp.FlagValues | abp.FlagTimeStamps | abp.FlagBranches}
	if err := writeFile(filepath.Join(dir, "p1", abp.MainFile), &h, writeTables); err != nil {
		return err
	}
	h.Type, h.Stream = abp.TypeSub, 1
	return writeFile(filepath.Join(dir, "p1", "1.abp"), &h, func(w *abp.Writer, h *abp.Header) error {
		var words []uint64
		for seq := 0; seq*perFrame < runs; seq++ {
			words = words[:0]
			first, n := uint64(seq*perFrame), uint64(min(perFrame, runs-seq*perFrame))
			for i := range n {
				words = append(append(words, mainRun(1000+(first+i)*10)...), workRun(first+i)...)
			}
			err := writeFrame(w, h, &abp.FrameHeader{Thread: 1, OSID: 100, Seq: uint64(seq), Chunk: uint64(seq), Ordinal: 4 * first, Windows: 1,
				FirstTSC: 1000 + first*10, LastTSC: 1000 + (first+n)*10, Execs: 2 * n,
				Counts: abp.Counts{Instructions: 4 * n, MemInstructions: 4 * n, Loads: 2 * n, Stores: 2 * n, BytesRead: 16 * n, BytesWritten: 12 * n}}, words)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Replaced is where all code of the run that WriteReplaced writes lies.
const Replaced = 0x7ffff7c01000

// WriteReplaced writes a run in which two libraries were loaded one after the other at the same place, and behind them code that
// is in no image: each loads from there, and begins at Replaced.
func WriteReplaced(dir string) error {
	err := os.MkdirAll(filepath.Join(dir, "p1"), 0o755)
	if err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	var blocks, images, functions []byte
	all := []*abp.Block{nil}
	for i := range uint32(3) {
		b := &abp.Block{ID: i + 1, Image: (i + 1) % 3, Addr: Replaced, Words: 1, TimeWord: abp.NoWord, BranchWord: abp.NoWord, Code: []byte{0x48, 0x8b, 0},
			Ins:      []abp.Ins{{Len: 3, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: 0, AccTo: 1, Func: (i + 1) % 3}},
			Accesses: []abp.Access{{AddrBits: 64, Size: 8, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}}}
		blocks = b.Append(blocks)
		if err := b.Prepare(); err != nil {
			return fmt.Errorf("synthetic run: %w", err)
		}
		all = append(all, b)
	}
	for i, name := range []string{"first", "second"} {
		n := uint32(i + 1)
		images = (&abp.Image{Number: n, Path: "/lib/" + name + ".so", Base: Replaced - 0x1000, Loaded: uint64(1000 * n), Unloaded: uint64(1000*n + 900),
			Segments: []abp.Segment{{Start: Replaced - 0x1000, End: Replaced + 0x1000, Prot: 5}}}).Append(images)
		functions = (&abp.Function{Number: n, Image: n, Name: name, Addr: Replaced, Size: 0x40}).Append(functions)
	}
	h := abp.Header{Type: abp.TypeMain, Machine: abp.Machine{OS: abp.OSLinux}, Process: 1, PID: 100, TSCFrequency: 1e9, CommandLine: []string{"demo"},
		Flags: abp.FlagInstructions | abp.FlagAddresses}
	err = writeFile(filepath.Join(dir, "p1", abp.MainFile), &h, func(w *abp.Writer, _ *abp.Header) error {
		return errors.Join(w.Section(abp.SectionBlocks, 0, blocks), w.Section(abp.SectionImages, 0, images), w.Section(abp.SectionFunctions, 0, functions))
	})
	if err != nil {
		return err
	}
	h.Type, h.Stream = abp.TypeSub, 1
	return writeFile(filepath.Join(dir, "p1", "1.abp"), &h, func(w *abp.Writer, h *abp.Header) error {
		enc, err := frame.NewEncoder(func(id uint32) *frame.Shape { return all[id].Shape() }, 0)
		if err != nil {
			return fmt.Errorf("synthetic run: %w", err)
		}
		enc.Begin()
		words := []uint64{1, Heap, 1, Heap, 1, Heap, 2, Heap, 2, Heap, 3, Heap}
		if err := enc.Chunk(words, 1000, 4000); err != nil {
			return fmt.Errorf("synthetic run: %w", err)
		}
		f := &abp.FrameHeader{Thread: 1, OSID: 100, FirstTSC: 1000, LastTSC: 4000, Execs: 6, Words: enc.Words, Chunks: 1, MaxBlock: 3, Encoding: enc.Version(),
			Counts: abp.Counts{Instructions: 6, MemInstructions: 6, Loads: 6, BytesRead: 48}}
		h.Counts = f.Counts
		return w.Frame(f, enc.Finish(make([]byte, abp.FrameRoom)), nil)
	})
}
