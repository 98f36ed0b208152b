package emit

import (
	"fmt"

	"alleria/abp"
	"alleria/internal/records"
)

// Rows of system calls and signals belong to a place among a thread's instructions,
// which is known only here, where these are counted. So they travel through the
// ring, as marks that end here: what they say becomes a row of a table, with the
// number of instructions before it.

// Kinds of notes, the first word behind the mark.
const (
	noteSyscall = 1
	noteSignal  = 2
	// noteBehind: the note's own instruction is the last of the records before it.
	noteBehind = 1 << 8
)

// Lengths of the words behind the mark.
const (
	syscallWords = 12
	signalWords  = 7
)

// SyscallNote is the mark of a system call. recorded: its instruction is the last of
// the thread's records. The Ordinal is added later.
func SyscallNote(s abp.Syscall, recorded bool) []uint64 {
	kind := uint64(noteSyscall)
	if recorded {
		kind |= noteBehind
	}
	words := []uint64{records.Mark(records.MarkNote, syscallWords), kind, uint64(s.Number), s.TSC, s.EndTSC, uint64(s.Result), uint64(s.Errno)}
	return append(words, s.Args[:]...)
}

// SignalNote is the mark of a signal.
func SignalNote(s abp.Signal) []uint64 {
	return []uint64{records.Mark(records.MarkNote, signalWords), noteSignal, uint64(s.Number), s.TSC,
		uint64(uint32(s.Code)), uint64(s.Sender), s.Addr, s.IP}
}

// note is a note of a frame, with the instructions that the frame has before it.
type note struct {
	words  []uint64 // behind the mark
	before uint64
}

// notes adds the rows of a frame whose turn it is. t.mu is held, and the frame's
// instructions have not been added to its ordinal yet.
func (r *ready) writeNotes(t *ThreadState) error {
	p := r.stream.p
	for _, n := range r.notes {
		w := n.words
		at := t.ordinal + n.before
		switch kind := w[0] &^ noteBehind; {
		case kind == noteSyscall && len(w) == syscallWords:
			place := abp.CallBetween
			if w[0]&noteBehind != 0 && at > 0 {
				at--
				place = abp.CallOwn
			}
			s := abp.Syscall{Place: place, Thread: t.Number, Number: uint32(w[1]), Ordinal: at, TSC: w[2], EndTSC: w[3], Result: int64(w[4]), Errno: int32(w[5])}
			copy(s.Args[:], w[6:])
			p.AddSyscall(s)
		case kind == noteSignal && len(w) == signalWords:
			p.AddSignal(abp.Signal{Thread: t.Number, Number: uint32(w[1]), Ordinal: at, TSC: w[2], Code: int32(w[3]), Sender: uint32(w[4]), Addr: w[5], IP: w[6]})
		default:
			return fmt.Errorf("note %#x of %d words: %w", w[0], len(w), records.ErrMalformed)
		}
	}
	return nil
}
