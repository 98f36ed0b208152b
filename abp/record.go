package abp

import "alleria/abp/frame"

// The words of a frame, as package frame states them, under the names that
// readers use: who only reads profiles need not know that there is an encoding.
// What the marks mean is said there.
const (
	MarkCut      = frame.MarkCut
	MarkFS       = frame.MarkFS
	MarkGS       = frame.MarkGS
	MarkWindows  = frame.MarkWindows
	MarkThread   = frame.MarkThread
	MarkSkip     = frame.MarkSkip
	MarkEmulated = frame.MarkEmulated
	MarkChunk    = frame.MarkChunk

	// EmulatedStore is the bit of an emulated access's size word that makes it a
	// store.
	EmulatedStore = frame.EmulatedStore
)

// Mark makes a mark's first word.
func Mark(kind uint8, payload uint64) uint64 { return frame.Mark(kind, payload) }

// IsMark reports whether w is a mark, rather than a block's number.
func IsMark(w uint64) bool { return frame.IsMark(w) }

// SplitMark takes a mark's first word apart.
func SplitMark(w uint64) (kind uint8, payload uint64) { return frame.SplitMark(w) }

// MarkLen returns how many words the mark at the start of words has, its first
// included; 0 if the mark is unknown or cut short.
func MarkLen(words []uint64) int { return frame.MarkLen(words) }
