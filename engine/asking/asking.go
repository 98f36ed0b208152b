// Package asking is breakpoints where native code makes the few system calls that have to be known of.
//
// A process has one tracer. What a program traces has to be detached before its call of ptrace reaches the kernel. Of what clone creates with CLONE_UNTRACED nobody would hear, and
// it would run into breakpoints of ours. A limit of the address space would count what we have mapped, and who locks all of its memory would lock that. Native code's calls are seen by nobody: of those in the
// code cache package engine knows.
//
// In a nutshell: a Site is an instruction behind which nothing but one of these calls comes, or a call of the function that makes system calls, whose arguments are set by
// then. A Set is an int3 on each in one address space. Who runs into one is asked what for (Site.Request, Site.Args), and the tracer executes the instruction in its name (Site.Execute):
// the breakpoint stays, and is passed without a step.
//
// Which instructions of an image are sites the client knows. Package followed has a Set for each process that is followed; what is traced has its
// breakpoints among the engine's probes. Only the tracer's goroutine uses them, and what it makes no requests of ptrace.
//
// Refused: a stop at each system call, a hundred a process; a filter of system calls that stops at these (SECCOMP_RET_TRACE), which is inherited, cannot be taken out, and shows in
// /proc/PID/status, and without CAP_SYS_ADMIN needs no_new_privs, which sudo notices; debug registers, which are a thread's own and four, are not inherited,
// are set anew at each switch of threads, and are missed where a hypervisor lacks them.
package asking

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"

	"alleria/internal/sys"
)

// Memory is a process's.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// Kind is how a site's call has its arguments.
type Kind uint8

// The kinds.
const (
	Number Kind = iota // mov $NUMBER,%eax in front of syscall
	C                  // call of a C library's syscall()
	Go                 // call of a function of Go's package syscall
	Any                // a C library's syscall() itself: its last argument is loaded, the rest is in place, with the number in eax
)

// The numbers of the calls.
const (
	Clone     = 56
	Ptrace    = 101
	Mlockall  = 151
	Setrlimit = 160
	Prlimit   = 302
	Clone3    = 435
)

// Sigaction is the number of the call that says what is done with a signal. It has no breakpoints, since programs make it for most signals when they start: what a
// traced process asks for SIGTRAP its own code notes (package probe).
const Sigaction = 13

// Prctl and Seccomp are the numbers of the calls that install a filter of system calls, or have them turned into signals. They have no breakpoints either: behind one of these the code
// that captures makes no calls of its own, which the program's code says as it makes them (package probe).
const (
	Prctl   = 157
	Seccomp = 317
)

// Numbers are those of all.
func Numbers() []uint32 { return append(Stopping(), Sigaction, Prctl, Seccomp) }

// Noted tells whether a call has code of its own note it, and no breakpoint.
func (s *Site) Noted() bool { return s.Call == Sigaction || s.Limits() }

// Limits tells whether a call may limit what the process can call. What Any is has all of them.
func (s *Site) Limits() bool { return s.Call == Prctl || s.Call == Seccomp || s.Kind == Any }

// Stopping are those that are stopped at.
func Stopping() []uint32 { return []uint32{Clone, Ptrace, Mlockall, Setrlimit, Prlimit, Clone3} }

// ForFollowed tells whether a site's call has to be known of where nothing of ours is mapped and nothing is watched, as in a process that is followed and not recorded: limits and locks
// count nothing of ours there, and nothing of ours raises SIGTRAP.
func (s *Site) ForFollowed() bool {
	switch s.Call {
	case Mlockall, Setrlimit, Prlimit, Sigaction, Prctl, Seccomp:
		return false
	}
	return true
}

// Userfaultfd is the number of the call after which a program fills memory by itself. No breakpoints lie there: who makes it is to be known beforehand.
const Userfaultfd = 323

// Requests of ptrace that a process needs to be detached for.
const (
	TraceMe = 0
	Attach  = 16
	Seize   = 0x4206
)

// Untraced is the flag of clone that keeps what it creates from us.
const Untraced = 0x800000

