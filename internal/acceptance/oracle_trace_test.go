package acceptance

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/abp"
	"alleria/engine/step"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// What follows in the files oracle_*_test.go is the window language a second time:
// a model that runs configurations over the instructions of a whole run as the
// single-step engine tells them, and that compares what it would have recorded with
// a profile, entry by entry. It shares nothing with config, window and session; of
// the engine it uses the decoder, whose names of instructions have tests of their
// own.

// oracleMost is how many instructions a program may have: single steps cost some 30 µs.
const oracleMost = 600000

// oracleFact is one executed instruction.
type oracleFact struct {
	in            x86.Insn
	addr          uint64
	code          []byte
	acc           []step.Access
	branch, taken bool
	to            uint64
	call          uint64 // of a system call: its number
	sp            uint64 // before it
	regs          map[string][]byte
	reads, writes uint64 // of the run, once it has executed
	// What has happened by the time that it is about to execute.
	pid       bool                   // rax holds the number of the process, which no two runs share
	signalled bool                   // a signal has been delivered
	entered   *oracleSymbol          // it is a function's first, and not reached from within
	returned  map[*oracleSymbol]bool // the instruction before was the return of these
	function  *oracleSymbol          // that it lies in; nil: none
	image     *oracleImage           // likewise
	key       map[string]string      // what Instruction selects by
}

// oracleRegisters are those that the oracle tells of each instruction.
func oracleRegisters() []string {
	list := []string{"rax", "ecx", "dx", "bl", "ah", "rsp", "r11", "rip", "rflags", "mxcsr", "xmm1", "ymm2", "k1", "fs_base", "st0"}
	if !cpuHas("avx512vbmi") {
		list = list[:len(list)-4]
		list = append(list, "fs_base")
	}
	return list
}

// oracleTrace is a whole run.
type oracleTrace struct {
	prog   string
	pid    int
	facts  []oracleFact
	images []*oracleImage
	beside map[uint64]bool // addresses that another thread executes too; nil: there is none
}

// oracleRun runs a program of one thread under the single-step engine, in the
// environment that the tests give to all runs. The program must write nothing: it has
// the test's own standard output.
func oracleRun(t *testing.T, dir string, argv ...string) *oracleTrace {
	t.Helper()
	tr := &oracleTrace{prog: argv[0]}
	names := oracleRegisters()
	regs := make([]records.Reg, len(names))
	for i, n := range names {
		r, ok := abp.ParseRegister(n)
		if !ok {
			t.Fatalf("no register %s", n)
		}
		regs[i] = records.Reg(r)
	}
	var reads, writes uint64
	o := step.Options{Path: argv[0], Argv: argv, Env: baseEnv(dir), Dir: dir, NoASLR: true, FixRandom: true, MaxIns: oracleMost,
		VectorState: true, Started: func(id int) error { tr.pid = id; return nil }}
	keys := make(map[string]map[string]string)
	visit := func(in *step.Ins) error {
		if in.Part {
			return fmt.Errorf("interrupted at %#x", in.Addr)
		}
		f := oracleFact{in: in.Insn, addr: in.Addr, code: bytes.Clone(in.Bytes), branch: in.Branch, taken: in.Taken, to: in.To, sp: in.Regs.Rsp,
			regs: make(map[string][]byte)}
		if in.Cat == x86.CatSYSCALL {
			f.call = in.Regs.Rax
		}
		for _, a := range in.Accesses {
			a.Value = bytes.Clone(a.Value)
			f.acc = append(f.acc, a)
			if a.Store {
				writes++
			} else {
				reads++
			}
		}
		f.reads, f.writes = reads, writes
		for i, r := range regs {
			f.regs[names[i]] = bytes.Clone(in.Register(r))
		}
		f.key = oracleKey(keys, &in.Insn, in.Bytes)
		if f.image = tr.imageAt(in.Addr); f.image == nil {
			tr.readMaps(t)
			f.image = tr.imageAt(in.Addr)
		}
		f.function = f.image.at(in.Addr)
		tr.facts = append(tr.facts, f)
		return nil
	}
	if st, err := step.Run(o, visit); err != nil || !st.Exited {
		t.Fatalf("single-stepping %s: %+v %v", argv[0], st, err)
	}
	tr.follow()
	return tr
}

// oracleKey is what selectors look at of an instruction, made once for each encoding.
func oracleKey(keys map[string]map[string]string, in *x86.Insn, code []byte) map[string]string {
	k := keys[string(code)]
	if k == nil {
		k = map[string]string{"form": in.FormName(), "class": strings.ToUpper(in.ClassName()), "isa": in.ISASetName(),
			"ext": in.ExtensionName(), "cat": in.CategoryName()}
		if len(in.Accesses(nil)) > 0 {
			k["mem"] = "yes"
		}
		keys[string(code)] = k
	}
	return k
}

