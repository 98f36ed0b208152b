package asks

import (
	"debug/elf"
	"slices"
	"strings"

	"alleria/engine/asking"
	"alleria/internal/sys"
)

// Nearly every process has a C library mapped, whose ptrace and clone nearly nobody calls. To put breakpoints there costs a followed process two pages of its own, and to look for them questions about what it maps: as much as all of its
// reports. So where none of the other files links to these functions, or to those that look functions up or load more files, the C library's sites are left out: a program that
// calls them all the same finds them by reading its own memory.
//
// Which files are mapped is settled, where nobody can load more, by the executable and what the dynamic linker is told. So the first process of a program that was looked at speaks for those that come.
// Not seen is that a library which such a program is linked to is replaced by another one that calls them, while the tree runs.

// reach is what a file can get at in others.
type reach struct {
	libc   bool // it is the C library, or the dynamic linker: nobody's doing but that of who calls it
	linked bool // it takes part in dynamic linking, so that the rest is known
	calls  bool // it links to ptrace or clone
	finds  bool // it links to what looks functions up by their names, or loads files
}

// reachOf is that of a file.
func reachOf(e *elf.File) (r reach) {
	name := soname(e)
	r.libc = isLibc(name) || strings.HasPrefix(name, "ld-linux")
	symbols, err := e.DynamicSymbols()
	if r.linked = err == nil; !r.linked {
		return r
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			continue
		}
		switch s.Name {
		case "ptrace", "clone", "__clone":
			r.calls = true
		case "dlopen", "dlmopen", "dlsym", "dlvsym", "__libc_dlopen_mode", "__libc_dlsym":
			r.finds = true
		}
	}
	return r
}

// findReach is what a file can get at, and none of its sites, for which all of its code is looked through.
func findReach(path string, inode uint64) (in found) {
	e, done, err := open(path, inode)
	if err != nil {
		return found{}
	}
	defer done()
	return found{reach: reachOf(e)}
}

// reaches is what there is in a process.
type reaches struct {
	finder *Finder
	pid    int
	own    []asking.Site  // of others than C libraries
	libcs  []*sys.Mapping // of C libraries
	calls  bool           // somebody may call what is a C library's
	finds  bool           // more may be mapped than is there now
}

// add adds the file of a mapping.
func (r *reaches) add(m *sys.Mapping) {
	in := look(&r.finder.links, r.pid, m, findReach).reach
	if in.libc {
		r.libcs = append(r.libcs, m)
		return
	}
	r.own = add(r.own, m, look(&r.finder.files, r.pid, m, find))
	r.calls = r.calls || in.calls || in.finds || !in.linked
	r.finds = r.finds || in.finds || !in.linked
}

// needed is the sites that somebody may come to.
func (r *reaches) needed() []asking.Site {
	sites := r.own
	if r.calls {
		for _, m := range r.libcs {
			sites = add(sites, m, look(&r.finder.files, r.pid, m, find))
		}
	}
	return slices.DeleteFunc(sites, func(s asking.Site) bool { return !s.ForFollowed() })
}
