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
	MarkGap      = frame.MarkGap
	MarkBeside   = frame.MarkBeside
	MarkCallers  = frame.MarkCallers

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

// Shape returns what the encoding of frames wants to know of the block. Valid
// after Prepare. It is made anew: encoders and decoders ask once a block.
//
// It is the one place where the meaning of words reaches the encoding: recorder and
// reader must derive the same shape from the same block, or nothing decodes. A change of
// what this returns is therefore a change of the format (frameCodec).
func (b *Block) Shape() *frame.Shape {
	return &frame.Shape{
		Words: int32(b.Words), Addr: b.Addr, Target: b.Target, Weight: int32(b.Static.Instructions),
		StackWord: b.stackWord(), TimeWord: b.TimeWord, BranchWord: b.BranchWord,
		Conditional: b.Branch == BranchCond, Dynamic: b.Dynamic, Values: b.valueWords(),
	}
}

// stackWord returns the word that is the stack pointer for certain: what a call
// stores its return address by, or a return loads it from. -1: none.
func (b *Block) stackWord() int16 {
	last := len(b.Ins) - 1
	if last < 0 || b.Ins[last].Flags&InsAddrs == 0 {
		return -1
	}
	switch b.Branch {
	case BranchCall, BranchIndCall, BranchRet:
	default:
		return -1
	}
	for _, a := range b.InsAccesses(last) {
		if a.Kind == AccessPlain && a.Seg == SegNone && a.Store == (b.Branch != BranchRet) {
			return a.Word
		}
	}
	return -1
}

// valueWords returns which words are bytes that were read or written, and where
// these bytes are.
func (b *Block) valueWords() []frame.ValueWord {
	var values []frame.ValueWord
	for i := range b.Ins {
		if b.Ins[i].Flags&InsAddrs == 0 {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			values = b.appendValue(values, &a)
		}
	}
	return values
}

// appendValue appends the words of one operand. A gather's bytes come from many places:
// they have no address that would help to predict them.
func (b *Block) appendValue(values []frame.ValueWord, a *Access) []frame.ValueWord {
	n := uint64(a.Size)
	switch a.Kind {
	case AccessMasked, AccessPacked, AccessGather, AccessString:
		n *= uint64(a.Lanes)
	case AccessSized:
		return values // how many words they have is not known here
	}
	if a.Value < 0 {
		return values
	}
	for k := 0; k < wordsFor(n) && int(a.Value)+k < b.Words; k++ {
		v := frame.ValueWord{Word: a.Value + int16(k), AddrWord: -1}
		if a.Kind != AccessGather && a.Word >= 0 {
			v.AddrWord, v.Offset = a.Word, uint64(a.Offset)+uint64(8*k)
		}
		values = append(values, v)
	}
	return values
}
