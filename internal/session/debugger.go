package session

import (
	"debug/elf"
	"slices"
)

// debuggers remembers which programs trace others, by path.
//
// A process has one tracer. What a debugger or strace creates has to be theirs, and asks for it
// (PTRACE_TRACEME) natively where nobody stops it for us: it runs untraced from its creation. A program is taken for one that
// traces if its executable imports ptrace. Refused: a stop at each system call of everything
// that is followed, to find those that ask by other ways (Go's debuggers do); a program that asks in the code cache is
// detached then, natively it is told that it is traced already.
type debuggers map[string]bool

// is tells whether the program at a path traces others. What cannot be read does not.
func (d debuggers) is(path string) bool {
	known, ok := d[path]
	if !ok {
		known = importsPtrace(path)
		d[path] = known
	}
	return known
}

func importsPtrace(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.ImportedSymbols()
	return err == nil && slices.ContainsFunc(names, func(s elf.ImportedSymbol) bool { return s.Name == "ptrace" })
}
