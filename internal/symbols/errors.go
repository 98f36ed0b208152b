package symbols

import (
	"errors"
	"fmt"
)

// What can be wrong with a file that somebody wants to run. A ProgramError
// wraps exactly one of them; a shell's exit status is 127 for ErrNotFound and
// 126 for the rest, which is left to the caller.
var (
	ErrNotFound  = errors.New("not found")
	ErrDirectory = errors.New("is a directory")
	// ErrPermission: to execute it, or to read it, which tracing needs as well.
	ErrPermission = errors.New("no execute permission")
	// Err32Bit: i386 and x32. The processor would run them, but decoding and
	// the layout of everything shared are for 64-bit code.
	Err32Bit   = errors.New("a 32-bit program")
	ErrForeign = errors.New("a program for another architecture")
	// ErrPrivileged: setuid, setgid or file capabilities. The program can run,
	// only not traced.
	ErrPrivileged = errors.New("a program that gains privileges")
	// ErrNoInterpreter: of a script, or the dynamic loader of a program.
	ErrNoInterpreter = errors.New("the interpreter is missing")
	ErrScriptDepth   = errors.New("too many nested script interpreters")
	// ErrNotExecutable: anything else that execve answers with ENOEXEC, and
	// ELF files that aren't programs.
	ErrNotExecutable = errors.New("not an executable format")
)

// ProgramError says why a file cannot be traced and what could be.
type ProgramError struct {
	Path   string // of the file that is meant, a script's interpreter maybe
	Reason error  // one of the Err variables, possibly wrapped
	Advice string // what would be right
}

// Error is one sentence: what is wrong; what would be right.
func (e *ProgramError) Error() string {
	return fmt.Sprintf("%s: %v; %s", e.Path, e.Reason, e.Advice)
}

// Unwrap lets errors.Is find the reason.
func (e *ProgramError) Unwrap() error { return e.Reason }
