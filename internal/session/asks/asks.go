// Package asks finds where programs make system calls that have to be known of: ptrace, clone, setrlimit (package engine/asking).
//
// In a nutshell: Finder.Sites looks at what is mapped in a process, and at each file once (find.go), for instructions that a breakpoint shows such a call at (package
// engine/asking). A process that maps as much as before is not looked at again until it executes another program (Forget). Finder.Library looks at the C library, or a small static program, alone, when a process is to run natively.
//
// Followed is what of this a process needs that is followed and not traced: nothing where nothing mapped can reach the C library's calls (reach.go), which most programs are known by when they have run once.
//
// The run asks it for the engine, Sites and Followed whenever a process creates another one. It keeps what it has found; only the tracer's goroutine uses it.
package asks

import (
	"debug/elf"
	"fmt"
	"slices"

	"alleria/engine/asking"
	"alleria/internal/session/executables"
	"alleria/internal/sys"
)

// Finder remembers what was found.
type Finder struct {
	files     map[file]found
	libraries map[file]found               // what Library has looked at
	fills     map[file]found               // what Fills has looked at
	links     map[file]found               // what reaches has looked at
	spaces    map[int]space                // by process
	still     map[executables.Program]bool // programs in which there is nothing for who is followed, whatever they do
	open      int                          // how many of them have a file
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
	reach reach
}

// space is what is known of a process, for as long as it maps as much.
type space struct {
	program executables.Program
	all     answer           // of Sites
	needed  answer           // of Followed
	pages   *sys.MappedPages // nil: too many are open
}

// answer is what was found when so much was mapped.
type answer struct {
	known  bool
	mapped uint64
	sites  []asking.Site
}

// mostSpaces is how many processes are remembered, and mostOpen of how many a file is.
const mostSpaces, mostOpen = 1000, 50

// Executes says what a process executes from here on, in place of what it did.
func (f *Finder) Executes(pid int, p executables.Program) {
	f.Forget(pid)
	if p != (executables.Program{}) {
		f.keep(pid, space{program: p})
	}
}

// Created says that a process has created another one, which executes what it does.
func (f *Finder) Created(child, creator int) { f.Executes(child, f.spaces[creator].program) }

// Sites is where the code of a process makes the calls. What cannot be read has none.
func (f *Finder) Sites(pid int) []asking.Site {
	return f.known(pid, func(s *space) *answer { return &s.all }, func(_ *space, maps []sys.Mapping) (sites []asking.Site) {
		for i := range maps {
			sites = add(sites, &maps[i], look(&f.files, pid, &maps[i], find))
		}
		return sites
	})
}

// Followed is Sites for a process that is followed and not traced, without what nothing mapped there can reach.
func (f *Finder) Followed(pid int) []asking.Site {
	if f.still[f.spaces[pid].program] {
		return nil
	}
	return f.known(pid, func(s *space) *answer { return &s.needed }, func(s *space, maps []sys.Mapping) []asking.Site {
		r := reaches{finder: f, pid: pid}
		for i := range maps {
			r.add(&maps[i])
		}
		sites := r.needed()
		if s.program != (executables.Program{}) && !r.finds && len(sites) == 0 {
			if f.still == nil {
				f.still = make(map[executables.Program]bool)
			}
			f.still[s.program] = true
		}
		return sites
	})
}

// known is an answer about a process, which is found by the mappings of its code where it maps another amount than when it was found last.
func (f *Finder) known(pid int, which func(s *space) *answer, find func(s *space, maps []sys.Mapping) []asking.Site) []asking.Site {
	s := f.spaces[pid]
	mapped, err := f.mapped(pid, &s)
	if err != nil {
		f.Forget(pid)
		return nil
	}
	f.keep(pid, s)
	a := which(&s)
	if a.known && a.mapped == mapped {
		return a.sites
	}
	maps, err := sys.CodeFiles(pid)
	if err != nil {
		return nil
	}
	maps = slices.DeleteFunc(maps, func(m sys.Mapping) bool { return m.Inode == 0 || m.Writable() })
	*a = answer{known: true, mapped: mapped, sites: find(&s, maps)}
	f.spaces[pid] = s
	return a.sites
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
