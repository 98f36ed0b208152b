package reuse

import (
	"container/heap"
	"math/bits"

	"alleria/analysis/lanes"
	"alleria/analysis/stream"
)

// subBits: an octave of distances has 1 << subBits buckets; what is below is counted exactly.
const subBits = 4

// Bucket returns the place of a distance in a histogram.
func bucket(d uint64) int {
	if d < 1<<subBits {
		return int(d)
	}
	octave := bits.Len64(d) - 1 - subBits
	return (octave+1)<<subBits + int(d>>octave&(1<<subBits-1))
}

// bucketFrom is the least distance of a bucket.
func bucketFrom(b int) uint64 {
	if b < 1<<subBits {
		return uint64(b)
	}
	octave := b>>subBits - 1
	return (1<<subBits + uint64(b&(1<<subBits-1))) << octave
}

// Counter counts reuse distances.
type Counter struct {
	Refs uint64    // references seen
	Hist []float64 // references by bucket of their distance; of a sample those since the rate changed last, unscaled
	Cold float64   // first references, likewise

	shift uint
	lines *stream.Lines // where references come from
	// recent are the lines that were used last, the last one first (with a batch in places of their own), with times of 0 in the
	// table and none in times: nearly all references are to them, and cost neither. Numbers of lines are as in entry, and
	// apart from what else there is of them, since they are what is looked through.
	recent [recents]uint64
	epochs [recents]uint32        // the unit in which each was used last
	places [recents]uint32        // where its entry was when it was looked up
	fresh  int                    // how many there are
	batch  *batch                 // nil: each reference is counted by itself
	later  *stream.Behind[parcel] // what counts all but the list of recent lines meanwhile; nil: nobody
	when   laterWhen
	room   [1 << unitBits]uint32
	table  []entry
	used   int
	times  times  // of each line's last use, but for recent ones
	now    uint32 // the last one in it

	limit     int    // lines followed at most; 0: all
	threshold uint64 // of a line's hash
	heap      hashHeap
	sample    sample

	part part

	sets     workingSets
	distinct uint64 // lines met
}

// entry is a line that is followed. line is its number plus one, 0: free.
type entry struct {
	line  uint64
	time  uint32
	epoch uint32
}

// recents is how many lines are kept as a list.
const recents = 16

// nowhere is no place in the table.
const nowhere = ^uint32(0)

// recent is what there is of a recent line beside its number.
type recent struct{ epoch, at uint32 }

// New counts distances between lines of so many bytes, a power of two. limit is how many
// lines a sample follows at most; 0: all lines, exactly, with working sets over time.
func New(line uint64, limit int) *Counter {
	c := newCounter(line, limit)
	if haveVector() {
		c.batch = newBatch()
	}
	return c
}

// newCounter counts one by one.
func newCounter(line uint64, limit int) *Counter {
	return &Counter{shift: uint(bits.TrailingZeros64(line)), table: make([]entry, 1<<12), times: newTimes(1 << 14),
		limit: limit, threshold: ^uint64(0), sample: newSample(limit), when: laterWhen{after: laterAfter}}
}

// Rate is the share of lines that is followed: 1 if all are.
func (c *Counter) Rate() float64 { return float64(c.threshold) / (1 << 64) }

// ref refers to a line that is followed.
func (c *Counter) ref(line uint64) {
	key := line + 1
	if c.recent[0] == key { // a third of all references and more
		c.again(0, key)
		return
	}
	for k := 1; k < len(c.recent); k++ { // behind those that there are 0 stands
		if c.recent[k] == key {
			c.again(k, key)
			return
		}
	}
	epoch, at := c.far(line, lanes.Hash(line))
	c.push(key, epoch, at)
}

