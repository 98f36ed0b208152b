package symbols

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
)

// Loaded is an image in a process. Immutable.
type Loaded struct {
	Image   *Image // what is in it
	Path    string // as in maps; "[vdso]" for that
	Name    string // the file name alone
	Bias    uint64 // what to add to the image's addresses; 0 for a fixed program
	Start   uint64 // the first address, MinVaddr + Bias
	End     uint64 // behind the last
	Main    bool   // the main executable
	System  bool   // the system's: below the loader's directories, or the vdso
	Deleted bool   // the file has been unlinked or replaced since
}

// Address turns an address of the process into one of the image.
func (l *Loaded) Address(addr uint64) uint64 { return addr - l.Bias }

// MapOptions are what a Map needs to know of the process.
type MapOptions struct {
	// Cache opens images. Required.
	Cache *Cache
	// Root is put before paths, for processes in another root directory:
	// /proc/PID/root, or empty.
	Root string
	// Exe is the path of the main executable as maps shows it. Empty: the
	// image with Entry tells, else none is main.
	Exe string
	// Entry is AT_ENTRY of the auxiliary vector, 0 when not known.
	Entry uint64
	// Memory reads the process, for the vdso and for files that are gone. May
	// be nil: these then have no image.
	Memory io.ReaderAt
	// SystemDirs is what SystemDirs found; nil: nothing is the system's but
	// the vdso.
	SystemDirs []string
}

// Map is which images a process has loaded where. Look-ups take no lock and may
// go on during an Update, which must not run twice at once.
type Map struct {
	opts  MapOptions
	state atomic.Pointer[mapState]
}

// mapState is one version of a Map; immutable.
type mapState struct {
	loaded []*Loaded
	ranges []mapRange // by start, not overlapping
}

// mapRange is a segment in memory.
type mapRange struct {
	start, end uint64
	in         *Loaded
}

// NewMap makes an empty map; Update fills it.
func NewMap(opts MapOptions) *Map {
	m := &Map{opts: opts}
	m.state.Store(&mapState{})
	return m
}

// Images lists what is loaded, by address.
func (m *Map) Images() []*Loaded { return m.state.Load().loaded }

// Main is the main executable, nil when not known.
func (m *Map) Main() *Loaded {
	for _, l := range m.Images() {
		if l.Main {
			return l
		}
	}
	return nil
}

// ByAddr finds the image that an address of the process is in, and the address
// in the image's own terms; nil for memory of no image.
func (m *Map) ByAddr(addr uint64) (*Loaded, uint64) {
	r := m.state.Load().ranges
	i := sort.Search(len(r), func(i int) bool { return r[i].start > addr }) - 1
	if i < 0 || addr >= r[i].end {
		return nil, 0
	}
	return r[i].in, r[i].in.Address(addr)
}

// Function finds the image and the function at an address of the process; the
// function is nil for code that belongs to none.
func (m *Map) Function(addr uint64) (*Loaded, *Function) {
	l, vaddr := m.ByAddr(addr)
	if l == nil {
		return nil, nil
	}
	return l, l.Image.Lookup(vaddr)
}

// Update replaces the map by what the mappings show and tells which images came
// and went. An image that stays keeps its *Loaded.
func (m *Map) Update(mappings []Mapping) (loaded, unloaded []*Loaded) {
	// A new state is made beside the old one and put in its place at the end, so
	// that readers see the one or the other, never a mixture.
	old := m.state.Load()
	next := &mapState{}
	// Each file is looked at once and not with each of its mappings.
	files := make(map[mappedFile]*Image)
	for at := range mappings {
		if l := m.at(mappings, at, next.loaded, files); l != nil {
			next.loaded = append(next.loaded, l)
		}
	}
	for i, l := range next.loaded {
		if same := find(old.loaded, l); same != nil {
			next.loaded[i] = same
		} else {
			loaded = append(loaded, l)
		}
	}
	for _, l := range old.loaded {
		if find(next.loaded, l) == nil {
			unloaded = append(unloaded, l)
		}
	}
	slices.SortFunc(next.loaded, func(x, y *Loaded) int { return cmp.Compare(x.Start, y.Start) })
	for _, l := range next.loaded {
		// By segment and not from the first address to the last: other mappings may
		// lie in the holes between.
		for _, s := range l.Image.Segments {
			r := mapRange{pageDown(s.Vaddr) + l.Bias, pageUp(s.Vaddr+s.MemSize) + l.Bias, l}
			// Segments may share a page; the first has it.
			if n := len(next.ranges); n > 0 && r.start < next.ranges[n-1].end {
				r.start = next.ranges[n-1].end
			}
			if r.start < r.end {
				next.ranges = append(next.ranges, r)
			}
		}
	}
	m.state.Store(next)
	return loaded, unloaded
}

// find finds the same image at the same place.
func find(in []*Loaded, l *Loaded) *Loaded {
	for _, o := range in {
		if o.Bias == l.Bias && o.Path == l.Path && o.Start == l.Start && (o.Image == l.Image || o.Deleted || o.Image.src.size < 0) {
			return o
		}
	}
	return nil
}

// at finds out whether a mapping shows code of an image that is not in the list
// yet.
func (m *Map) at(mappings []Mapping, at int, known []*Loaded, files map[mappedFile]*Image) *Loaded {
	p := &mappings[at]
	if p.isVDSO() {
		return m.vdso(p)
	}
	if !p.isFile() {
		return nil
	}
	im, stale := m.open(mappings, at, files)
	if im == nil {
		return nil
	}
	places := im.placements(p)
	// A page that fits what is already there is no second copy.
	for _, place := range places {
		for _, l := range known {
			if l.Bias == place.bias && l.Path == p.Path {
				return nil
			}
		}
	}
	// Data alone is no sign of a loaded image: the loader maps code first.
	for _, place := range places {
		if place.code {
			return m.newLoaded(im, p.Path, place.bias, stale)
		}
	}
	return nil
}

// newLoaded fills a Loaded in.
func (m *Map) newLoaded(im *Image, path string, bias uint64, stale bool) *Loaded {
	l := &Loaded{Image: im, Path: path, Name: filepath.Base(path), Bias: bias, Deleted: stale}
	l.Start = im.MinVaddr() + bias
	for _, s := range im.Segments {
		l.End = max(l.End, pageUp(s.Vaddr+s.MemSize)+bias)
	}
	l.System = below(path, m.opts.SystemDirs)
	// The entry point can't be mistaken; a path may be one of several links.
	if m.opts.Entry != 0 {
		l.Main = im.Entry+bias == m.opts.Entry
	} else {
		l.Main = path == strings.TrimSuffix(m.opts.Exe, deletedMark)
	}
	return l
}
