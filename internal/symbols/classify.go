package symbols

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	// maxScripts is how many scripts the kernel goes through to get to a
	// program: measured, as the comment beside its counter says one less.
	maxScripts = 5
	// scriptLine is how much of a script's first line the kernel reads
	// (BINPRM_BUF_SIZE).
	scriptLine = 256
)

// Program is what Classify finds out about a file that can be run.
type Program struct {
	Path    string   // the ELF file that the kernel will load in the end
	Scripts []Script // how it gets there from the file given, empty for a program
	Interp  string   // the dynamic loader, empty for a static program
	PIE     bool     // loaded where the kernel likes
	BuildID string
}

// Script is one #! line.
type Script struct {
	Path        string // of the script itself
	Interpreter string // what its line names
	Argument    string // all that follows the interpreter, one argument to the kernel
}

// Classify finds out whether the file at path can be run and traced, by the
// checks that execve makes and in their order, without running anything. It does
// not search PATH. The error is a *ProgramError that wraps one of the Err
// variables; for ErrPrivileged the program is filled in nevertheless, since it
// can be run, only not traced.
//
// What it says holds for the moment: the file may change before it is executed, and
// execve then has the last word.
func Classify(path string) (Program, error) {
	// The loop is the kernel's: each round is a file that binfmt_script replaces by
	// its interpreter, until one is a program or the count is exceeded.
	var p Program
	for at := path; ; {
		if err := checkFile(at); err != nil {
			return p, wrapScript(p, err)
		}
		head, err := readHead(at)
		if err != nil {
			return p, err
		}
		if !bytes.HasPrefix(head, []byte("#!")) {
			p.Path = at
			return p, p.classifyELF(at, head)
		}
		s, err := parseScript(at, head)
		if err != nil {
			return p, err
		}
		if len(p.Scripts) == maxScripts {
			return p, &ProgramError{path, ErrScriptDepth, fmt.Sprintf("the kernel follows at most %d, name the program itself in the #! line", maxScripts)}
		}
		p.Scripts = append(p.Scripts, s)
		at = s.Interpreter
	}
}

// wrapScript turns what is wrong with an interpreter into what is wrong with the
// script: execve reports a missing interpreter as if the script were missing,
// which has misled everybody once.
func wrapScript(p Program, err error) error {
	if len(p.Scripts) == 0 || !errors.Is(err, ErrNotFound) {
		return err
	}
	s := p.Scripts[len(p.Scripts)-1]
	reason := fmt.Errorf("%w: its first line names %s, which does not exist", ErrNoInterpreter, s.Interpreter)
	if strings.HasSuffix(s.Interpreter, "\r") {
		reason = fmt.Errorf("%w: its first line ends in a carriage return, which counts as part of the name", ErrNoInterpreter)
	}
	return &ProgramError{s.Path, reason, "name an interpreter that is installed"}
}

// checkFile makes the checks that need no look inside.
func checkFile(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		advice := "give the path of a program, or a name that is in PATH"
		if target, lerr := os.Readlink(path); lerr == nil {
			advice = fmt.Sprintf("it is a link to %s, which is missing", target)
		}
		return &ProgramError{path, ErrNotFound, advice}
	case errors.Is(err, fs.ErrPermission):
		return &ProgramError{path, fmt.Errorf("%w: a directory on the way may not be searched", ErrPermission), "ask for access to the directory"}
	case err != nil:
		return &ProgramError{path, fmt.Errorf("%w: %w", ErrNotExecutable, err), "give the path of a program"}
	case st.IsDir():
		return &ProgramError{path, ErrDirectory, "give the path of a program inside of it"}
	case !st.Mode().IsRegular():
		return &ProgramError{path, fmt.Errorf("%w: not a regular file", ErrNotExecutable), "give the path of a program"}
	}
	// access, not the mode bits: it knows ACLs, noexec mounts and what root may.
	const xOK = 1
	if err := syscall.Access(path, xOK); err != nil {
		if st.Mode()&0o111 != 0 && os.Geteuid() == 0 {
			return &ProgramError{path, fmt.Errorf("%w: its file system is mounted noexec", ErrPermission), "copy it to another file system"}
		}
		return &ProgramError{path, ErrPermission, "chmod +x makes it executable"}
	}
	return nil
}

// readHead reads what execve looks at. A program without read permission can be
// run but not traced: its memory is as secret as its file.
// The kernel marks the memory of such a process as not dumpable (would_dump in
// fs/exec.c), which denies ptrace to everybody but root.
func readHead(path string) ([]byte, error) {
	// Also the kernel's reason to hide such a program from ptrace.
	f, err := os.Open(path)
	if err != nil {
		return nil, &ProgramError{path, fmt.Errorf("%w to read it, which tracing needs", ErrPermission), "chmod +r makes it readable"}
	}
	defer f.Close()
	b := make([]byte, scriptLine)
	n, err := f.ReadAt(b, 0)
	if n == 0 {
		reason := fmt.Errorf("%w: the file is empty", ErrNotExecutable)
		if st, serr := f.Stat(); serr == nil && st.Size() > 0 {
			reason = fmt.Errorf("%w: %w", ErrNotExecutable, err)
		}
		return nil, &ProgramError{path, reason, "give an ELF program or a script that starts with #!"}
	}
	return b[:n], nil
}