const (
	shortSize = 5 // of an instruction with four bytes behind its opcode, and of Any's
	// lastArgument is where syscall() has its last argument, from the stack pointer.
	lastArgument = 8
	slotSize     = 6 // of a call through a slot
)

// Site is one instruction. Of a call To is where it leads, or, with Slot, where that stands.
type Site struct {
	At, To uint64
	Call   uint32 // the system call's number
	Kind   Kind
	Slot   bool
	// Zeroed: of a Number, edi is set to zero between it and the system call, as the C library does for prlimit.
	Zeroed bool
}

// code is what lies there, of a Number with what is behind it, by which it is known.
func (s *Site) code() []byte {
	switch {
	case s.Kind == Any:
		return []byte{0x4c, 0x8b, 0x4c, 0x24, lastArgument, 0x0f, 0x05} // mov 8(%rsp),%r9; syscall
	case s.Kind == Number:
		b := binary.LittleEndian.AppendUint32([]byte{0xb8}, s.Call)
		if s.Zeroed {
			b = append(b, 0x31, 0xff)
		}
		return append(b, 0x0f, 0x05)
	case s.Slot:
		return binary.LittleEndian.AppendUint32([]byte{0xff, 0x15}, uint32(s.To-s.At-slotSize))
	}
	return binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(s.To-s.At-shortSize))
}

// Load is the instruction of a Number that loads it, and what Any has in front of the call.
func (s *Site) Load() []byte { return s.code()[:shortSize] }

// Args are the first four arguments of the call that a thread in front of the site is about to make; false: it is another call.
func (s *Site) Args(r *sys.Regs) (args [4]uint64, ok bool) {
	switch s.Kind {
	case C:
		return [4]uint64{r.Rsi, r.Rdx, r.Rcx, r.R8}, uint32(r.Rdi) == s.Call
	case Go:
		return [4]uint64{r.Rbx, r.Rcx, r.Rdi, r.Rsi}, uint32(r.Rax) == s.Call
	}
	args = [4]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10}
	if s.Zeroed {
		args[0] = 0
	}
	return args, s.Kind != Any || uint32(r.Rax) == s.Call
}

// Request is what ptrace is about to be asked for by a thread in front of the site, and of which thread; false: the call is another one.
func (s *Site) Request(r *sys.Regs) (what uint64, tid int, ok bool) {
	args, ok := s.Args(r)
	return args[0], int(int32(args[1])), ok && s.Call == Ptrace
}

// Registers are those of a thread as the call will find them that it makes behind the site, as far as its number and its first four arguments go.
func (s *Site) Registers(r *sys.Regs) (call sys.Regs, ok bool) {
	args, ok := s.Args(r)
	call = *r
	call.Rax, call.Rdi, call.Rsi, call.Rdx, call.R10 = uint64(s.Call), args[0], args[1], args[2], args[3]
	return call, ok
}

// TakeFlag takes Untraced out of the flags of clone that a thread in front of the site is about to call.
func (s *Site) TakeFlag(r *sys.Regs) {
	if args, ok := s.Args(r); !ok || s.Call != Clone || args[0]&Untraced == 0 {
		return
	}
	switch s.Kind {
	case C:
		r.Rsi &^= Untraced
	case Go:
		r.Rbx &^= Untraced
	default:
		r.Rdi &^= Untraced
	}
}

// Execute executes the instruction for a thread with these registers, which are those behind it then. A shadow stack of the thread's would not have the call.
func (s *Site) Execute(r *sys.Regs, mem Memory) error {
	var word [8]byte
	switch s.Kind {
	case Number:
		r.Rax, r.Rip = uint64(s.Call), s.At+shortSize
		return nil
	case Any:
		if _, err := mem.ReadAt(word[:], int64(r.Rsp+lastArgument)); err != nil {
			return fmt.Errorf("last argument of a system call: %w", err)
		}
		r.R9, r.Rip = binary.LittleEndian.Uint64(word[:]), s.At+shortSize
		return nil
	}
	to, behind := s.To, s.At+shortSize
	if s.Slot {
		behind = s.At + slotSize
		if _, err := mem.ReadAt(word[:], int64(s.To)); err != nil {
			return fmt.Errorf("function that makes system calls: %w", err)
		}
		to = binary.LittleEndian.Uint64(word[:])
	}
	binary.LittleEndian.PutUint64(word[:], behind)
	if _, err := mem.WriteAt(word[:], int64(r.Rsp-8)); err != nil {
		return fmt.Errorf("stack of a thread that makes a system call: %w", err)
	}
	r.Rsp, r.Rip = r.Rsp-8, to
	return nil
}

