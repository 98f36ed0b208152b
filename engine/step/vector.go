package step

import (
	"encoding/binary"

	"alleria/engine/x86"
)

// xstateMax is more than the XSAVE area of any processor, AMX tiles included.
const xstateMax = 16 << 10

// stateLayout says where the registers lie in an XSAVE area.
// An offset of 0 stands for a component that the processor lacks.
type stateLayout struct{ ymm, k, zmm, hi uint32 }

// newStateLayout asks the processor; the kernel's regset has the same, standard, format.
func newStateLayout() stateLayout {
	var s stateLayout
	s.ymm, _ = x86.StateComponent(x86.StateYMM)
	s.k, _ = x86.StateComponent(x86.StateK)
	s.zmm, _ = x86.StateComponent(x86.StateZMM)
	s.hi, _ = x86.StateComponent(x86.StateHiZMM)
	return s
}

// loadState reads the vector and mask registers of the stopped target.
// A component in its initial configuration may read as stale bytes in an area of
// ours, but not in the kernel's answer, which has zeroes there.
func (t *tracee) loadState() error {
	if t.xstate == nil {
		t.xstate = make([]byte, xstateMax)
	}
	t.xstate = t.xstate[:xstateMax]
	n, err := getXState(t.pid, t.xstate)
	t.xstate = t.xstate[:n]
	return err
}

// stretch is n bytes of the state; zeros where the processor has no such
// component.
func (t *tracee) stretch(off uint32, n int) []byte {
	if off == 0 || int(off)+n > len(t.xstate) {
		return make([]byte, n)
	}
	return t.xstate[off:][:n]
}

// vector is the 64 bytes of vector register v.
func (t *tracee) vector(v uint8) []byte {
	if v >= 16 {
		return t.stretch(t.states.hi+64*uint32(v-16), 64)
	}
	n := uint32(v)
	b := make([]byte, 0, 64)
	b = append(b, t.stretch(x86.StateXMM0Off+16*n, 16)...)
	b = append(b, t.stretch(t.states.ymm+16*n, 16)...)
	return append(b, t.stretch(t.states.zmm+32*n, 32)...)
}

// mmx is the 8 bytes of MMX register v, wherever the x87 stack's top is: the
// top is 0 while MMX is in use, and register v is then physical register v.
func (t *tracee) mmx(v uint8) []byte { return t.stretch(32+16*uint32(v), 8) }

// opmask is mask register k.
func (t *tracee) opmask(k uint8) uint64 {
	return binary.LittleEndian.Uint64(t.stretch(t.states.k+8*uint32(k), 8))
}
