package sigframe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"alleria/internal/sys"
)

// A frame that the kernel has written says nearly all that the next one of the same signal depends on: the handler, its flags, its mask and the
// alternate stack. A Template is what was seen of one, and Build writes the next frame as the kernel would, so that the thread needs
// no stop at the handler's first instruction. It is for signals that come between two instructions or interrupt a system call, of threads whose masks are the same as they were. Whoever
// keeps one drops it when the program may have changed a disposition or the thread's alternate stack.

// Offsets in struct rt_sigframe, whose ucontext lies behind the address that the handler returns to; its siginfo is last.
const (
	context   = 8
	offStack  = context + 16 // uc_stack: pointer, flags, size
	stackSize = 24
	offRegs   = context + regs
	offMask   = context + regs + 32*8
	offInfo   = offMask + 8
	size      = offInfo + 128
	offFrame  = context + offState
	redZone   = 128

	raxInFrame = 13 // of the registers
	alignment  = 64

	stackDisabled = 2       // SS_DISABLE
	stackDisarms  = 1 << 31 // SS_AUTODISARM

	// The state in the frame: what the kernel keeps of it for itself within the legacy region, which components are there, and a word behind it.
	offReserved  = 416
	offSoftware  = 464
	offHeader    = 512
	magic1       = 0x46505853
	magic2       = 0x46505845
	legacyStates = 3
	footer       = 4
	sameState    = offHeader + 64 + 256 // up to where a processor's components leave gaps, which the kernel does not write
	// StateSize is more than the state of any processor.
	StateSize = 16 << 10

	handlerClears = 0x100 | 0x400 | 0x10000 // the trap, direction and resume flags
)

// Template is what the kernel did when it entered a handler.
type Template struct {
	handler  uint64
	frame    [size]byte
	software [offHeader - offSoftware]byte // of the saved state
	state    int                           // its size, with the word behind it
	mask     uint64                        // that the frame holds
	blocked  uint64                        // that was in force in front of the handler: another one where a call has set it for its own time
	inside   uint64                        // in the handler
	restart  restart
	switched bool   // it runs on the alternate stack, the thread did not
	onStack  bool   // the thread was on the alternate stack
	info     bool   // the handler wants a siginfo: there is none in the frame of one that does not (SA_SIGINFO)
	start    []byte // the state that a handler begins with
}

// restart is what becomes of a call that the signal has interrupted and that is made again if the handler wants it so (SA_RESTART).
type restart uint8

const (
	unknownRestart restart = iota // no such call was seen
	restarts
	fails // with EINTR
)

// What a call that a signal has interrupted has for its result (include/linux/errno.h), and what the program finds.
const (
	restartSys   = -512 // made again if the handler wants it so
	restartAlway = -513 // made again
	restartNo    = -514 // not made again behind a handler
	restartBlock = -516 // neither
	interrupted  = -4   // EINTR
	callLength   = 2
)

// Entry is what there is to be seen of an entry into a handler, in front of it and in it: registers, the signals that the thread blocks, and its vector and x87 state.
type Entry struct {
	Before, In   sys.Regs
	Mask         uint64 // that it has once the call that it is in has ended
	Blocked      uint64 // in front of the handler
	Blocks       uint64 // in it
	Signal       sys.Signal
	Info         sys.Siginfo
	State, Start []byte // the thread's state, and what the handler began with
}