// parseScript takes a #! line apart as binfmt_script does: the interpreter is
// the first word, all the rest is one argument, blanks around both are dropped.
func parseScript(path string, head []byte) (Script, error) {
	// What follows is cut to the kernel's buffer already, by how much was read.
	line, _, whole := bytes.Cut(head[2:], []byte{'\n'})
	text := strings.Trim(string(line), " \t")
	name, argument := text, ""
	if at := strings.IndexAny(text, " \t\x00"); at >= 0 {
		name, argument = text[:at], strings.Trim(text[at:], " \t\x00")
	} else if !whole && len(head) == scriptLine {
		// Cut off in the middle of the name the kernel does not guess either.
		return Script{}, &ProgramError{path, fmt.Errorf("%w: its #! line is longer than %d bytes", ErrNotExecutable, scriptLine), "use a shorter path"}
	}
	if name == "" {
		return Script{}, &ProgramError{path, fmt.Errorf("%w: its #! line names no interpreter", ErrNotExecutable), "write the interpreter's path behind the #!"}
	}
	return Script{Path: path, Interpreter: name, Argument: argument}, nil
}

// classifyELF judges the file that the kernel would map.
func (p *Program) classifyELF(path string, head []byte) error {
	if err := checkIdent(head); err != nil {
		return &ProgramError{path, err, adviceFor(err, head)}
	}
	// Everything else about the file needs its program headers. No fetcher: a
	// judgement must not wait for the network.
	im, err := OpenWith(path, Options{})
	if err != nil {
		return &ProgramError{path, fmt.Errorf("%w: damaged headers", ErrNotExecutable), "build or copy it again"}
	}
	defer im.Close()
	p.Interp, p.PIE, p.BuildID = im.Interp, im.PIE, im.BuildID
	const build = "link it into a program"
	switch {
	case im.Type == elf.ET_REL:
		return &ProgramError{path, fmt.Errorf("%w: an object file", ErrNotExecutable), build}
	case im.Type == elf.ET_CORE:
		return &ProgramError{path, fmt.Errorf("%w: a core dump", ErrNotExecutable), "give the program that it is of"}
	case im.Type != elf.ET_EXEC && im.Type != elf.ET_DYN:
		return &ProgramError{path, fmt.Errorf("%w: ELF file of unknown type %d", ErrNotExecutable, im.Type), "give a program"}
	// A library from an old linker has an entry point, runs and crashes, as it
	// would without a tracer; the C library and the loader run on purpose.
	case im.Type == elf.ET_DYN && im.Entry == 0:
		return &ProgramError{path, fmt.Errorf("%w: a shared library", ErrNotExecutable), "give a program that uses it"}
	case len(im.Segments) == 0:
		return &ProgramError{path, fmt.Errorf("%w: it has nothing to load", ErrNotExecutable), "give a program, not its debug file"}
	case !im.executable(im.Entry):
		return &ProgramError{path, fmt.Errorf("%w: its entry point is not in its code", ErrNotExecutable), "build or copy it again"}
	}
	// The kernel reports this as if the program itself were missing.
	if im.Interp != "" {
		if _, err := os.Stat(im.Interp); err != nil {
			reason := fmt.Errorf("%w: it asks for the dynamic loader %s, which does not exist", ErrNoInterpreter, im.Interp)
			return &ProgramError{path, reason, "install the C library that it was built for, or link it statically"}
		}
	}
	return checkPrivileges(path)
}

// adviceFor says what would be right instead of a file that is no program here.
func adviceFor(err error, head []byte) string {
	switch {
	case errors.Is(err, Err32Bit):
		return "build it for x86-64 (without -m32 or -mx32)"
	case errors.Is(err, ErrForeign):
		return "build it for x86-64"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "it is a Windows program, give one for Linux"
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return "build or copy it again"
	case !bytes.ContainsRune(head, 0):
		return "if it is a script, its first line must be #! and the path of an interpreter"
	}
	return "give an ELF program or a script that starts with #!"
}

// checkPrivileges refuses what the kernel would not let a tracer have: it would
// silently run without its privileges and behave differently. The bits are judged
// alone, whoever owns the file and whoever asks, so that the answer does not
// depend on the user.
func checkPrivileges(path string) error {
	const advice = "it runs untraced; copy it without that to trace it with your own rights"
	st, err := os.Stat(path)
	if err != nil {
		return &ProgramError{path, ErrNotFound, "it vanished while being looked at"}
	}
	switch mode := st.Mode(); {
	case mode&fs.ModeSetuid != 0:
		return &ProgramError{path, fmt.Errorf("%w: setuid", ErrPrivileged), advice}
	// Setgid without execute permission for the group is the old mark of
	// mandatory locking and gives no group.
	case mode&fs.ModeSetgid != 0 && mode&0o010 != 0:
		return &ProgramError{path, fmt.Errorf("%w: setgid", ErrPrivileged), advice}
	}
	if n, err := syscall.Getxattr(path, "security.capability", nil); err == nil && n > 0 {
		return &ProgramError{path, fmt.Errorf("%w: file capabilities", ErrPrivileged), advice}
	}
	return nil
}
