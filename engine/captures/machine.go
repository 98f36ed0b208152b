package captures

import (
	"bytes"
	"encoding/binary"
	"errors"

	"alleria/engine/probe"
	"alleria/engine/recovery"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Machine is a thread at a call's entry or return, for capture.Run and for what changes values.
//
// Calls whose values are changed (capture.Program.Alter) are the tracer's at each entry and return. A thread that is stopped gets other
// registers; one that waits in the cache gets back, with the answer, what the dispatch routine has saved of the integer registers. Its vector
// registers are nobody's but the kernel's, so that it is stopped for those where it is. A call that is not to be executed goes on behind itself.
type Machine struct {
	t     *Thread
	gpr   [16]uint64
	regs  *sys.Regs // of a thread that is stopped; nil: it waits in the cache
	stack uint64    // where arguments begin; 0: none, at return
	frame *probe.Frame
	// changes are what was changed, for the next mark; set are vector registers among it, their low bytes.
	changes []capture.Changed
	set     map[uint32][]byte
	goTo    uint64 // where the thread is to go on, with this stack; 0: where it is
	goStack uint64
	// vectors and x87 give registers' bytes, nil: there are none.
	vector, x87 func(n uint32) []byte
}

var _ capture.Alterable = (*Machine)(nil)

// Stopped is the machine of a thread that is stopped with the application's registers.
func (t *Thread) Stopped(regs *sys.Regs) *Machine {
	m := &Machine{t: t, regs: regs}
	for r := range m.gpr {
		m.gpr[r] = *recovery.RegOf(regs, x86.Reg(r))
	}
	var state []byte
	at := func(off uint32, n uint32) []byte {
		if state == nil {
			state = make([]byte, 16<<10)
			k, _ := t.tracee.XState(state)
			state = state[:k]
		}
		if off == 0 || int(off+n) > len(state) {
			return make([]byte, n)
		}
		return state[off : off+n]
	}
	ymm, _ := x86.StateComponent(x86.StateYMM)
	zmm, _ := x86.StateComponent(x86.StateZMM)
	m.vector = func(n uint32) []byte {
		b := append([]byte(nil), at(x86.StateXMM0Off+16*n, 16)...)
		b = append(b, plus(at, ymm, 16*n, 16)...)
		return append(b, plus(at, zmm, 32*n, 32)...)
	}
	m.x87 = func(n uint32) []byte { return at(32+16*n, 10) }
	return m
}

// plus reads a component's bytes, zeros where the processor lacks it.
func plus(at func(off, n uint32) []byte, component, off, n uint32) []byte {
	if component == 0 {
		return make([]byte, n)
	}
	return at(component+off, n)
}

// Asking is the machine of a thread that waits: code has saved what is needed.
func (t *Thread) Asking() *Machine {
	m := &Machine{t: t}
	for r := range m.gpr {
		m.gpr[r] = t.slot.Get(layout.Save + 8*r)
	}
	m.vector = func(n uint32) []byte { return t.slot.Mem[layout.CaptureVec+64*n:][:64] }
	m.x87 = func(n uint32) []byte { return t.slot.Mem[layout.FXSave+32+16*n:][:10] }
	return m
}

// Sent is where the thread is to go on, and with which stack pointer; false: where it is.
func (m *Machine) Sent() (addr, stack uint64, ok bool) { return m.goTo, m.goStack, m.goTo != 0 }

// Value is capture.Machine's.
func (m *Machine) Value(src capture.Source, b []byte) bool {
	switch src.Kind {
	case capture.GPR:
		return src.N < 16 && putWord(b, m.gpr[src.N])
	case capture.Stack:
		if m.stack == 0 {
			return false
		}
		n, _ := m.ReadAt(b, int64(m.stack+uint64(src.N)))
		clear(b[n:])
		return n == len(b)
	case capture.Vector:
		n := copy(b, m.vector(src.N))
		copy(b, m.set[src.N])
		return n == len(b)
	case capture.X87:
		v := m.x87(src.N)
		return copy(b, v) == len(b)
	case capture.Saved:
		return m.frame != nil && src.N < capture.MaxSaves && putWord(b, m.frame.Save(int(src.N)))
	}
	return false
}

// putWord puts a word's low bytes into b, as many as there is room for; false if b has more than a word.
func putWord(b []byte, w uint64) bool {
	var x [8]byte
	binary.LittleEndian.PutUint64(x[:], w)
	return copy(b, x[:]) == len(b)
}

// ReadAt is capture.Machine's. It reads what the application could read.
//
// A page that userfaultfd is to fill comes first: process_vm_readv waits for whoever fills it, who may be a thread that waits for us. A read of /proc/PID/mem fails there,
// and asks nobody; but it reads what the application may not.
func (m *Machine) ReadAt(b []byte, addr int64) (int, error) {
	if n, err := m.t.mem.ReadAt(b[:min(len(b), 1)], addr); n == 0 && err != nil {
		return 0, err
	}
	n, err := sys.ReadForeign(m.t.tracee.TID, b, uint64(addr))
	if n > 0 || err == nil || !errors.Is(err, sys.ErrForbidden) {
		return n, err
	}
	return m.t.mem.ReadAt(b, addr)
}

// Set is capture.Alterable's.
func (m *Machine) Set(src capture.Source, b []byte) bool {
	if len(b) > 8 {
		return false
	}
	switch src.Kind {
	case capture.GPR:
		if src.N > 11 || src.N == uint32(x86.RSP) || src.N == uint32(x86.RBX) || src.N == uint32(x86.RBP) {
			return false // nothing of a call travels in others
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], m.gpr[src.N])
		copy(w[:], b)
		m.gpr[src.N] = binary.LittleEndian.Uint64(w[:])
		if m.regs != nil {
			*recovery.RegOf(m.regs, x86.Reg(src.N)) = m.gpr[src.N]
		} else {
			m.t.slot.Set(layout.Save+8*int(src.N), m.gpr[src.N])
		}
		return true
	case capture.Stack:
		return m.stack != 0 && m.WriteAt(b, m.stack+uint64(src.N))
	case capture.Vector:
		return src.N < 16 && m.setVector(src.N, b)
	}
	return false
}

