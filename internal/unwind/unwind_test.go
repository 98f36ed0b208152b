package unwind_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"alleria/internal/symbols"
	"alleria/internal/unwind"
)

// words is memory by the word.
type words map[uint64]uint64

func (w words) Word(addr uint64) (uint64, bool) {
	v, ok := w[addr]
	return v, ok
}

// TestCaller goes up a stack by a hand-made .eh_frame: by the stack pointer, by the frame pointer, which is the caller's then, and to a function that nobody
// has called. Where a register or a word is not known, or the stack would not shrink, nobody is.
func TestCaller(t *testing.T) {
	cie := record(0, append([]byte{1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b}, 0x0c, 7, 8, 0x90, 1)) // CFA: rsp+8, return address at CFA-8
	fde := func(at int, start, size uint32, code ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, start-uint32(0x1000+at+8)) // relative to itself
		b = append(binary.LittleEndian.AppendUint32(b, size), 0)
		return record(at+4, append(b, code...))
	}
	section := cie
	for _, f := range []struct {
		start uint32
		code  []byte
	}{
		{0x2000, []byte{0x44, 0x0e, 24}},                         // from 0x2004 on: rsp+24
		{0x2100, []byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6}}, // from 0x2101 on: rsp+16, rbp at CFA-16; from 0x2104 on: rbp+16
		{0x2200, []byte{0x07, 16}},                               // no return address
		{0x2300, []byte{0x0f, 5, 0x77, 32, 0x06, 0x23, 16}},      // CFA: the word at rsp+32, and 16
	} {
		section = append(section, fde(len(section), f.start, 0x100, f.code...)...)
	}
	table, err := unwind.Parse(section, 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	const bias = 0x500000
	mem := words{0x7010: bias + 0x2150, 0x7068: bias + 0x2050, 0x7060: 0x7777, 0x7080: bias + 0x2280, 0x6008: bias + 0x2280, 0x9020: 0xa000, 0xa008: bias + 0x2280}
	var r unwind.Registers
	r.Set(unwind.SP, 0x7000)
	r.Set(unwind.BP, 0x7060)
	r.Set(unwind.PC, bias+0x2008)
	for i, want := range []unwind.Step{{Slot: 0x7010, Ret: bias + 0x2150}, {Slot: 0x7068, Ret: bias + 0x2050}, {Slot: 0x7080, Ret: bias + 0x2280}} {
		got, how := table.Caller(&r, bias, i > 0, mem)
		if how != unwind.Found || got != want {
			t.Fatalf("call %d: %x, %d, want %x", i, got, how, want)
		}
		r.Set(unwind.PC, got.Ret)
	}
	if r.Value[unwind.BP] != 0x7777 || r.Value[unwind.SP] != 0x7088 {
		t.Errorf("rbp %#x, rsp %#x", r.Value[unwind.BP], r.Value[unwind.SP])
	}
	if _, how := table.Caller(&r, bias, true, mem); how != unwind.Last {
		t.Errorf("the first function: %d", how)
	}
	at := func(pc uint64, sp, bp uint64) (unwind.Step, unwind.Outcome) {
		var r unwind.Registers
		r.Set(unwind.PC, bias+pc)
		r.Set(unwind.SP, sp)
		if bp != 0 {
			r.Set(unwind.BP, bp)
		}
		return table.Caller(&r, bias, false, mem)
	}
	if got, how := at(0x2310, 0x9000, 0); how != unwind.Found || got.Slot != 0xa008 {
		t.Errorf("by an expression: %x, %d", got, how)
	}
	for name, how := range map[string]unwind.Outcome{
		"rbp is not known": second(at(0x2150, 0x7000, 0)), "no word": second(at(0x2008, 0x8000, 0)), "no code": second(at(0x2900, 0x7000, 0)),
		"a stack that grows": second(at(0x2150, 0x7000, 0x6000)),
	} {
		if how != unwind.Unknown {
			t.Errorf("%s: %d", name, how)
		}
	}
}

func second(_ unwind.Step, how unwind.Outcome) unwind.Outcome { return how }

// record makes a record of .eh_frame, whose second field is id: 0, or how far the one lies in front that it goes by.
func record(id int, body []byte) []byte {
	for (len(body)+8)%8 != 0 {
		body = append(body, 0)
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+4))
	return append(binary.LittleEndian.AppendUint32(b, uint32(id)), body...)
}

// TestDamagedTable: no section, however damaged, does more than not to be read.
func TestDamagedTable(t *testing.T) {
	libc, err := filepath.Glob("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil || len(libc) == 0 {
		t.Skip("no C library to take a table from")
	}
	f, err := elf.Open(libc[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".eh_frame")
	whole, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	whole = whole[:min(len(whole), 20000)]
	for i := 0; i < len(whole); i += 7 {
		b := append([]byte(nil), whole...)
		b[i] ^= 0xff
		table, err := unwind.Parse(b, s.Addr)
		if err != nil {
			continue
		}
		for pc := f.Section(".text").Addr; pc < f.Section(".text").Addr+4000; pc += 33 {
			var r unwind.Registers
			r.Set(unwind.PC, pc)
			r.Set(unwind.SP, 0x1000)
			table.Caller(&r, 0, false, words{})
		}
	}
}

// TestGoFrames: what Go's table says of the stack that functions have taken is what the DWARF of the same program says, at each instruction.
func TestGoFrames(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go")
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(goTool, "build", "-o", prog, filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".debug_frame").Data()
	if err != nil {
		t.Fatal(err)
	}
	fdes, err := frame.Parse(data, binary.LittleEndian, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	im, err := symbols.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := im.GoFrames()
	if err != nil || sizes == nil {
		t.Fatalf("%v, %v", sizes, err)
	}
	same, tops := 0, 0
	for _, fde := range fdes {
		for pc := fde.Begin(); pc < fde.End(); pc++ {
			size, top, ok := sizes.Size(pc)
			if top {
				tops++
				break
			}
			if !ok {
				break
			}
			c, err := fde.EstablishFrame(pc)
			if err != nil {
				t.Fatal(err)
			}
			if want := uint64(c.CFA.Offset) - 8; size != want {
				t.Fatalf("%#x: %d bytes, want %d", pc, size, want)
			}
			same++
		}
	}
	if same < 100_000 || tops < 3 || tops > 100 {
		t.Errorf("%d instructions' bytes compared, %d functions that nobody calls", same, tops)
	}
}
