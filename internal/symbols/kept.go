package symbols

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A table of functions is kept from one run to the next: making a compiler's takes tens of milliseconds of sorting and of garbage, reading it one. An
// entry is for one version of an image's file, of whatever debug files lie where they are looked for, and of whoever makes the table (Options.KeptFor).
// Where a server may be asked for debug files the table is another as soon as it has some: that is part of the key, and such tables are not kept.
//
// Refused: to make the parts of a table that are asked for. The name and the bounds of a function depend on all symbols before it and on the unwind
// records around it, and code that is new has to be looked up by address, which a start always has a little of.

// Store is where tables of functions stay between runs, entries by keys. diskcache.Dir is one.
type Store interface {
	Load(key string) ([]byte, error)
	Store(key, about string, parts [][]byte) error
}

// KeptTable is what is said, as JSON, about an entry.
type KeptTable struct {
	Image     string `json:"image"`
	Functions int    `json:"functions"`
}

// leastKept is how many functions a table has that is worth a file: reading one takes as long as making fewer.
const leastKept = 256

// fileVersion is a file as it is now, in words; old tells whether all of it lies before a time, so that no later change can look like it.
func fileVersion(info os.FileInfo, than time.Time) (version string, old bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	changed := time.Unix(s.Ctim.Sec, s.Ctim.Nsec)
	// The kernel's clock for files ticks 100 times a second or more.
	return fmt.Sprint(s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim), changed.Before(than.Add(-50 * time.Millisecond))
}

// keptKey is what the table of functions depends on; "" where that cannot be said, or has changed since the image was opened.
func (im *Image) keptKey() string {
	f, ok := im.src.r.(*os.File)
	if !ok || im.opts.Kept == nil || im.opts.Fetcher != nil {
		return ""
	}
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	version, old := fileVersion(info, im.opened)
	key := []string{"functions 2", im.opts.KeptFor, version, im.BuildID}
	for _, path := range im.debugPaths() {
		if info, err := os.Stat(path); err == nil {
			version, before := fileVersion(info, im.opened)
			key, old = append(key, path, version), old && before
		}
	}
	if !old {
		return ""
	}
	return strings.Join(key, "\n")
}

// keptTable is the table as an earlier run has left it; nil if there is none.
func (im *Image) keptTable() []byte {
	im.keptOnce.Do(func() {
		key := im.keptKey()
		if key == "" {
			return
		}
		// One that is damaged is gone by now.
		if b, err := im.opts.Kept.Load(key); err == nil && len(b) >= keptHead {
			im.kept = b
		}
	})
	return im.kept
}

// takeKept has the table be the one of an earlier run, if there is one.
func (im *Image) takeKept() bool {
	fns, ok := decodeFunctions(im.keptTable())
	if !ok {
		return false
	}
	for i := range fns {
		fns[i].image = im
	}
	im.fns, im.isKept = fns, true
	return true
}

// keep leaves a table that was made in this run to later ones.
func (im *Image) keep() error {
	if !im.made.Load() || im.isKept || len(im.fns) < leastKept || im.problem != nil {
		return nil
	}
	key := im.keptKey()
	if key == "" {
		return nil
	}
	about, err := json.Marshal(KeptTable{Image: im.Path, Functions: len(im.fns)})
	if err != nil {
		return fmt.Errorf("functions of %s: %w", im.Name, err)
	}
	return im.opts.Kept.Store(key, string(about), [][]byte{encodeFunctions(im.fns, im.Sum())})
}

// keptHead is how many bytes stand in front of a kept table: its sum and the number of functions, which are asked for without the table.
const keptHead = 16

// encodeFunctions is a table as bytes: its sum and how many functions; the versions of dynamic symbols; for each function how far it lies from the one before, its size, its
// source and kind, and of each name the length, whether its version is the default, and the version's place in the list from 1 on; then all names.
func encodeFunctions(fns []Function, sum uint64) []byte {
	var body, names []byte
	var versions []string
	numbers := map[string]int{"": 0}
	last := uint64(0)
	for i := range fns {
		f := &fns[i]
		body = binary.AppendUvarint(body, f.Addr-last)
		body = binary.AppendUvarint(body, f.Size)
		body = append(body, byte(f.Source), byte(f.Kind))
		body = binary.AppendUvarint(body, uint64(len(f.Aliases)))
		for _, a := range f.Aliases {
			n, ok := numbers[a.Version]
			if !ok {
				versions = append(versions, a.Version)
				n = len(versions)
				numbers[a.Version] = n
			}
			body = binary.AppendUvarint(body, uint64(len(a.Linked))<<1|uint64(b2i(a.Default)))
			body = binary.AppendUvarint(body, uint64(n))
			names = append(names, a.Linked...)
		}
		last = f.Addr
	}
	b := binary.LittleEndian.AppendUint64(nil, sum)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(fns)))
	b = binary.AppendUvarint(b, uint64(len(versions)))
	for _, v := range versions {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	b = binary.AppendUvarint(b, uint64(len(body)))
	return slices.Concat(b, body, names)
}

// decodeFunctions is the table that encodeFunctions wrote. Functions have no image yet; ok is false for other bytes.
func decodeFunctions(b []byte) (fns []Function, ok bool) {
	c := &cursor{b: b}
	c.u64() // its sum
	n := c.u64()
	versions := []string{""}
	for range bounded(c) {
		versions = append(versions, string(c.take(c.uleb())))
	}
	body := &cursor{b: c.take(c.uleb())}
	names := string(c.take(c.left()))
	if c.bad || n > uint64(len(body.b)) {
		return nil, false
	}
	fns = make([]Function, 0, n)
	aliases := make([]Alias, 0, n)
	last := uint64(0)
	for i := range n {
		f := Function{Addr: last + body.uleb(), Size: body.uleb(), Source: Source(body.u8()), Kind: Kind(body.u8())}
		if f.Source > Unwind || f.Kind > PLT || i > 0 && f.Addr <= last {
			return nil, false
		}
		start := len(aliases)
		for range bounded(body) {
			length, version := body.uleb(), body.uleb()
			if length>>1 > uint64(len(names)) || version >= uint64(len(versions)) {
				return nil, false
			}
			aliases = append(aliases, Alias{Linked: names[:length>>1], Version: versions[version], Default: length&1 != 0})
			names = names[length>>1:]
		}
		f.Aliases = aliases[start:len(aliases):len(aliases)]
		fns, last = append(fns, f), f.Addr
	}
	if body.bad || body.left() > 0 || names != "" {
		return nil, false
	}
	return fns, true
}

// bounded is a number of things of which each takes a byte at least, 0 where there are not as many bytes.
func bounded(c *cursor) uint64 {
	n := c.uleb()
	if n > c.left() {
		c.bad = true
		return 0
	}
	return n
}
