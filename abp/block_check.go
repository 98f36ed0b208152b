package abp

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxBlockWords bounds the words of an execution: half a ring's slack, rounded
// up. A reader that met more would have to be reading garbage.
const MaxBlockWords = 4096

// What a block can have wrong. They say no more than what, since Prepare names the
// block and its caller the section.
var (
	errBlockID       = errors.New("has no number")
	errBlockWords    = errors.New("word count out of bounds")
	errBlockCode     = errors.New("instructions exceed its bytes")
	errBlockRegister = errors.New("lists a register that is none or of no instruction")
	errBlockWord     = errors.New("refers to a word that it does not have")
)

// check verifies everything that readers index by, once, when a block is read:
// afterwards each of its executions is expanded without a look. What is only odd
// (overlapping instructions, unknown functions) is left to Verify, because a
// profile with oddities is still worth reading.
//
// An operand whose addresses are not recorded is not looked at: its words mean nothing
// and nobody expands it.
func (b *Block) check() error {
	if b.ID == 0 {
		return errBlockID
	}
	if b.Words < 0 || b.Words > MaxBlockWords {
		return errBlockWords
	}
	if !b.hasWord(b.TimeWord, 1) || !b.hasWord(b.BranchWord, 1) {
		return errBlockWord
	}
	if b.Branch >= branchKinds {
		return fmt.Errorf("branch kind %d", b.Branch)
	}
	if err := b.checkRegisters(); err != nil {
		return err
	}
	for i := range b.Ins {
		in := &b.Ins[i]
		// The sum cannot wrap: both are small in an int.
		if int(in.Off)+int(in.Len) > len(b.Code) {
			return errBlockCode
		}
		if in.AccFrom > in.AccTo || int(in.AccTo) > len(b.Accesses) {
			return fmt.Errorf("instruction %d: operands out of bounds", i)
		}
		if in.Flags&InsAddrs == 0 {
			continue // its operands are not expanded
		}
		for _, a := range b.InsAccesses(i) {
			if err := b.checkAccess(&a); err != nil {
				return fmt.Errorf("instruction %d: %w", i, err)
			}
		}
	}
	return nil
}

// hasWord reports whether n words from w on are the block's, or w is NoWord.
func (b *Block) hasWord(w int16, n int) bool {
	return w == NoWord || w >= 0 && int(w)+n <= b.Words
}

// checkAccess verifies one operand.
//
// Offsets and displacements may be anything: addresses wrap, as the processor's do.
func (b *Block) checkAccess(a *Access) error {
	if a.Kind >= accessKinds {
		return fmt.Errorf("access kind %d", a.Kind)
	}
	if a.AddrBits != 64 && a.AddrBits != 32 {
		return fmt.Errorf("address of %d bits", a.AddrBits)
	}
	if !b.hasWord(a.Word, 1) || !b.hasWord(a.AuxWord, 1) {
		return errBlockWord
	}
	if a.Kind != AccessPlain && a.AuxWord == NoWord {
		return fmt.Errorf("access kind %d without its second word: %w", a.Kind, errBlockWord)
	}
	// How many bytes of values the operand has, as far as the block tells.
	values := uint64(a.Size)
	switch a.Kind {
	case AccessString:
		if a.Size == 0 || a.Word == NoWord {
			return fmt.Errorf("string access without size or word")
		}
		values *= uint64(a.Lanes)
		if a.Value != NoWord && a.Lanes == 0 {
			return fmt.Errorf("string values without a number: %w", errBlockWord)
		}
	case AccessBits:
		// Bit strings are addressed by shifts, which need a power of two.
		if bits.OnesCount32(a.Size) != 1 {
			return fmt.Errorf("bit string of %d bytes", a.Size)
		}
	case AccessMasked, AccessPacked, AccessGather:
		if a.Lanes > 64 { // the mask is one word
			return fmt.Errorf("%d lanes", a.Lanes)
		}
		values *= uint64(a.Lanes)
	}
	if a.Kind == AccessGather {
		if err := b.checkIndices(a); err != nil {
			return err
		}
	}
	return b.checkValue(a, values)
}

// checkIndices verifies what a gather or scatter has beside its base.
func (b *Block) checkIndices(a *Access) error {
	switch a.IndexSize {
	case 1, 2, 4, 8:
	default:
		return fmt.Errorf("index of %d bytes", a.IndexSize)
	}
	if a.IndexWord < 0 || !b.hasWord(a.IndexWord, wordsFor(uint64(a.Lanes)*uint64(a.IndexSize))) {
		return fmt.Errorf("indices: %w", errBlockWord)
	}
	return nil
}

// checkValue verifies that the recorded bytes lie in the block's words. Where
// the length is only known at run time (xsave) expansion bounds it.
func (b *Block) checkValue(a *Access, bytes uint64) error {
	if a.Value == NoWord {
		return nil
	}
	if a.Kind == AccessSized {
		bytes = 1
	}
	// The first comparison keeps the second's conversion to int from wrapping.
	if bytes > MaxBlockWords*8 || !b.hasWord(a.Value, wordsFor(bytes)) {
		return fmt.Errorf("value: %w", errBlockWord)
	}
	return nil
}

// wordsFor is how many words that many packed bytes take.
func wordsFor(bytes uint64) int { return int((bytes + 7) / 8) }
