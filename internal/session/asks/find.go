package asks

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"alleria/engine/asking"
	"alleria/internal/sys"
)

// What makes one of the calls in a file:
//
//   - a system call with its number right in front of it: the C library's ptrace, which libraries, debuggers and what looks it up by name call, its clone and its setrlimit, the same in a static program, and
//     those that make the call themselves. Left out are calls that cannot be meant: clone with flags that are written down in front of it (fork), prlimit that sets none (getrlimit), and
//     clone3, which C libraries call for each thread, with flags of their own;
//   - a call of the C library's syscall(), or of Go's functions of that kind, with the number loaded a few instructions before;
//   - syscall() itself, of a C library, for what is traced: code there can look at any number. Who is followed has none of ours.
//
// The second kind is known by where the call leads, so that data or an instruction's middle is not taken for one. A number that is not written down where the call is (syscall() by
// ctypes, an interpreter) is found by the third alone, a call in a Go program without symbols not at all.

const (
	mostCode = 256 << 20 // of a file that is looked through
	window   = 64        // bytes between number and call
)

// The first byte of instructions that load a number: into edi and into eax.
const (
	cNumber  = '\xbf'
	goNumber = '\xb8'
)

// The code of a system call, what sets its first argument to zero, in front of that its third or its fourth, and the C library's syscall() from its beginning to the call.
const (
	syscallCode = "\x0f\x05"
	zeroFirst   = "\x31\xff"         // xor %edi,%edi
	noLimit     = "\x31\xd2\x89\xfe" // xor %edx,%edx; mov %edi,%esi
	noOld       = "\x45" + noLimit   // xor %r10d,%r10d; mov %edi,%esi
	cSyscall    = "\x48\x89\xf8\x48\x89\xf7\x48\x89\xd6\x48\x89\xca\x4d\x89\xc2\x4d\x89\xc8" + cLast
	cLast       = "\x4c\x8b\x4c\x24\x08\x0f\x05" // what asking.Any is
	endBranch   = "\xf3\x0f\x1e\xfa"
)

const direct = 5 // size of a call of an address

// image is a file that is looked through.
type image struct {
	*elf.File
	numbers []uint32 // of the calls that are looked for
	sites   []asking.Site
	slots   []uint64 // of dynamic links to syscall()
	heads   []uint64 // syscall() itself
}

// smallStatic is how large a static program may be for findLibrary.
const smallStatic = 4 << 20

// find looks through a file, if it is the one with that number.
func find(path string, inode uint64) found {
	return findIn(path, inode, asking.Numbers(), func(*elf.File) bool { return true })
}

// findLibrary is find for a C library and for a small static program. There is nothing in others.
func findLibrary(path string, inode uint64) found {
	return findIn(path, inode, asking.Numbers(), func(e *elf.File) bool {
		size, static := uint64(0), true
		for _, p := range e.Progs {
			static = static && p.Type != elf.PT_INTERP
			size += p.Filesz
		}
		name := soname(e)
		if static && size <= smallStatic && !strings.HasPrefix(name, "ld-linux") {
			return true // glibc's dynamic linker has no program interpreter either, and makes none of the calls but rt_sigaction
		}
		return isLibc(name)
	})
}

// soname is the name by which others link to a file, "" if it has none.
func soname(e *elf.File) string {
	if names, err := e.DynString(elf.DT_SONAME); err == nil && len(names) == 1 {
		return names[0]
	}
	return ""
}

// isLibc tells whether a file that others link to by a name is the C library.
func isLibc(name string) bool {
	return strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "libc.musl") || strings.HasPrefix(name, "ld-musl")
}

// findFills is find for the calls of userfaultfd alone.
func findFills(path string, inode uint64) found {
	return findIn(path, inode, []uint32{asking.Userfaultfd}, func(*elf.File) bool { return true })
}

// open opens an executable or a library, if it is the one with that inode.
func open(path string, inode uint64) (e *elf.File, done func() error, err error) {
	f, err := sys.OpenPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if sys.Inode(f) != inode {
		f.Close()
		return nil, nil, fmt.Errorf("%s is another file than the one that is mapped", path)
	}
	if e, err = elf.NewFile(f); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, f.Close, nil
}

