package symbols

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// What the dynamic loader will map is found by the loader's own rules and not
// by asking it (ldd, LD_TRACE_LOADED_OBJECTS): that would execute a program
// which somebody may only want to look at.

// maxLibraries bounds the list against libraries that need each other's
// ever new names; the largest programs have a few hundred.
const maxLibraries = 4096

// df1NoDefLib is DF_1_NODEFLIB of <elf.h>: not from the default directories.
const df1NoDefLib = 0x800

// Library is an image that a program's loader maps before main.
type Library struct {
	Name  string // as it was asked for: libc.so.6, or a path
	Path  string // where it was found, links resolved, as maps will show it; empty: nowhere
	By    string // the path of the first image that asked
	Image *Image // nil where Path is empty; belongs to the Cache

	parent *Library // the first that asked; nil for the program
}

// LoaderEnv is what the loader takes from the environment. The zero value is
// an environment without any of it.
type LoaderEnv struct {
	LibraryPath string // LD_LIBRARY_PATH
	Preload     string // LD_PRELOAD
}

// LoaderEnvFrom reads the variables with a function such as os.Getenv.
func LoaderEnvFrom(getenv func(string) string) LoaderEnv {
	return LoaderEnv{LibraryPath: getenv("LD_LIBRARY_PATH"), Preload: getenv("LD_PRELOAD")}
}

// linkage is what an image's dynamic section says to the loader.
type linkage struct {
	needed         []string
	rpath, runpath string
	soname         string
	noDefault      bool
}

// linkage reads the dynamic section once more, since readDynamic keeps only one
// of each tag.
func (im *Image) linkage() linkage {
	var l linkage
	// Static, or damaged: then nothing is asked for, and nothing is found.
	if im.dyn.seg.FileSize == 0 {
		return l
	}
	b, err := im.src.bytes(im.dyn.seg.Offset, min(im.dyn.seg.FileSize&^15, maxDynTags*16))
	if err != nil {
		return l
	}
	for c := (cursor{b: b}); c.left() > 0; {
		tag, value := elf.DynTag(c.u64()), c.u64()
		switch tag {
		case elf.DT_NULL:
			return l
		case elf.DT_NEEDED:
			l.needed = append(l.needed, im.dynString(value))
		case elf.DT_RPATH:
			l.rpath = im.dynString(value)
		case elf.DT_RUNPATH:
			l.runpath = im.dynString(value)
		case elf.DT_SONAME:
			l.soname = im.dynString(value)
		case elf.DT_FLAGS_1:
			l.noDefault = value&df1NoDefLib != 0
		}
	}
	return l
}

