// Package asks finds where programs make system calls that have to be known of: ptrace, clone, setrlimit (package engine/asking).
//
// In a nutshell: Finder.Sites looks at what is mapped in a process, and at each file once (find.go), for instructions that a breakpoint shows such a call at (package
// engine/asking). A process that maps as much as before is not looked at again until it executes another program (Forget). Finder.Library looks at the C library, or a small static program, alone, when a process is to run natively.
//
// The run asks it for the engine, Sites whenever a process creates another one. It keeps what it has found; only the tracer's goroutine uses it.
package asks

import (
	"debug/elf"
	"fmt"
	"slices"

	"alleria/engine/asking"
	"alleria/internal/sys"
)

// Finder remembers what was found.
type Finder struct {
	files     map[file]found
	libraries map[file]found // what Library has looked at
	fills     map[file]found // what Fills has looked at
	spaces    map[int]space  // by process
	open      int            // how many of them have a file
}

// file is one by its device and number, as mappings have it.
type file struct {
	dev   string
	inode uint64
}

// found is what there is in a file: sites by the addresses that it is linked for.
type found struct {
	loads []elf.ProgHeader
	sites []asking.Site
}

// space is what is known of a process, for as long as it maps as much.
type space struct {
	mapped uint64
	sites  []asking.Site
	pages  *sys.MappedPages // nil: too many are open
}

// mostSpaces is how many processes are remembered, and mostOpen of how many a file is.
const mostSpaces, mostOpen = 1000, 50

// Sites is where the code of a process makes the calls. What cannot be read has none.
func (f *Finder) Sites(pid int) []asking.Site {
	s, known := f.spaces[pid]
	mapped, err := f.mapped(pid, &s)
	if err != nil {
		f.Forget(pid)
		return nil
	}
	f.keep(pid, s)
	if known && s.mapped == mapped {
		return s.sites
	}
	maps, err := sys.CodeFiles(pid)
	if err != nil {
		return nil
	}
	var sites []asking.Site
	for i := range maps {
		if m := &maps[i]; m.Inode != 0 && !m.Writable() {
			sites = add(sites, m, look(&f.files, pid, m, find))
		}
	}
	s.mapped, s.sites = mapped, sites
	f.spaces[pid] = s
	return sites
}

// mapped is how much a process maps, by its file, which is opened if it has none and there is room for it.
func (f *Finder) mapped(pid int, s *space) (uint64, error) {
	if s.pages != nil {
		return s.pages.Read()
	}
	pages, err := sys.OpenMappedPages(pid)
	if err != nil {
		return 0, err
	}
	n, err := pages.Read()
	if err != nil || f.open >= mostOpen {
		pages.Close()
		return n, err
	}
	f.open++
	s.pages = pages
	return n, nil
}

// keep keeps what is known of a process.
func (f *Finder) keep(pid int, s space) {
	if f.spaces == nil {
		f.spaces = make(map[int]space)
	}
	if len(f.spaces) > mostSpaces {
		for other := range f.spaces {
			if other != pid {
				f.Forget(other)
			}
		}
	}
	f.spaces[pid] = s
}

// Forget says that a process has executed another program, or ended.
func (f *Finder) Forget(pid int) {
	s, ok := f.spaces[pid]
	if !ok {
		return
	}
	if s.pages != nil {
		s.pages.Close()
		f.open--
	}
	delete(f.spaces, pid)
}

// Library is where a process's C library makes the calls, or the process itself, if it is small and static: what nearly all calls go through, found in a moment.
func (f *Finder) Library(pid int) (sites []asking.Site) {
	maps, err := sys.Maps(pid)
	if err != nil {
		return nil
	}
	for i := range maps {
		if m := &maps[i]; m.Exec() && m.Inode != 0 && !m.Writable() {
			sites = add(sites, m, look(&f.libraries, pid, m, findLibrary))
		}
	}
	return sites
}

// Fills tells whether code that is mapped in a process calls userfaultfd: some of its memory may be filled when it is asked for.
func (f *Finder) Fills(pid int) bool {
	maps, err := sys.Maps(pid)
	return err == nil && slices.ContainsFunc(maps, func(m sys.Mapping) bool {
		return m.Exec() && m.Inode != 0 && !m.Writable() && len(look(&f.fills, pid, &m, findFills).sites) > 0
	})
}

// look is what there is in the file of a mapping, which may lack its path, looked through by find the first time.
func look(files *map[file]found, pid int, m *sys.Mapping, find func(path string, inode uint64) found) found {
	key := file{m.Dev, m.Inode}
	in, ok := (*files)[key]
	if !ok {
		path := m.Path
		if path == "" {
			named, _, err := sys.MapAt(pid, m.Start)
			if err != nil || named.Inode != m.Inode { // it is ending: another process will tell
				return found{}
			}
			path = named.Path
		}
		in = find(fmt.Sprintf("/proc/%d/root%s", pid, path), m.Inode)
		if *files == nil {
			*files = make(map[file]found)
		}
		(*files)[key] = in
	}
	return in
}

// add adds the sites of a mapping of a file.
func add(sites []asking.Site, m *sys.Mapping, in found) []asking.Site {
	for _, site := range in.sites {
		for _, l := range in.loads {
			if site.At < l.Vaddr || site.At >= l.Vaddr+l.Filesz {
				continue
			}
			if off := l.Off + site.At - l.Vaddr; off >= m.Offset && off < m.Offset+m.End-m.Start {
				by := m.Start + off - m.Offset - site.At
				site.At, site.To = site.At+by, site.To+by
				sites = append(sites, site)
				break
			}
		}
	}
	return sites
}
