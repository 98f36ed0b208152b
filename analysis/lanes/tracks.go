package lanes

import (
	"math"

	"alleria/abp"
)

// Tracks follows the addresses of operands in whole executions, by the stride from each one's last address: a run is accesses of one stride. A track is what is known of
// an operand, which any number of blocks have in common; its number is the caller's to give. Tracks lie eight together (an octet), and a group
// has accesses of one octet alone, each at its track's place.
type Tracks struct {
	Plans
	Octets []Octet
	Ends   Ends
}

// Octet is eight tracks. It has the layout of C's.
type Octet struct {
	Last, Stride, Run [lanes]uint64 // Run: how often Stride came, without those that Ends have
	Low, High         [lanes]uint64 // of the addresses in front of the run's last one
}

// Nothing is a Stride of a track in front of its first access, whose last address is 0.
const Nothing = 1<<63 + 1

// Ends are runs that ended, in their order: which track, by which stride, and how often it came, perhaps never.
type Ends struct {
	Track, Stride, Run [endRoom]uint64
	N                  int
}

// endRoom is more than the most accesses that a block with a plan has.
const endRoom = 3 * MostAccesses

// Full tells whether a loop may have stopped for want of room.
func (e *Ends) Full() bool { return e.N > endRoom-MostAccesses }

// NewTracks is without a plan; where the processor has no lanes nothing may be added.
func NewTracks() *Tracks { return new(Tracks) }

// Grow makes room for tracks with numbers below n.
func (t *Tracks) Grow(n int) {
	for n > len(t.Octets)*lanes {
		o := Octet{}
		for k := range lanes {
			o.Stride[k], o.Low[k] = Nothing, math.MaxUint64
		}
		t.Octets = append(t.Octets, o)
	}
}

// At is a track: its octet, and its place there.
func (t *Tracks) At(number uint32) (o *Octet, k uint32) {
	return &t.Octets[number/lanes], number % lanes
}

// Begin is the first number, n or above, for so many new tracks: where they take no more octets than they must.
func Begin(n, many int) int {
	if rest := -n & (lanes - 1); rest < min(many, lanes) {
		return n + rest
	}
	return n
}

// Add makes a block known, all of whose accesses are plain, if it is not too large. The tracks of its accesses are given, in their order, and
// all have had an access.
func (t *Tracks) Add(b *abp.Block, tracks []uint32) {
	var p groups
	in := map[uint32]int{} // the latest group of an octet
	n := 0
	PlainAccesses(b, func(_ int, a *abp.Access) {
		octet, k := tracks[n]/lanes, int(tracks[n]%lanes)
		n++
		i, known := in[octet]
		if !known || p.group(i)[groupMasks]>>k&1 != 0 { // an operand that is met again comes behind itself
			i = p.begin(uint64(octet))
			in[octet] = i
		}
		p.put(i, k, a, 0)
	})
	t.keep(b, &p)
}

// Run goes on with whole executions from a word on, up to something that is left to the caller or until there is little room for ends, and
// returns where it stopped. Ends are those of this call.
func (t *Tracks) Run(words []uint64, at int) int { return t.run(words, at) }