// dynString is a string of the dynamic string table, empty when damaged.
func (im *Image) dynString(at uint64) string {
	const longest = 4096 // PATH_MAX, and enough for lists of directories
	// Through the dynamic section and not through .dynstr, as the loader does: section
	// headers are optional.
	off, ok := im.offsetOf(im.dyn.tags[elf.DT_STRTAB])
	size := im.dyn.tags[elf.DT_STRSZ]
	if !ok || at >= size {
		return ""
	}
	b, err := im.src.bytes(off+at, min(size-at, longest))
	if err != nil {
		return ""
	}
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// SOName is the name that the image gives itself, which programs linked with it
// ask for; often a link to the file whose name maps shows. Empty for programs.
func (im *Image) SOName() string { return im.linkage().soname }

// loader is one run of the search.
type loader struct {
	cache    *Cache
	env      LoaderEnv
	program  *Library
	loaded   []*Library
	byName   map[string]*Library // by every name asked for, and by SONAME
	link     map[*Image]linkage
	defaults []string
}

// Libraries finds the images that the dynamic loader will map for the program
// at path before main, in the loader's order: preloaded ones, then what is
// needed, breadth first, by the rules of glibc 2.33 and newer. What is found
// nowhere is in the list with an empty Path. The program is not in the list,
// and neither is what it will load itself (dlopen, iconv, name services).
//
// The loader's cache is not read: what ldconfig put there is found in the
// directories of ld.so.conf, and what it did not notice yet, too.
func (c *Cache) Libraries(path string, env LoaderEnv) ([]Library, error) {
	im, err := c.Open(path)
	if err != nil {
		return nil, err
	}
	if im.Interp == "" {
		return nil, nil // static: there is no loader
	}
	l := &loader{cache: c, env: env, byName: make(map[string]*Library), link: make(map[*Image]linkage)}
	l.program = &Library{Name: path, Path: realPath(path), Image: im}
	l.defaults = defaultDirs()
	l.run()
	out := make([]Library, len(l.loaded))
	for i, lib := range l.loaded {
		out[i] = *lib
	}
	return out, nil
}

// run fills loaded.
func (l *loader) run() {
	// The interpreter is there already when the search begins, under its own
	// SONAME, which libc needs; in the list it stands where that puts it.
	interp := &Library{Name: l.program.Image.Interp, By: l.program.Path, parent: l.program}
	l.open(interp, interp.Name)
	for _, name := range strings.FieldsFunc(l.env.Preload, func(r rune) bool { return r == ':' || r == ' ' }) {
		l.need(l.program, name)
	}
	// The list grows while it is walked: that is what breadth first means here.
	l.needAll(l.program)
	for at := 0; at < len(l.loaded) && at < maxLibraries; at++ {
		l.needAll(l.loaded[at])
	}
	if interp.Path != "" && !slices.Contains(l.loaded, interp) {
		l.loaded = append(l.loaded, interp)
	}
}

// needAll adds what an image needs.
func (l *loader) needAll(of *Library) {
	if of.Image == nil {
		return
	}
	for _, name := range l.linkage(of.Image).needed {
		l.need(of, name)
	}
}

// linkage keeps what was read.
func (l *loader) linkage(im *Image) linkage {
	k, ok := l.link[im]
	if !ok {
		k = im.linkage()
		l.link[im] = k
	}
	return k
}

// need adds a library unless it is there already, by this name or as the same
// file by another one.
func (l *loader) need(by *Library, name string) {
	if name == "" {
		return
	}
	// By name before any search: a library that is loaded already satisfies whoever
	// asks for it by its SONAME, wherever else another copy lies.
	if known := l.byName[name]; known != nil {
		if !slices.Contains(l.loaded, known) { // the interpreter
			l.loaded = append(l.loaded, known)
		}
		return
	}
	lib := &Library{Name: name, By: by.Path, parent: by}
	for _, path := range l.candidates(lib) {
		if l.open(lib, path) {
			break
		}
	}
	// The cache gives one Image for one file, whatever links lead to it.
	for _, other := range l.loaded {
		if lib.Image != nil && other.Image == lib.Image {
			l.byName[name] = other
			return
		}
	}
	l.byName[name] = lib
	l.loaded = append(l.loaded, lib)
}

// open takes a file for a library if it is one for this machine; the loader
// passes over others, such as 32-bit ones in /usr/lib.
func (l *loader) open(lib *Library, path string) bool {
	im, err := l.cache.Open(path)
	if err != nil || im.Type != elf.ET_DYN {
		return false
	}
	lib.Image, lib.Path = im, realPath(path)
	for _, name := range []string{lib.Name, l.linkage(im).soname} {
		if name != "" && l.byName[name] == nil {
			l.byName[name] = lib
		}
	}
	return true
}

// candidates are the paths under which the loader looks for a library, in its
// order.
func (l *loader) candidates(lib *Library) []string {
	// A path is not searched for.
	if strings.Contains(lib.Name, "/") {
		return []string{l.expand(lib.Name, lib.parent)}
	}
	var dirs []string
	by := l.linkage(lib.parent.Image)
	if by.runpath == "" {
		// RPATH is inherited along the chain of those who asked, and holds only for
		// images without a RUNPATH.
		for from := lib.parent; from != nil; from = from.parent {
			if k := l.linkage(from.Image); k.runpath == "" {
				dirs = append(dirs, l.list(k.rpath, from)...)
			}
		}
	}
	// LD_LIBRARY_PATH may separate with semicolons too. It stands between RPATH and
	// RUNPATH, which is the reason why there are two of those.
	dirs = append(dirs, l.list(strings.ReplaceAll(l.env.LibraryPath, ";", ":"), l.program)...)
	dirs = append(dirs, l.list(by.runpath, lib.parent)...)
	if !by.noDefault {
		dirs = append(dirs, l.defaults...)
	}
	var paths []string
	// In each directory the builds for newer processors come first. Older loaders had
	// other such subdirectories (haswell, tls), which no distribution fills any more.
	level := cpuLevel()
	for _, d := range dirs {
		for v := level; v >= 2; v-- {
			paths = append(paths, filepath.Join(d, "glibc-hwcaps", fmt.Sprintf("x86-64-v%d", v), lib.Name))
		}
		paths = append(paths, filepath.Join(d, lib.Name))
	}
	return paths
}

// list splits a list of directories; an empty entry is the working directory.
func (l *loader) list(dirs string, of *Library) []string {
	if dirs == "" {
		return nil
	}
	var out []string
	for _, d := range strings.Split(dirs, ":") {
		if d == "" {
			d = "."
		}
		out = append(out, l.expand(d, of))
	}
	return out
}

// expand replaces the loader's tokens.
func (l *loader) expand(s string, of *Library) string {
	origin := filepath.Dir(of.Path)
	for token, value := range map[string]string{"ORIGIN": origin, "LIB": libToken(), "PLATFORM": "x86_64"} {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "${"+token+"}", value), "$"+token, value)
	}
	return s
}

// libToken is $LIB, which distributions set when they build the C library:
// Debian's have the architecture's name in it.
func libToken() string {
	if _, err := os.Stat(debianLibs); err == nil {
		return strings.TrimPrefix(debianLibs, "/")
	}
	return "lib64"
}

// debianLibs is where Debian and its descendants have the C library.
const debianLibs = "/lib/x86_64-linux-gnu"

// defaultDirs are the directories of ld.so.conf in their order, then those
// built into the loader: Debian's, and everybody else's.
func defaultDirs() []string {
	dirs := readLdConf("/", ldSoConf, maxIncludes)
	return append(dirs, debianLibs, "/usr"+debianLibs, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

// cpuLevel is the x86-64 level of this processor, which decides between builds
// of a library. The features are those of the levels that x/sys/cpu knows; no
// processor has them without the others.
func cpuLevel() int {
	x := &cpu.X86
	switch {
	case !(x.HasSSE3 && x.HasSSSE3 && x.HasSSE41 && x.HasSSE42 && x.HasPOPCNT && x.HasCX16):
		return 1
	case !(x.HasAVX && x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasFMA && x.HasOSXSAVE):
		return 2
	case !(x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL):
		return 3
	}
	return 4
}

// realPath is a path as maps shows it: absolute and without links.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // it vanished; its name is all there is
	}
	if abs, err := filepath.Abs(real); err == nil {
		return abs
	}
	return real
}
