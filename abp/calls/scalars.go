package calls

// Scalar is a value of a capture that is no more than its bits, and the word that they are in.
type Scalar struct {
	Param int32 // as in Argument
	Type  TypeID
	Word  int
	Size  uint32 // bytes, 8 at most: the word's lowest
}

// Scalars says where the values of a capture's words lie, if all of them are no more than their bits: who sums up millions of calls need not put each value together.
// false: Values takes the words apart.
func (s *Signature) Scalars(t *Table, exit bool) ([]Scalar, bool) {
	slots := s.Entry
	if exit {
		slots = s.Exit
	} else if s.Variadic {
		return nil, false
	}
	out := make([]Scalar, 0, len(slots))
	for i := range slots {
		slot, ty := &slots[i], t.Type(slots[i].Type)
		switch ty.Kind {
		case Signed, Unsigned, Char, Bool, Enum, Float, Address:
		default:
			return nil, false
		}
		if slot.Hidden || len(slot.Pieces) != 1 || ty.Size == 0 || ty.Size > 8 || slot.Pieces[0].Offset != 0 || slot.Pieces[0].Bytes > 8 || slot.Pieces[0].Bytes < ty.Size {
			return nil, false
		}
		out = append(out, Scalar{Param: slot.Param, Type: slot.Type, Word: i, Size: ty.Size})
	}
	return out, true
}

// ExitWords are the words captured at return, as EntryWords are those at entry.
func (c *Call) ExitWords() (words []uint64, cut bool) { return c.exit, c.exitCut }
