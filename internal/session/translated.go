package session

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"alleria/internal/symbols"
)

// A leak sanitizer stops the threads of its own process at the end, as a debugger would, from a child of which no tracer
// is told. A process with one stays in the code cache, where the child and what it asks for are seen, and the process is let
// go in time; natively it would be refused, and report an error of its own.

// Restartable sequences are refused in the code cache, where the kernel would not find them (engine/syscalls). A process that runs natively between
// windows is refused them at its start, when the C library asks; one that asks later, for itself, would have them by then, in threads that come into the cache
// with them, and its new threads would be refused what the others have (Google's tcmalloc ends the program then). So one with sequences of
// its own stays in the cache, where it never has any. One that has registered them before it was seen keeps them, and runs natively where it can: in the cache they are not
// restarted, which the user is told of.

// sequences is the section in which compilers and libraries (librseq, tcmalloc) collect a file's restartable sequences.
const sequences = "__rseq_cs"

// checksLeaks tells whether an image brings a leak sanitizer along: its library by the name, a program that it was
// linked into by what that exports, or lets the program define. Of most programs only the names of its symbols are read.
func checksLeaks(path string, program bool) bool {
	base := filepath.Base(path)
	if strings.Contains(base, "libasan.so") || strings.Contains(base, "liblsan.so") || strings.Contains(base, "libclang_rt.") {
		return true
	}
	if !program {
		return false
	}
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	s := f.Section(".dynstr")
	if s == nil {
		return false
	}
	if !holds(s.Open(), []byte("__lsan_")) {
		return false
	}
	names, err := f.DynamicSymbols()
	return err == nil && slices.ContainsFunc(names, func(s elf.Symbol) bool {
		return s.Name == "__lsan_is_turned_off" || s.Name == "__lsan_do_leak_check" && s.Section != elf.SHN_UNDEF
	})
}

// holds tells whether a text has some bytes. It is read through a small buffer: a compiler's names are megabytes, which would be memory to make first.
func holds(from io.Reader, what []byte) bool {
	buf, kept := make([]byte, 64<<10), 0
	for {
		n, err := from.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], what) {
			return true
		}
		if err != nil {
			return false
		}
		end := kept + n
		kept = copy(buf, buf[max(end-len(what)+1, 0):end])
	}
}

// tellOtherCode says that a process has executed 32-bit code, of which nothing is recorded.
func (ps *process) tellOtherCode(im *image) {
	stepped, unseen := im.p.OtherCode()
	switch {
	case unseen:
		ps.lack(fmt.Sprintf("process %d (%s) executed 32-bit code, which ran natively: nothing of it is recorded, nor of the 64-bit code that it led to until the next system call", ps.number, filepath.Base(ps.path)))
	case stepped > 0:
		ps.lack(fmt.Sprintf("process %d (%s) executed %s of 32-bit code, which are not recorded", ps.number, filepath.Base(ps.path), counted(stepped, "instruction", "instructions")))
	}
}

// keepTranslated keeps a process in the code cache that has loaded a leak sanitizer, or restartable sequences.
func (ps *process) keepTranslated(loaded []*symbols.Loaded) {
	for _, l := range loaded {
		own := l.Image.HasSection(sequences)
		if own && ps.image.p.HasSequences() {
			own = false
			ps.lack(fmt.Sprintf("process %d (%s) had restartable sequences of its own before it was traced: in the code cache they are not restarted, and may fail with several threads", ps.number, filepath.Base(ps.path)))
		}
		if own || checksLeaks(l.Path, l.Main) {
			ps.image.p.KeepTranslated()
		}
	}
}