// far counts a reference to a line that is not recent, and gives up its time. It tells in which unit the line was used before (0:
// never), and where its entry is.
func (c *Counter) far(line, h uint64) (epoch, at uint32) {
	at = uint32(c.index(line, h))
	e := &c.table[at]
	if e.line == 0 {
		c.first(e, line, h)
		return 0, at
	}
	c.count(uint64(c.fresh) + c.times.after(e.time))
	c.times.remove(e.time)
	e.time = 0
	return e.epoch, at
}

// again refers to a recent line.
func (c *Counter) again(k int, key uint64) {
	c.count(uint64(k))
	r := recent{c.epochs[k], c.places[k]}
	if e := c.epoch(); r.epoch != e && c.limit == 0 {
		c.sets.touch(r.epoch, e)
		r.epoch = e
	}
	for ; k > 0; k-- { // mostly few: a call that moves them would take longer
		c.recent[k], c.epochs[k], c.places[k] = c.recent[k-1], c.epochs[k-1], c.places[k-1]
	}
	c.recent[0], c.epochs[0], c.places[0] = key, r.epoch, r.at
}

// push puts a line in front of the recent ones. The last of them gets a time, which is later than all others.
func (c *Counter) push(key uint64, epoch, at uint32) {
	now := c.epoch()
	if epoch != now && c.limit == 0 {
		c.sets.touch(epoch, now)
	}
	if c.fresh == recents {
		c.tick(c.recent[recents-1], recent{c.epochs[recents-1], c.places[recents-1]})
	} else {
		c.fresh++
	}
	copy(c.recent[1:], c.recent[:])
	copy(c.epochs[1:], c.epochs[:])
	copy(c.places[1:], c.places[:])
	c.recent[0], c.epochs[0], c.places[0] = key, now, at
}

// count adds a reference at a distance, of a sample between lines that are followed.
func (c *Counter) count(d uint64) { c.add(d, 1) }

// add adds some of them.
func (c *Counter) add(d uint64, n float64) {
	if c.limit > 0 {
		d = uint64(float64(d) * c.sample.weight)
	}
	b := bucket(d)
	c.at(b)
	c.Hist[b] += n
}

// at makes a bucket be there.
func (c *Counter) at(b int) {
	for b >= len(c.Hist) {
		c.Hist = append(c.Hist, 0)
	}
}

// first notes a line that was not used before.
func (c *Counter) first(e *entry, line, h uint64) {
	c.Cold++
	c.distinct++
	*e = entry{line: line + 1}
	c.used++
	if c.limit > 0 {
		heap.Push(&c.heap, hashed{h, line})
	}
	if c.used*2 > len(c.table) {
		c.grow()
	}
}

// tick gives a line that was recent the next time.
func (c *Counter) tick(key uint64, r recent) {
	if c.now+1 >= c.times.room() {
		c.renumber()
	}
	c.now++
	// The table may have grown since, or lost an entry in front of it.
	if int(r.at) >= len(c.table) || c.table[r.at].line != key {
		r.at = uint32(c.index(key-1, lanes.Hash(key-1)))
	}
	e := &c.table[r.at]
	e.time, e.epoch = c.now, r.epoch
	c.times.add(c.now)
}

// find returns the entry of a line, or the free one where it belongs.
func (c *Counter) find(line, h uint64) *entry { return &c.table[c.index(line, h)] }

// homeShift: bits of a hash that places in the table do not go by, as they are the same of too many lines.
const homeShift = 28

// home is the place in the table that is looked at first.
func home(hash, mask uint64) uint64 { return hash >> homeShift & mask }

// index is where that is.
func (c *Counter) index(line, h uint64) uint64 {
	mask := uint64(len(c.table) - 1)
	for i := home(h, mask); ; i = (i + 1) & mask {
		if e := &c.table[i]; e.line == line+1 || e.line == 0 {
			return i
		}
	}
}

// grow doubles the table.
func (c *Counter) grow() {
	old := c.table
	c.table = make([]entry, 2*len(old))
	for _, e := range old {
		if e.line != 0 {
			*c.find(e.line-1, lanes.Hash(e.line-1)) = e
		}
	}
}
