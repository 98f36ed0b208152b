package tracee

import (
	"encoding/binary"
	"fmt"
)

// BatchCall is one of several system calls that a target makes in a row. The fifth argument
// of each is the result of the last open before it, as is a first argument of 0: the descriptor
// that memory is mapped from.
type BatchCall struct {
	Number uint64
	Args   [5]uint64 // rdi, rsi, rdx, r10, r9
	Result uint64
}

// BatchCallSize is how much memory each of them needs.
const BatchCallSize = 56

// Batch makes the thread execute the calls in a row, with one stop behind the last, where
// Call takes two for each: waking a processor that idles takes 50 µs. code is what makes them, from at; scratch is writable
// memory of the target's that nobody uses, with room for the calls.
//
// It ends in an int3, so that the thread must not block or ignore SIGTRAP: the kernel would
// change that.
func (in *Injector) Batch(code []byte, calls []BatchCall, scratch uint64) error {
	orig := make([]byte, len(code))
	if _, err := in.mem.ReadAt(orig, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	if _, err := in.mem.WriteAt(code, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	if err := in.runBatch(in.at, calls, scratch); err != nil {
		return err
	}
	if _, err := in.mem.WriteAt(orig, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	return nil
}

// BatchAt is Batch where the code lies at an address of the target's already. scratch is in mem.
func (t *Thread) BatchAt(mem Memory, at uint64, calls []BatchCall, scratch uint64) error {
	in := &Injector{t: t, mem: mem}
	if err := t.GetRegs(&in.saved); err != nil {
		return err
	}
	if err := in.runBatch(at, calls, scratch); err != nil {
		return err
	}
	return in.Close()
}

// runBatch has the thread execute the code at an address.
func (in *Injector) runBatch(at uint64, calls []BatchCall, scratch uint64) error {
	var table []byte
	for i := range calls {
		c := &calls[i]
		for _, w := range append([]uint64{c.Number}, c.Args[:]...) {
			table = binary.LittleEndian.AppendUint64(table, w)
		}
		table = binary.LittleEndian.AppendUint64(table, ^uint64(0))
	}
	if _, err := in.mem.WriteAt(table, int64(scratch)); err != nil {
		return fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	r := in.saved
	r.Rip, r.Rbx, r.R12, r.R13, r.Orig_rax = at, ^uint64(0), scratch, uint64(len(calls)), ^uint64(0)
	r.Cs, r.Ss = UserCS, UserSS
	if err := in.t.SetRegs(&r); err != nil {
		return err
	}
	if _, err := in.t.RunTo(func(h *Signal) bool { return h.Number == SIGTRAP && h.Info.Code() == CodeKernel }); err != nil {
		return err
	}
	if _, err := in.mem.ReadAt(table, int64(scratch)); err != nil {
		return fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	for i := range calls {
		calls[i].Result = binary.LittleEndian.Uint64(table[i*BatchCallSize+BatchCallSize-8:])
	}
	clear(table)
	_, err := in.mem.WriteAt(table, int64(scratch))
	return err
}

// BatchForked is Batch in the middle of a program.
func (in *Injector) BatchForked(code []byte, calls []BatchCall) error {
	at, giveBack, err := in.Scratch()
	if err != nil {
		return err
	}
	if err := in.Batch(code, calls, at); err != nil {
		return err
	}
	return giveBack()
}
