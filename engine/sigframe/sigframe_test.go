package sigframe

import (
	"encoding/binary"
	"io"
	"testing"
)

// memory is an application's, which begins at base.
type memory []byte

const base, frame = 0x7000, 0x7010

func (m memory) ReadAt(b []byte, at int64) (int, error) {
	if at < base || int(at-base)+len(b) > len(m) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(b, m[at-base:]), nil
}

func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at-base:], b), nil }

// set puts a word of the ucontext at its offset as the kernel's headers have it: uc_flags, uc_link and uc_stack lie in front of the registers.
func (m memory) set(register int, v uint64) {
	binary.LittleEndian.PutUint64(m[frame-base+40+8*register:], v)
}

func (m memory) get(register int) uint64 {
	return binary.LittleEndian.Uint64(m[frame-base+40+8*register:])
}

// Registers of struct sigcontext, in its order: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags, cs with the other segments, err, trapno, oldmask, cr2, fpstate.
const (
	rsp, rip, eflags, segments, errorCode, fpstate = 15, 16, 17, 18, 19, 23

	trap = 0x100
)

func TestReturn(t *testing.T) {
	m := make(memory, 0x400)
	m.set(rsp, 0x7fff0000)
	m.set(rip, 0x401000)
	m.set(eflags, 0x246)
	m.set(segments, 0x2b0000000000_0033)
	f, ok := Read(m, frame)
	if !ok || f.Rsp() != 0x7fff0000 || f.Rip() != 0x401000 || f.Flags() != 0x246 || f.CS() != 0x33 {
		t.Errorf("read %t: to %#x with stack %#x, flags %#x, segment %#x", ok, f.Rip(), f.Rsp(), f.Flags(), f.CS())
	}
	var dst [len(f)]byte
	f.Copy(dst[:], 0x999000)
	g := Frame(dst)
	if g.Rip() != 0x999000 || g.Rsp() != f.Rsp() || f.Rip() != 0x401000 || m.get(rip) != 0x401000 {
		t.Errorf("the copy returns to %#x, the application's frame to %#x", g.Rip(), m.get(rip))
	}
	if _, ok := Read(m, base+uint64(len(m))-8); ok {
		t.Error("there is a frame where no memory is")
	}
}

func TestClean(t *testing.T) {
	m := make(memory, 0x400)
	m.set(eflags, 0x246|trap)
	m.set(fpstate, 0x7200)
	if at, ok := Clean(m, frame, 0); !ok || at != 0x7208 || m.get(eflags) != 0x246|trap {
		t.Errorf("the program's own trap flag: flags %#x, the pointer at %#x (%t)", m.get(eflags), at, ok)
	}
	if Clean(m, frame, trap); m.get(eflags) != 0x246 {
		t.Errorf("the step's trap flag: flags %#x", m.get(eflags))
	}
	m.set(fpstate, 0)
	if _, ok := Clean(m, frame, trap); ok {
		t.Error("there is a pointer where no state was saved")
	}
	if _, ok := Clean(m, 0, trap); ok {
		t.Error("there is a pointer where no frame is")
	}
}

func TestOfWrite(t *testing.T) {
	m := make(memory, 0x400)
	m.set(errorCode+1, 13)
	if OfWrite(m, frame); m.get(errorCode) != 0 {
		t.Errorf("error code %d, want 0: no page's fault", m.get(errorCode))
	}
	m.set(errorCode, 4)
	m.set(errorCode+1, 14)
	if OfWrite(m, frame); m.get(errorCode) != 6 {
		t.Errorf("error code %d, want 6: a write by the program", m.get(errorCode))
	}
	OfWrite(m, 0)
}
