package sys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

const (
	atHeaders  = 3    // AT_PHDR: where the program headers are
	atExecFn   = 31   // AT_EXECFN: where the name is that execve was given
	mostExecFn = 4096 // PATH_MAX, with the zero at its end
)

// ExecName is the name that a process's program was executed by: the path as execve was
// given it, links and all, and the script's where the kernel runs that by an interpreter,
// neither of which /proc/PID/exe tells. It may be relative to what the working directory was.
//
// It lies in the process's own memory, which the program may have changed meanwhile: right
// after execve it has not. The caller must be allowed to trace the process.
func ExecName(pid int) (string, error) {
	auxv, err := readProc(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return "", fmt.Errorf("name that process %d was executed by: %w", pid, err)
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == atExecFn {
			return stringAt(pid, binary.LittleEndian.Uint64(auxv[8:]))
		}
	}
	return "", fmt.Errorf("name that process %d was executed by: not among what the kernel told it", pid)
}

// Executable is the path of what a process executes, "" if that cannot be read.
func Executable(pid int) string {
	name := fmt.Sprintf("/proc/%d/exe", pid)
	var b [256]byte
	n, err := readlinkShort(name, b[:])
	if err == nil && n < len(b) {
		return string(b[:n])
	}
	path, _ := os.Readlink(name) // a longer one
	return path
}

// CommandName is the name by which the kernel lists a process, which whoever may see the process may read: its program's, up to its 15th character, unless that has changed it.
func CommandName(pid int) string {
	b, err := readProc(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || len(b) < 2 {
		return "?"
	}
	return string(bytes.TrimSuffix(b, []byte("\n")))
}

// errStart is what a stack gives that is not as the kernel leaves it for a program.
var errStart = errors.New("what its program was started with cannot be read from its stack")

// A stack is read at once as far as most programs' words and environment go, and then as far as large ones' do.
const (
	mostStarts = 8 << 10
	allStarts  = 128 << 10
	userCode   = 0x33 // the segment of 64-bit code
)

// Start is what a program was started with, as the kernel has left it on its stack.
type Start struct {
	Name    string   // that it was executed by, as execve was given it
	Words   []string // its arguments, the first of which is its own name for itself
	Loader  []string // what its environment tells the dynamic linker: each variable that begins with LD_
	Headers uint64   // where its program headers lie in memory; 0: the kernel has not said
	Stack   uint64   // where the stack begins (StackStart); 0 for a program of 32 bits
}

// Started is what a process was started with that stands in front of its program's first instruction and is traced by the calling thread. All of it lies on its stack,
// which is two questions to the kernel, where ExecName and the file of its words take eleven. An error: they have to be asked for there; Stack is known then, too.
func Started(pid int) (Start, error) {
	var r Regs
	if err := GetRegs(pid, &r); err != nil {
		return Start{}, err
	}
	if r.Cs != userCode {
		return Start{}, errStart
	}
	var few [mostStarts]byte
	s, whole, err := readStart(pid, r.Rsp, few[:])
	if errors.Is(err, errStart) && !whole {
		s, _, err = readStart(pid, r.Rsp, make([]byte, allStarts))
	}
	s.Stack = r.Rsp
	return s, err
}

// readStart reads a stack into b, and tells whether that is all of it.
func readStart(pid int, sp uint64, b []byte) (s Start, whole bool, err error) {
	n, err := readvShort(pid, sp, b)
	if err != nil {
		return s, false, fmt.Errorf("stack of process %d: %w", pid, err)
	}
	whole = n < len(b)
	s, ok := parseStart(b[:n], sp)
	if !ok {
		err = errStart
	}
	return s, whole, err
}

// starting is a stack that is taken apart, which begins at an address.
type starting struct {
	stack []byte
	at    uint64
	next  uint64 // offset of the next word
	ok    bool   // all was there up to now
}

// take is the next word.
func (t *starting) take() (word uint64) {
	if t.ok = t.ok && t.next+8 <= uint64(len(t.stack)); t.ok {
		word = binary.LittleEndian.Uint64(t.stack[t.next:])
		t.next += 8
	}
	return word
}

// bytes is what lies at an address, up to a zero.
func (t *starting) bytes(addr uint64) []byte {
	if addr >= t.at && addr-t.at < uint64(len(t.stack)) {
		b := t.stack[addr-t.at:]
		if n := bytes.IndexByte(b, 0); n >= 0 {
			return b[:n]
		}
	}
	t.ok = false
	return nil
}

// parseStart takes apart what lies on a stack from at on: a number of words and where each is, the environment likewise up to a zero, what the kernel tells in pairs up to
// one, and behind that the texts.
func parseStart(stack []byte, at uint64) (s Start, ok bool) {
	t := starting{stack: stack, at: at, ok: true}
	for n := t.take(); n > 0 && t.ok; n-- {
		if word := t.take(); t.ok {
			s.Words = append(s.Words, string(t.bytes(word)))
		}
	}
	if t.take() != 0 || !t.ok {
		return Start{}, false
	}
	for word := t.take(); word != 0; word = t.take() {
		if b := t.bytes(word); bytes.HasPrefix(b, []byte("LD_")) {
			s.Loader = append(s.Loader, string(b))
		}
	}
	for t.ok {
		switch key, value := t.take(), t.take(); key {
		case 0:
			return Start{}, false
		case atHeaders:
			s.Headers = value
		case atExecFn:
			if s.Name = string(t.bytes(value)); t.ok {
				return s, true
			}
		}
	}
	return Start{}, false
}

// stringAt reads a text up to its zero from a process's memory.
func stringAt(pid int, addr uint64) (string, error) {
	mem, err := OpenPlain(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDONLY, 0)
	if err != nil {
		return "", fmt.Errorf("memory of process %d: %w", pid, err)
	}
	defer mem.Close()
	b := make([]byte, mostExecFn)
	n, err := mem.ReadAt(b, int64(addr)) // ends early where the stack does
	text, _, found := bytes.Cut(b[:n], []byte{0})
	if !found {
		return "", fmt.Errorf("text at %#x of process %d: %w", addr, pid, err)
	}
	return string(text), nil
}
