// Package sigframe is the frame on a thread's stack that the kernel writes for a signal's handler, and takes the registers from when the handler returns
// (struct rt_sigframe, arch/x86/include/asm/sigframe.h; the ucontext in it, arch/x86/include/uapi/asm/sigcontext.h).
//
// In a nutshell: Clean puts right what a step into the handler has left in a new frame, OfWrite has it tell of a write, and Read takes the frame of a return, of
// which Copy gives the one that the kernel is to take instead. The frame's layout is known nowhere else.
//
// Package engine calls it for a thread that is stopped or waits, with the process's memory. It keeps no state and asks nobody; a frame that is
// gone is no error: a program that reads one finds what it deserves.
package sigframe

import (
	"encoding/binary"
	"io"

	"alleria/internal/layout"
)

// Offsets in the ucontext.
const (
	regs      = 40
	offRsp    = regs + 15*8
	offRip    = regs + 16*8
	offFlags  = regs + 17*8
	offCS     = regs + 18*8
	offError  = regs + 19*8 // the page fault's error code
	offState  = regs + 23*8 // the pointer to the saved state of the x87,
	x87RIP    = 8           // whose instruction pointer is so far behind its start
	writeBit  = 2           // of the error code
	tail      = offState + 8 - offFlags
	frameSize = layout.SigFrameSize
)

// Memory is the application's.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// Frame is a frame's ucontext, of which the kernel reads nothing else but what it leads to.
type Frame [frameSize]byte

// Read reads the frame of a thread that is about to return from a handler, with its stack pointer at sp; false: there is none.
func Read(mem io.ReaderAt, sp uint64) (f Frame, ok bool) {
	_, err := mem.ReadAt(f[:], int64(sp))
	return f, err == nil
}

// Rip and Rsp are where the thread returns to, and Flags and CS what it has there.
func (f *Frame) Rip() uint64   { return f.word(offRip) }
func (f *Frame) Rsp() uint64   { return f.word(offRsp) }
func (f *Frame) Flags() uint64 { return f.word(offFlags) }
func (f *Frame) CS() uint16    { return uint16(f.word(offCS)) }

func (f *Frame) word(off int) uint64 { return binary.LittleEndian.Uint64(f[off:]) }

// Copy writes the frame to dst, with another address to return to.
func (f *Frame) Copy(dst []byte, rip uint64) {
	copy(dst, f[:])
	binary.LittleEndian.PutUint64(dst[offRip:], rip)
}

// Clean takes flags out of a new frame to whose ucontext rdx points: the kernel leaves the trap flag of a step there if the
// interrupted instruction is a popf or iret. It returns where the x87's instruction pointer lies, which may be that of a copy; false: nowhere.
func Clean(mem Memory, rdx, flags uint64) (pointer uint64, ok bool) {
	var b [tail]byte
	if _, err := mem.ReadAt(b[:], int64(rdx+offFlags)); err != nil {
		return 0, false
	}
	if f := binary.LittleEndian.Uint64(b[:]); f&flags != 0 {
		put(mem, rdx+offFlags, f&^flags)
	}
	state := binary.LittleEndian.Uint64(b[offState-offFlags:])
	return state + x87RIP, state != 0
}

// OfWrite makes a new frame tell of a write: the processor reports one
// for an instruction that reads and writes the same place, of which recording
// executes the read first. Only faults of pages have the bit: an address that is not canonical has none.
func OfWrite(mem Memory, rdx uint64) {
	const pageFault = 14
	var b [16]byte // the error code and the trap's number
	if _, err := mem.ReadAt(b[:], int64(rdx+offError)); err == nil && binary.LittleEndian.Uint64(b[8:]) == pageFault {
		put(mem, rdx+offError, binary.LittleEndian.Uint64(b[:])|writeBit)
	}
}

func put(mem io.WriterAt, addr, v uint64) {
	_, _ = mem.WriteAt(binary.LittleEndian.AppendUint64(nil, v), int64(addr))
}
