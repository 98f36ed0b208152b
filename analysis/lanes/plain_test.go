package lanes

import (
	"slices"
	"testing"

	"alleria/abp"
)

// TestPlainAccesses has one access of a block be of every kind that an offset and a word do not tell: none of the block's is plain then.
func TestPlainAccesses(t *testing.T) {
	plain := abp.Access{Kind: abp.AccessPlain, AddrBits: 64, Size: 8}
	segment, cut, string32 := plain, plain, plain
	segment.Seg, cut.AddrBits, string32.Kind = abp.SegNone+1, 32, abp.AccessPlain+1
	for name, c := range map[string]struct {
		second abp.Access
		want   []int
	}{"all plain": {plain, []int{0, 2, 2}}, "a segment": {segment, nil}, "32 bits": {cut, nil}, "another kind": {string32, nil}} {
		recorded := abp.Ins{AccTo: 1, Flags: abp.InsRecorded | abp.InsAddrs}
		middle := abp.Ins{AccFrom: 1, AccTo: 2} // of which nothing is recorded: its access does not count
		last := abp.Ins{AccFrom: 2, AccTo: 4, Flags: abp.InsRecorded | abp.InsAddrs}
		b := &abp.Block{Ins: []abp.Ins{recorded, middle, last}, Accesses: []abp.Access{plain, segment, plain, c.second}}
		var got []int
		ok := PlainAccesses(b, func(i int, _ *abp.Access) { got = append(got, i) })
		if ok != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: plain %t, accesses of %d, want %d", name, ok, got, c.want)
		}
	}
}