// follow finds out what is entered and returned from: with a stack of its own for
// each function that has been entered and not been left.
func (tr *oracleTrace) follow() {
	type frame struct {
		fn *oracleSymbol
		sp uint64
	}
	var stack []frame
	for i := range tr.facts {
		f := &tr.facts[i]
		var before *oracleFact
		if i > 0 {
			before = &tr.facts[i-1]
		}
		if before != nil && before.in.Cat == x86.CatRET {
			f.returned = make(map[*oracleSymbol]bool)
			for len(stack) > 0 && stack[len(stack)-1].sp <= before.sp {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if top.sp == before.sp {
					f.returned[top.fn] = true
				}
			}
		}
		f.pid = before != nil && before.call == unix.SYS_GETPID
		f.signalled = before != nil && before.to != f.addr
		fn := f.function
		if fn == nil || fn.value != f.addr {
			continue
		}
		within := before != nil && before.function == fn && before.branch && before.in.Cat != x86.CatCALL && before.in.Cat != x86.CatRET && before.to == f.addr
		if !within {
			f.entered = fn
			stack = append(stack, frame{fn, f.sp})
		}
	}
}

// oracleImage is a mapped file.
type oracleImage struct {
	path       string
	start, end uint64
	bias       uint64
	main       bool
	symbols    []*oracleSymbol
}

// oracleSymbol is a function by what the symbol table says.
type oracleSymbol struct {
	names       []string
	plain       string // demangled, without parameters; "": as linked
	value, size uint64 // as mapped
}

// imageAt returns the image at an address, nil if there is none.
func (tr *oracleTrace) imageAt(addr uint64) *oracleImage {
	for _, im := range tr.images {
		if addr >= im.start && addr < im.end {
			return im
		}
	}
	return nil
}

// readMaps reads which files are mapped; those that were there stay as they are.
func (tr *oracleTrace) readMaps(t *testing.T) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", tr.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[5], "/") {
			continue
		}
		var start, end uint64
		fmt.Sscanf(f[0], "%x-%x", &start, &end)
		if im := tr.image(f[5]); im != nil {
			im.end = max(im.end, end)
			continue
		}
		tr.images = append(tr.images, newOracleImage(t, f[5], start, end, len(tr.images) == 0))
	}
}

// image returns an image by its path.
func (tr *oracleTrace) image(path string) *oracleImage {
	for _, im := range tr.images {
		if im.path == path {
			return im
		}
	}
	return nil
}

// newOracleImage reads a file's functions.
func newOracleImage(t *testing.T, path string, start, end uint64, main bool) *oracleImage {
	im := &oracleImage{path: path, start: start, end: end, main: main}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Type == elf.ET_DYN {
		im.bias = start
	}
	syms, _ := f.Symbols()
	// Functions before labels.
	slices.SortStableFunc(syms, func(a, b elf.Symbol) int {
		return cmp.Compare(elf.ST_TYPE(b.Info)&elf.STT_FUNC, elf.ST_TYPE(a.Info)&elf.STT_FUNC)
	})
	dyn, _ := f.DynamicSymbols()
	by := make(map[uint64]*oracleSymbol)
	for _, s := range append(syms, dyn...) {
		label := elf.ST_TYPE(s.Info) == elf.STT_NOTYPE
		if !label && elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || int(s.Section) >= len(f.Sections) {
			continue
		}
		// A label of assembly code is a function as far as the next symbol, unless it
		// lies within one.
		if label {
			section := f.Sections[s.Section]
			if section.Flags&elf.SHF_EXECINSTR == 0 || s.Name[0] == '.' || im.within(s.Value) {
				continue
			}
			s.Size = section.Addr + section.Size - s.Value
			for _, next := range syms {
				if next.Section == s.Section && next.Value > s.Value {
					s.Size = min(s.Size, next.Value-s.Value)
				}
			}
		}
		o := by[s.Value]
		if o == nil {
			o = &oracleSymbol{value: s.Value + im.bias}
			by[s.Value] = o
			im.symbols = append(im.symbols, o)
		}
		o.names = append(o.names, s.Name)
		if strings.HasPrefix(s.Name, "_Z") {
			b, err := exec.Command("c++filt", "-p", s.Name).Output()
			if err != nil {
				t.Fatal(err)
			}
			o.plain = strings.TrimSpace(string(b))
		}
		o.size = max(o.size, s.Size)
	}
	return im
}

// at returns the function that an address lies in, nil if there is none.
func (im *oracleImage) at(addr uint64) *oracleSymbol {
	if im == nil {
		return nil
	}
	for _, s := range im.symbols {
		if addr >= s.value && addr < s.value+s.size {
			return s
		}
	}
	return nil
}

// within tells whether an address, as the file has it, lies in a function.
func (im *oracleImage) within(value uint64) bool { return im.at(value+im.bias) != nil }

// named returns the functions of that name.
func (im *oracleImage) named(name string) (out []*oracleSymbol) {
	for _, s := range im.symbols {
		for _, n := range s.names {
			if n == name {
				out = append(out, s)
				break
			}
		}
	}
	return out
}