// findIn looks through a file for calls with some numbers, if it is the one with that inode, and one that is wanted.
func findIn(path string, inode uint64, numbers []uint32, wanted func(*elf.File) bool) found {
	e, done, err := open(path, inode)
	if err != nil {
		return found{}
	}
	defer done()
	if e.Machine != elf.EM_X86_64 || !wanted(e) {
		return found{}
	}
	im := &image{File: e, numbers: numbers}
	var all found
	im.linked()
	var texts [][]byte
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || p.Filesz > mostCode {
			continue
		}
		code := make([]byte, p.Filesz)
		if _, err := io.ReadFull(p.Open(), code); err != nil {
			continue
		}
		all.loads = append(all.loads, p.ProgHeader)
		texts = append(texts, code)
		im.ownSyscall(code, p.Vaddr)
	}
	for i, code := range texts {
		im.look(code, all.loads[i].Vaddr)
	}
	all.sites = im.sites
	return all
}

// linked finds the slots of dynamic links to syscall().
func (im *image) linked() {
	syms, err := im.DynamicSymbols()
	if err != nil {
		return
	}
	for _, s := range im.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		table, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(table) >= 24; table = table[24:] {
			info := binary.LittleEndian.Uint64(table[8:])
			n, kind := int(info>>32), elf.R_X86_64(uint32(info))
			if n == 0 || n > len(syms) || kind != elf.R_X86_64_JMP_SLOT && kind != elf.R_X86_64_GLOB_DAT {
				continue
			}
			if syms[n-1].Name == "syscall" {
				im.slots = append(im.slots, binary.LittleEndian.Uint64(table))
			}
		}
	}
}

// ownSyscall finds syscall() in a static program, or in the C library itself.
func (im *image) ownSyscall(code []byte, at uint64) {
	each(code, cSyscall, func(n int) {
		im.heads = append(im.heads, at+uint64(n))
		if slices.Contains(im.numbers, asking.Sigaction) {
			im.sites = append(im.sites, asking.Site{At: at + uint64(n+len(cSyscall)-len(cLast)), Call: asking.Sigaction, Kind: asking.Any})
		}
		if n >= len(endBranch) && string(code[n-len(endBranch):n]) == endBranch {
			im.heads = append(im.heads, at+uint64(n-len(endBranch)))
		}
	})
}

// look finds the sites in code that begins at an address.
func (im *image) look(code []byte, at uint64) {
	each(code, syscallCode, func(n int) {
		if site, ok := numberIn(code[:n]); ok && slices.Contains(im.numbers, site.Call) {
			site.At += at
			im.sites = append(im.sites, site)
		}
	})
	if len(im.slots)+len(im.heads) > 0 {
		im.calls(code, at, cNumber, asking.C, func(to uint64) bool {
			return slices.Contains(im.heads, to) || im.leadsToSlot(code, at, to)
		})
	}
	if im.Section(".gopclntab") != nil {
		im.goCalls(code, at)
	}
}

// numberIn is the site in front of a system call, in the code that comes before it, from whose beginning its address counts.
func numberIn(code []byte) (site asking.Site, ok bool) {
	if bytes.HasSuffix(code, []byte(zeroFirst)) {
		code, site.Zeroed = code[:len(code)-len(zeroFirst)], true
	}
	n := len(code) - direct
	if n < 0 || code[n] != goNumber || n > 0 && code[n-1]&0xf0 == 0x40 { // another register's number
		return site, false
	}
	site.At, site.Call = uint64(n), binary.LittleEndian.Uint32(code[n+1:])
	switch site.Call {
	case asking.Ptrace, asking.Mlockall, asking.Setrlimit, asking.Userfaultfd, asking.Sigaction, asking.Prctl, asking.Seccomp:
		return site, true
	case asking.Prlimit:
		return site, !bytes.HasSuffix(code[:n], []byte(noLimit)) || bytes.HasSuffix(code[:n], []byte(noOld))
	case asking.Clone:
		return site, !site.Zeroed && !setsFlags(code[max(0, n-window/2):n])
	}
	return site, false
}

// setsFlags tells whether code loads edi with flags of clone that do not keep anything from us.
func setsFlags(code []byte) bool {
	n := bytes.LastIndexByte(code, cNumber)
	return n >= 0 && n+direct <= len(code) && (n == 0 || code[n-1]&0xf0 != 0x40) && binary.LittleEndian.Uint32(code[n+1:])&asking.Untraced == 0
}