// Learn makes a template of an entry; false where the frame is not what Build would have made of it.
func Learn(mem io.ReaderAt, e *Entry) (*Template, bool) {
	t := &Template{handler: e.In.Rip, mask: e.Mask, blocked: e.Blocked, inside: e.Blocks, start: bytes.Clone(e.Start)}
	if _, err := mem.ReadAt(t.frame[:], int64(e.In.Rsp)); err != nil || t.word(offFrame) == 0 {
		return nil, false
	}
	var state [offHeader]byte
	if _, err := mem.ReadAt(state[:], int64(t.word(offFrame))); err != nil {
		return nil, false
	}
	copy(t.software[:], state[offSoftware:])
	t.state = int(binary.LittleEndian.Uint32(t.software[4:]))
	if binary.LittleEndian.Uint32(t.software[:]) != magic1 || t.state <= offHeader || t.state > StateSize {
		return nil, false
	}
	flags := uint32(t.word(offStack + 8))
	if flags&stackDisarms != 0 {
		return nil, false
	}
	t.onStack = t.onAlternate(e.Before.Rsp - redZone)
	t.switched = e.In.Rsp != t.place(e.Before.Rsp-redZone)
	sp, state2, ok := t.where(e.Before.Rsp)
	if !ok || sp != e.In.Rsp || state2 != t.word(offFrame) || t.word(offMask) != e.Mask {
		return nil, false
	}
	t.restart = t.restartOf(&e.Before)
	made, err := t.Build(&e.Before, e.Signal, &e.Info, e.State)
	if err != nil {
		return nil, false
	}
	// Segments and what the call was are the kernel's to set.
	want := made.Regs
	want.Cs, want.Ss, want.Ds, want.Es, want.Fs, want.Gs, want.Orig_rax = e.In.Cs, e.In.Ss, e.In.Ds, e.In.Es, e.In.Fs, e.In.Gs, e.In.Orig_rax
	there := make([]byte, len(made.Bytes))
	if _, err := mem.ReadAt(there, int64(sp)); err != nil || want != e.In {
		return nil, false
	}
	// Where the kernel has written none, there is what was there before.
	if t.info = bytes.Equal(there[offInfo:size], e.Info[:]); !t.info && bytes.Equal(there[offInfo:][:4], e.Info[:4]) {
		return nil, false
	}
	for _, part := range t.compared(int(state2 - sp)) {
		if !bytes.Equal(there[part[0]:part[1]], made.Bytes[part[0]:part[1]]) {
			return nil, false
		}
	}
	return t, true
}

// compared is the parts of a frame with its state at an offset that the kernel writes, as far as they lie at the same place for all processors.
func (t *Template) compared(at int) [][2]int {
	return [][2]int{{0, offInfo}, {at, at + offReserved}, {at + offSoftware, at + min(t.state-footer, sameState)}, {at + t.state - footer, at + t.state}}
}

func (t *Template) word(off int) uint64 { return binary.LittleEndian.Uint64(t.frame[off:]) }

// onAlternate tells whether a stack pointer lies on the alternate stack.
func (t *Template) onAlternate(sp uint64) bool {
	from, flags, n := t.word(offStack), uint32(t.word(offStack+8)), t.word(offStack+16)
	return flags&stackDisabled == 0 && sp > from && sp-from <= n
}

// place is where a frame lies that begins below an address.
func (t *Template) place(below uint64) uint64 {
	return (t.placeState(below)-size)&^15 - 8
}

func (t *Template) placeState(below uint64) uint64 {
	return (below - uint64(t.state)) &^ (alignment - 1)
}

// where is where the frame lies of a thread with a stack pointer, and the state in it; false where the thread is not on the stack that it was on.
func (t *Template) where(rsp uint64) (sp, state uint64, ok bool) {
	below := rsp - redZone
	if t.onAlternate(below) != t.onStack {
		return 0, 0, false
	}
	if t.switched {
		below = t.word(offStack) + t.word(offStack+16)
	}
	sp = t.place(below)
	if (t.switched || t.onStack) && !t.onAlternate(sp) {
		return 0, 0, false
	}
	return sp, t.placeState(below), true
}

// registers are those that a handler begins with.
func (t *Template) registers(before *sys.Regs, sig sys.Signal, sp uint64) sys.Regs {
	r := *before
	r.Rip, r.Rsp, r.Rax, r.Rdi, r.Rsi, r.Rdx = t.handler, sp, 0, uint64(sig), sp+offInfo, sp+context
	r.Eflags &^= handlerClears
	r.Orig_rax = ^uint64(0) // no call is to be made again
	return r
}

