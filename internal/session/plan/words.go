package plan

import (
	"cmp"
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"strings"

	"alleria/config"
	"alleria/internal/records"
	"alleria/internal/symbols"
)

// Recording code that stays on disk has numbers of another run in it. What they mean is told in words: images by all that a configuration may name them by, functions by
// their place in the table of their image, which is told by a sum over all of its names and bounds. That sum is another as soon as somebody installs separate debug
// files or strips a library's copy of symbols: then other code is chosen by name, and what was kept is not taken over.
//
// A choice by parameters' types depends on debug information that is in no such sum: it is not told.

// toldImage is an image of an earlier run.
type toldImage struct {
	key    config.ImageKey
	sum    uint64 // of its functions
	number uint32
	funcs  []numbered
	found  *symbols.Image // in this run; nil: not yet
}

// tellable tells whether an image can be found again in another run: the kernel's own, and files that are gone, cannot.
func tellable(l *symbols.Loaded) bool { return strings.HasPrefix(l.Path, "/") && !l.Deleted }

// Words tells the names for another run; nil where they cannot be told.
func (n *Names) Words() []byte {
	if n.keys == nil {
		return nil
	}
	told := make([]*toldImage, 0, len(n.keys)+len(n.told))
	for _, t := range n.told {
		if t.found == nil { // of an earlier run still
			told = append(told, t)
		}
	}
	for im, key := range n.keys {
		told = append(told, &toldImage{key: key, sum: im.Sum(), number: n.images[im], funcs: n.funcs[im].copied().list})
	}
	slices.SortFunc(told, func(x, y *toldImage) int { return cmp.Compare(x.number, y.number) })
	b := binary.AppendUvarint(nil, uint64(n.lastImage))
	b = binary.AppendUvarint(b, uint64(n.lastFunc))
	b = binary.AppendUvarint(b, uint64(len(told)))
	for _, t := range told {
		b = appendKey(b, &t.key)
		b = binary.LittleEndian.AppendUint64(b, t.sum)
		b = binary.AppendUvarint(b, uint64(t.number))
		b = binary.AppendUvarint(b, uint64(len(t.funcs)))
		for _, f := range t.funcs {
			b = binary.AppendUvarint(b, uint64(f.at))
			b = binary.AppendUvarint(b, uint64(f.number))
		}
	}
	return b
}

// appendKey adds what an image is known by.
func appendKey(b []byte, k *config.ImageKey) []byte {
	flags := byte(0)
	if k.Main {
		flags |= 1
	}
	if k.System {
		flags |= 2
	}
	b = append(b, flags)
	for _, list := range [][]string{{k.Path, k.Name}, k.Names, k.Paths} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return b
}

// NamesOf is the Names that words tell; nil where they tell none, or facts have higher numbers than there are.
func NamesOf(words []byte, high records.Highest) *Names {
	r := &reader{b: words}
	n := &Names{images: make(map[*symbols.Image]uint32), funcs: make(map[*symbols.Image]*places),
		told: make(map[string]*toldImage), keys: make(map[*symbols.Image]config.ImageKey), allTold: true}
	images, funcs := r.number(1<<31), r.number(1<<31)
	n.lastImage, n.lastFunc = uint32(images), uint32(funcs)
	used := make(map[uint32]bool)
	for range r.number(uint64(len(words))) {
		t := &toldImage{key: r.key(), sum: r.sum(), number: uint32(r.number(images))}
		for range r.number(uint64(len(r.b))) {
			t.funcs = append(t.funcs, numbered{uint32(r.number(1 << 31)), uint32(r.number(funcs))})
		}
		if r.bad || t.number == 0 || used[t.number] || n.told[t.key.Path] != nil {
			return nil
		}
		n.told[t.key.Path], used[t.number] = t, true
	}
	if r.bad || len(r.b) > 0 || high.Image > n.lastImage || high.Func > n.lastFunc || !distinct(n.told) {
		return nil
	}
	return n
}

// Paths is where the images lie that an earlier run has told of, in the order of their numbers, which is about that in which they were loaded; main is the program's own, empty if it is not among them.
func (n *Names) Paths() (all []string, main string) {
	told := slices.Collect(maps.Values(n.told))
	slices.SortFunc(told, func(x, y *toldImage) int { return cmp.Compare(x.number, y.number) })
	for _, t := range told {
		all = append(all, t.key.Path)
		if t.key.Main {
			main = t.key.Path
		}
	}
	return all, main
}

// distinct tells whether no two functions have the same number, and none has none.
func distinct(told map[string]*toldImage) bool {
	var all []uint32
	for _, t := range told {
		for _, f := range t.funcs {
			all = append(all, f.number)
		}
	}
	slices.Sort(all)
	return (len(all) == 0 || all[0] > 0) && len(slices.Compact(all)) == len(all)
}

// find looks whether what an earlier run has told of an image holds for this one, which a process has loaded; true where an earlier run has nothing to do with it.
func (n *Names) find(l *symbols.Loaded, t *Tables) bool {
	told := n.told[l.Path]
	if told == nil {
		return !n.allTold
	}
	if !tellable(l) || !reflect.DeepEqual(told.key, t.Key(l)) {
		return false
	}
	if told.found != nil {
		return told.found == l.Image
	}
	if l.Image.Sum() != told.sum {
		return false
	}
	all := l.Image.NumFunctions()
	for _, f := range told.funcs {
		if int64(f.at) >= int64(all) {
			return false
		}
	}
	told.found, n.images[l.Image], n.funcs[l.Image], n.keys[l.Image] = l.Image, told.number, &places{list: told.funcs}, told.key
	return true
}

// reader reads what Words wrote. Once something is not there, nothing further is.
type reader struct {
	b   []byte
	bad bool
}

// number is the next number, up to most.
func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// bytes is the next n bytes.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// sum is the next sum.
func (r *reader) sum() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// texts is the next list of texts, nil where it is empty.
func (r *reader) texts() (list []string) {
	for range r.number(uint64(len(r.b))) {
		list = append(list, string(r.bytes(r.number(uint64(len(r.b))))))
	}
	return list
}

// key is what appendKey added.
func (r *reader) key() (k config.ImageKey) {
	if flags := r.bytes(1); flags != nil {
		k.Main, k.System = flags[0]&1 != 0, flags[0]&2 != 0
	}
	if own := r.texts(); len(own) == 2 {
		k.Path, k.Name = own[0], own[1]
	} else {
		r.bad = true
	}
	k.Names, k.Paths = r.texts(), r.texts()
	return k
}
