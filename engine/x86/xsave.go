package x86

// XSaveSize is how many bytes of an XSAVE area hold the legacy region, the
// header and the components in bv, in the standard format or the compacted
// one whose layout xcomp describes (XSTATE_BV and XCOMP_BV of the header).
//
// In the compacted format a component has its place even if it is not marked in bv,
// but only marked ones are written: the size ends behind the last of those.
func XSaveSize(bv, xcomp uint64) uint64 {
	// the two parts that every area has
	const head = StateLegacy + StateHeader
	end, at := uint64(head), uint64(head)
	compact := xcomp>>63 != 0
	for n := 2; n < 63; n++ {
		marked, present := bv>>n&1 != 0, xcomp>>n&1 != 0
		if !marked && !(compact && present) {
			continue
		}
		off, size, aligned := stateComponent(n)
		start := uint64(off)
		if compact {
			if aligned {
				at = (at + 63) &^ 63
			}
			start = at
			at += uint64(size)
		}
		if marked {
			end = max(end, start+uint64(size))
		}
	}
	return end
}
