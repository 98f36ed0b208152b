// Package executables finds out which file a process executes, without asking the kernel's file of that process where that can be done.
//
// A link of /proc/PID is made for whoever reads it: the folder of the process, the link in it, and at the process's end somebody has to look for both. That is a third of what a compiler costs
// that is followed and nothing else. The name that a program was executed by lies on its stack, which is read anyway. So the first process that was executed by a name is asked for its link, and if that leads to the file that the name leads to,
// both are remembered with the file's identity. Of the next one by that name the name's identity is asked for, and the file's first bytes are compared with
// those that are mapped in the process: behind another root, or in another mount namespace, the name may lead elsewhere.
//
// Who has the same file at the same name behind another root is told to execute the one here. A configuration that chooses processes by their path asks for links therefore (Files.Ask).
// Scripts, names that are relative, and programs whose stack cannot be read are asked for theirs each time.
//
// The run of a recording asks it when a program has been executed; only the tracer's goroutine uses it.
package executables

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"alleria/internal/sys"
)

// Files remembers what was found. The zero value knows nothing.
type Files struct {
	// Ask has every process be asked for its link.
	Ask    bool
	byName map[string]file
}

// file is one that a name leads to.
type file struct {
	id   sys.FileID
	path string
	head []byte // its first bytes
}

// Program is what decides which files are mapped in a process when it has started: its executable, and what the dynamic linker is told by the environment. The zero value: it is not known.
type Program struct {
	File   sys.FileID
	Loader string
}

// most is how many names are remembered, and headSize how many bytes are compared: headers, the interpreter's name and the build's number, as linkers lay them out.
const most, headSize = 1000, 1024

// Of is the path of what a process executes that stands in front of its program's first instruction, "" if it cannot be read. exe reads its link.
func (f *Files) Of(pid int, start *sys.Start, exe func(pid int) string) (string, Program) {
	if f.Ask || !filepath.IsAbs(start.Name) || start.Headers == 0 {
		return exe(pid), Program{}
	}
	id, err := sys.Identify(start.Name)
	if err != nil {
		return exe(pid), Program{}
	}
	known, ok := f.byName[start.Name]
	if ok && known.id == id && known.mapped(pid, start.Headers) {
		return known.path, programOf(id, start)
	}
	path := exe(pid)
	if other, err := sys.Identify(path); err != nil || other != id {
		return path, Program{}
	}
	known = file{id: id, path: path, head: headOf(path)}
	if known.head == nil || !known.mapped(pid, start.Headers) {
		return path, Program{}
	}
	if f.byName == nil || len(f.byName) >= most {
		f.byName = make(map[string]file)
	}
	f.byName[start.Name] = known
	return path, programOf(id, start)
}

// programOf is what a file is with an environment. The order of variables counts for nothing.
func programOf(id sys.FileID, start *sys.Start) Program {
	return Program{File: id, Loader: strings.Join(slices.Sorted(slices.Values(start.Loader)), "\x00")}
}

// headOf is the first bytes of a file, nil if they are not those of a program.
func headOf(path string) []byte {
	f, err := sys.OpenPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, headSize)
	if n, err := f.ReadAt(b, 0); n < headSize || err != nil || string(b[:4]) != "\x7fELF" {
		return nil
	}
	return b
}

// mapped tells whether a process whose program headers lie at an address has the file's first bytes where these belong. Who has mapped them elsewhere has not.
func (f *file) mapped(pid int, headers uint64) bool {
	const offset = 32 // of the word that says where the headers are in the file
	var b [headSize]byte
	n, err := sys.ReadMemory(pid, headers-binary.LittleEndian.Uint64(f.head[offset:]), b[:])
	return err == nil && n == headSize && bytes.Equal(b[:], f.head)
}