// Fits tells whether a thread with these registers and masks gets a frame as the template's.
func (t *Template) Fits(before *sys.Regs, mask, blocked uint64) bool {
	_, _, ok := t.where(before.Rsp)
	return ok && mask == t.mask && blocked == t.blocked && (t.restart != unknownRestart || result(before) != restartSys)
}

// Blocks is the signals that the handler blocks and that were not.
func (t *Template) Blocks() uint64 { return t.inside &^ t.blocked }

// restartOf is what the template's frame says of a call that its thread was within.
func (t *Template) restartOf(before *sys.Regs) restart {
	failed := int64(interrupted)
	switch {
	case result(before) != restartSys:
		return unknownRestart
	case t.word(offRegs+8*raxInFrame) == uint64(failed):
		return fails
	}
	return restarts
}

// Inherit takes over what the template before it of the same signal knows of the handler; nil: there is none.
func (t *Template) Inherit(of *Template) {
	if of != nil && t.restart == unknownRestart {
		t.restart = of.restart
	}
}

// result is that of the call that a thread is within; 0: it is within none.
func result(before *sys.Regs) int64 {
	if int32(before.Orig_rax) == -1 { // as the kernel looks at it
		return 0
	}
	return int64(before.Rax)
}

// behindCall is the registers that a thread will go on with behind the handler, those that the frame holds: a call that the signal has interrupted has
// failed or is made again.
func (t *Template) behindCall(before *sys.Regs) sys.Regs {
	r := *before
	how := fails
	switch result(before) {
	case restartSys:
		how = t.restart
	case restartAlway:
		how = restarts
	case restartNo, restartBlock:
	default:
		return r
	}
	if how == restarts {
		r.Rax, r.Rip = r.Orig_rax, r.Rip-callLength
		return r
	}
	failed := int64(interrupted)
	r.Rax = uint64(failed)
	return r
}

// Same tells whether a frame that a thread returns through has the alternate stack of the template's: the kernel sets what it says.
func (t *Template) Same(f *Frame) bool {
	return bytes.Equal(f[offStack-context:][:stackSize], t.frame[offStack:][:stackSize])
}

// Made is a frame that Build has made: what is to be written where, its two parts with a gap in between that the kernel leaves as it is, and what the thread goes on with.
type Made struct {
	At      uint64
	Bytes   []byte
	GapFrom int // in Bytes
	GapTo   int
	Regs    sys.Regs
	Blocked uint64
	Start   []byte
}

// errState is a state that is no frame's.
var errState = errors.New("the thread's state is not as large as a frame's")

// Build makes the frame of a signal for a thread that Fits, with its registers and its state.
func (t *Template) Build(before *sys.Regs, sig sys.Signal, info *sys.Siginfo, state []byte) (*Made, error) {
	if len(state) < t.state-footer {
		return nil, errState
	}
	behind := t.behindCall(before)
	before = &behind
	sp, at, _ := t.where(before.Rsp)
	b := make([]byte, int(at-sp)+t.state)
	copy(b, t.frame[:])
	word := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	for i, v := range [...]uint64{before.R8, before.R9, before.R10, before.R11, before.R12, before.R13, before.R14, before.R15, before.Rdi, before.Rsi, before.Rbp, before.Rbx, before.Rdx, before.Rax, before.Rcx, before.Rsp, before.Rip, before.Eflags} {
		word(offRegs+8*i, v)
	}
	word(offFrame, at)
	copy(b[offInfo:], info[:])
	image := b[at-sp:]
	copy(image[:t.state-footer], state)
	copy(image[offSoftware:], t.software[:])
	binary.LittleEndian.PutUint64(image[offHeader:], binary.LittleEndian.Uint64(image[offHeader:])|legacyStates)
	binary.LittleEndian.PutUint32(image[t.state-footer:], magic2)
	gap := size
	if !t.info {
		gap = offInfo
	}
	return &Made{At: sp, Bytes: b, GapFrom: gap, GapTo: int(at - sp), Regs: t.registers(before, sig, sp), Blocked: t.inside, Start: t.start}, nil
}
