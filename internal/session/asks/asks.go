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
}

// mostSpaces is how many processes are remembered.
const mostSpaces = 1000

// Sites is where the code of a process makes the calls. What cannot be read has none.
func (f *Finder) Sites(pid int) []asking.Site {
	mapped, err := sys.MappedPages(pid)
	if err != nil {
		return nil
	}
	if s, ok := f.spaces[pid]; ok && s.mapped == mapped {
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
	if f.spaces == nil || len(f.spaces) > mostSpaces {
		f.spaces = make(map[int]space)
	}
	f.spaces[pid] = space{mapped, sites}
	return sites
}

// Forget says that a process has executed another program, or ended.
func (f *Finder) Forget(pid int) { delete(f.spaces, pid) }

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