// WriteAt is capture.Alterable's.
func (m *Machine) WriteAt(b []byte, addr uint64) bool {
	return !m.t.tracee.Over() && sys.WriteForeign(m.t.tracee.TID, b, addr) == nil // its id may be a new program's
}

// ThreadBase is capture.Alterable's.
func (m *Machine) ThreadBase() uint64 {
	if m.regs == nil {
		return 0
	}
	return m.regs.Fs_base
}

// Map is capture.Alterable's.
func (m *Machine) Map(addr, bytes uint64) bool { return m.regs != nil && m.t.host.Map(addr, bytes) }

// Stack is capture.Alterable's.
func (m *Machine) Stack() uint64 { return m.gpr[x86.RSP] }

// Go is capture.Alterable's.
func (m *Machine) Go(addr, stack uint64) { m.goTo, m.goStack = addr, stack }

// setVector changes the low bytes of a vector register.
func (m *Machine) setVector(n uint32, b []byte) bool {
	ok := false
	set := func() {
		state := make([]byte, 16<<10)
		k, err := m.t.tracee.XState(state)
		const used, sse = 512, 1 << 1 // which components are not as they are at first
		if err != nil || k <= used {
			return
		}
		copy(state[x86.StateXMM0Off+16*n:], b)
		state[used] |= sse
		ok = m.t.tracee.SetXState(state[:k]) == nil
	}
	if m.regs == nil {
		m.t.host.InPlace(set)
	} else {
		set()
	}
	if ok {
		if m.set == nil {
			m.set = make(map[uint32][]byte)
		}
		m.set[n] = bytes.Clone(b)
	}
	return ok
}