// calls finds calls of functions behind a number that is loaded, by an instruction with that opcode.
func (im *image) calls(code []byte, at uint64, opcode byte, kind asking.Kind, leads func(to uint64) bool) {
	for _, number := range im.numbers {
		if s := (asking.Site{Call: number}); s.Noted() { // nothing is done there
			continue
		}
		im.callsOf(number, code, at, opcode, kind, leads)
	}
}

func (im *image) callsOf(number uint32, code []byte, at uint64, opcode byte, kind asking.Kind, leads func(to uint64) bool) {
	load := binary.LittleEndian.AppendUint32([]byte{opcode}, number)
	each(code, string(load), func(n int) {
		for i := n + len(load); i < min(n+window, len(code)-direct-1); i++ {
			site := asking.Site{At: at + uint64(i), Call: number, Kind: kind}
			switch {
			case code[i] == 0xe8:
				site.To = relative(code[i+1:], site.At+direct)
			case code[i] == 0xff && code[i+1] == 0x15:
				site.To, site.Slot = relative(code[i+2:], site.At+direct+1), true
			default:
				continue
			}
			if site.Slot && kind == asking.C && slices.Contains(im.slots, site.To) || !site.Slot && leads(site.To) {
				im.sites = append(im.sites, site)
				return
			}
		}
	})
}

// leadsToSlot tells whether what lies at an address jumps through a slot of syscall(), as what linkers make for calls does.
func (im *image) leadsToSlot(code []byte, at, to uint64) bool {
	if len(im.slots) == 0 || to < at || to+16 > at+uint64(len(code)) {
		return false
	}
	stub := code[to-at : to-at+16]
	n := bytes.Index(stub[:10], []byte("\xff\x25"))
	return n >= 0 && slices.Contains(im.slots, relative(stub[n+2:], to+uint64(n)+6))
}

// goCalls finds calls of Go's functions that make system calls.
func (im *image) goCalls(code []byte, at uint64) {
	var targets []uint64
	im.calls(code, at, goNumber, asking.Go, func(to uint64) bool {
		targets = append(targets, to)
		return false
	})
	if len(targets) == 0 {
		return
	}
	named := im.named(targets)
	im.calls(code, at, goNumber, asking.Go, func(to uint64) bool { return slices.Contains(named, to) })
}

// named are those of some addresses at which a function of Go's lies that makes system calls. The table is read as it is: large programs have some 100,000 names.
func (im *image) named(at []uint64) (found []uint64) {
	table, names := im.Section(".symtab"), im.Section(".strtab")
	if table == nil || names == nil {
		return nil
	}
	symbols, err := table.Data()
	if err != nil {
		return nil
	}
	text, err := names.Data()
	if err != nil {
		return nil
	}
	for ; len(symbols) >= elf.Sym64Size; symbols = symbols[elf.Sym64Size:] {
		addr, name := binary.LittleEndian.Uint64(symbols[8:]), binary.LittleEndian.Uint32(symbols)
		if slices.Contains(at, addr) && int(name) < len(text) && isGoSyscall(text[name:]) {
			found = append(found, addr)
		}
	}
	return found
}

// isGoSyscall tells whether a name, with what follows it in the table, is of such a function, with the arguments in registers.
func isGoSyscall(name []byte) bool {
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	dot := bytes.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	switch string(name[:dot]) {
	case "syscall", "golang.org/x/sys/unix", "internal/runtime/syscall", "runtime/internal/syscall":
	default:
		return false
	}
	switch string(name[dot+1:]) {
	case "Syscall", "Syscall6", "RawSyscall", "RawSyscall6", "rawSyscallNoError":
		return true
	}
	return false
}

// relative is where an instruction leads that ends at an address, with its distance in front of that.
func relative(b []byte, end uint64) uint64 {
	return end + uint64(int64(int32(binary.LittleEndian.Uint32(b))))
}

// each calls f with each place where code has a sequence.
func each(code []byte, sequence string, f func(at int)) {
	for from := 0; ; {
		at := bytes.Index(code[from:], []byte(sequence))
		if at < 0 {
			return
		}
		f(from + at)
		from += at + len(sequence)
	}
}
