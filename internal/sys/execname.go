package sys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

const (
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

// errStart is what a stack gives that is not as the kernel leaves it for a program.
var errStart = errors.New("what its program was started with cannot be read from its stack")

// A stack is read at once as far as most programs' words and environment go, and then as far as large ones' do.
const (
	mostStarts = 8 << 10
	allStarts  = 128 << 10
	userCode   = 0x33 // the segment of 64-bit code
)

// Started is the name that a process was executed by and its words, of one that stands in front of its program's first instruction and is traced by the calling thread. Both lie on its stack,
// which is two questions to the kernel, where ExecName and the file of its words take eleven. An error: they have to be asked for there. stack is where that begins (StackStart),
// 0 for a program of 32 bits.
func Started(pid int) (name string, words []string, stack uint64, err error) {
	var r Regs
	if err := GetRegs(pid, &r); err != nil {
		return "", nil, 0, err
	}
	if r.Cs != userCode {
		return "", nil, 0, errStart
	}
	var few [mostStarts]byte
	name, words, whole, err := readStart(pid, r.Rsp, few[:])
	if errors.Is(err, errStart) && !whole {
		name, words, _, err = readStart(pid, r.Rsp, make([]byte, allStarts))
	}
	return name, words, r.Rsp, err
}

// readStart reads a stack into b, and tells whether that is all of it.
func readStart(pid int, sp uint64, b []byte) (name string, words []string, whole bool, err error) {
	n, err := readvShort(pid, sp, b)
	if err != nil {
		return "", nil, false, fmt.Errorf("stack of process %d: %w", pid, err)
	}
	whole = n < len(b)
	name, words, ok := parseStart(b[:n], sp)
	if !ok {
		err = errStart
	}
	return name, words, whole, err
}

// parseStart takes apart what lies on a stack from at on: a number of words and where each is, the environment likewise up to a zero, what the kernel tells in pairs up to
// one, and behind that the texts.
func parseStart(stack []byte, at uint64) (name string, words []string, ok bool) {
	next := uint64(0)
	take := func() (word uint64) {
		if ok = next+8 <= uint64(len(stack)); ok {
			word = binary.LittleEndian.Uint64(stack[next:])
			next += 8
		}
		return word
	}
	text := func(addr uint64) (s string) {
		ok = false
		if addr >= at && addr-at < uint64(len(stack)) {
			b := stack[addr-at:]
			if n := bytes.IndexByte(b, 0); n >= 0 {
				s, ok = string(b[:n]), true
			}
		}
		return s
	}
	for n := take(); n > 0 && ok; n-- {
		if word := take(); ok {
			words = append(words, text(word))
		}
	}
	if !ok || take() != 0 || !ok {
		return "", nil, false
	}
	for take() != 0 { // the environment
	}
	for ok {
		switch key, value := take(), take(); key {
		case 0:
			return "", nil, false
		case atExecFn:
			if name = text(value); ok {
				return name, words, true
			}
		}
	}
	return "", nil, false
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