// int3 is what lies on a site.
const int3 = 0xcc

// Most is how many hits an address space has: a debugger asks thousands of times, and each is a stop. What it attaches to is known long before.
const Most = 256

// Set is the breakpoints of one address space. The zero value is none.
type Set struct {
	sites   map[uint64]Site
	removed map[uint64]Site // those that were there: a thread may have run into one just before
	hits    int
}

// Over tells whether there are to be no breakpoints any more.
func (s *Set) Over() bool { return s.hits >= Most }

// Copy is the set of a process that has a copy of the memory: with all of the breakpoints, or, if some may have been placed since the copy was made, with none until Place
// has looked which are there.
func (s *Set) Copy(whole bool) *Set {
	c := &Set{hits: s.hits}
	if whole {
		c.sites = maps.Clone(s.sites)
	}
	return c
}

// Sites are those that have a breakpoint.
func (s *Set) Sites() (all []Site) {
	for _, site := range s.sites {
		all = append(all, site)
	}
	return all
}

// Len is how many these are; of no set none.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.sites)
}

// Place puts breakpoints on those of the sites that have none. Where other code is than there should be none is put.
func (s *Set) Place(mem Memory, sites []Site) {
	if s.Over() {
		return
	}
	for _, site := range sites {
		if _, ok := s.sites[site.At]; ok || !place(mem, &site) {
			continue
		}
		if s.sites == nil {
			s.sites = make(map[uint64]Site)
		}
		s.sites[site.At] = site
	}
}

// Lies tells whether the instruction is there, without a breakpoint.
func (s *Site) Lies(mem Memory) bool {
	code := s.code()
	there := make([]byte, len(code))
	_, err := mem.ReadAt(there, int64(s.At))
	return err == nil && bytes.Equal(there, code)
}

func place(mem Memory, site *Site) bool {
	code := site.code()
	there := make([]byte, len(code))
	if _, err := mem.ReadAt(there, int64(site.At)); err != nil || !bytes.Equal(there[1:], code[1:]) {
		return false
	}
	switch there[0] {
	case int3: // a copy of memory that had it
		return true
	case code[0]:
		_, err := mem.WriteAt([]byte{int3}, int64(site.At))
		return err == nil
	}
	return false
}

// Hit is the site of the breakpoint that a thread has run into whose registers are these, and counts that; nil if it is none of the set. Enough tells
// that there are to be no more.
func (s *Set) Hit(r *sys.Regs) (hit *Site, enough bool) {
	site, ok := s.sites[r.Rip-1]
	if !ok {
		if site, ok = s.removed[r.Rip-1]; !ok {
			return nil, false
		}
	}
	s.hits++
	return &site, s.hits == Most
}

// Remove gives the code back. Breakpoints that are placed later are new ones.
func (s *Set) Remove(mem Memory) {
	Restore(mem, s.Sites())
	if s.removed == nil {
		s.removed = make(map[uint64]Site)
	}
	maps.Copy(s.removed, s.sites)
	clear(s.sites)
}

// Restore takes breakpoints out of memory that may have them.
func Restore(mem Memory, sites []Site) {
	for _, site := range sites {
		code := site.code()
		there := make([]byte, len(code))
		if _, err := mem.ReadAt(there, int64(site.At)); err == nil && there[0] == int3 && bytes.Equal(there[1:], code[1:]) {
			_, _ = mem.WriteAt(code[:1], int64(site.At)) // who cannot be written to is ending
		}
	}
}
