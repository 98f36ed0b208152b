package against

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"alleria/config"
	"alleria/internal/symbols"
)

// Target is a program as its process will look after start: the images that the
// kernel and the dynamic loader map. It is found out from files, without running
// anything, so that it can be had of a program that one would rather not start.
//
// It is an approximation of the process in two ways that cannot be helped: what the
// program loads later with dlopen is not in it, and a LD_LIBRARY_PATH that a wrapper
// would set is only seen if it is set here as well. Whoever reports on a target says
// "when it starts".
type Target struct {
	path    string           // as it was found
	scripts []symbols.Script // how path leads to the program, empty for a program
	cache   *symbols.Cache
	images  []Image // the program first
	missing []symbols.Library
	// Decoding takes seconds for a browser, and one command may check many files.
	decoded map[bool]*inventory // by whether it has forms, once asked for
}

// Image is one image, with what a configuration knows it by.
// The embedded Image belongs to the target's cache and is closed with it.
type Image struct {
	*symbols.Image
	Key config.ImageKey
	// asked are names that lead to the image and are not its own: links.
	asked []string
	keys  []config.FuncKey // of the functions, once they are asked for
}

// Open opens a program and its libraries. A file that cannot be executed
// but read (a library, a program without the permission) is taken as it is.
//
// The path is not looked up in PATH. An error wraps symbols.ErrNotFound if there is no such
// file; any other means that it is not to be read. The caller closes the target.
func Open(path string, fetcher symbols.Fetcher) (*Target, error) {
	t := &Target{path: path, cache: symbols.NewCache(symbols.Options{Fetcher: fetcher})}
	// Asked for the way from a script to its interpreter; that it cannot be traced
	// (setuid, say) is record's business and no reason to know nothing of it.
	program, refused := symbols.Classify(path)
	t.scripts = program.Scripts
	if program.Path != "" {
		path = program.Path
	}
	// Two reasons may be at hand, what execve would say and what reading says. The
	// first is better where both are about the same thing.
	if err := t.open(path); err != nil {
		t.cache.Close()
		if refused == nil || errors.Is(refused, symbols.ErrPermission) {
			refused = err // reading is all that is wanted here
		}
		return nil, refused
	}
	return t, nil
}

// open fills images.
// Only the program itself has to be readable; of the libraries, what is missing is
// noted and reported.
func (t *Target) open(path string) error {
	im, err := t.cache.Open(path)
	if err != nil {
		return err
	}
	// Once for all images: it reads ld.so.conf and what that includes.
	system := symbols.SystemDirs("/")
	t.add(im, absolute(path), path, true, system)
	libs, err := t.cache.Libraries(path, symbols.LoaderEnvFrom(os.Getenv))
	if err != nil {
		return err
	}
	for _, l := range libs {
		// Not an error: the loader will say so itself, and the rest is there to be
		// looked at.
		if l.Image == nil {
			t.missing = append(t.missing, l)
			continue
		}
		t.add(l.Image, l.Path, l.Name, false, system)
	}
	return nil
}

// add appends an image under the path that a process's maps will show.
//
// asked is what the image was asked for by, which is how people know it: libz.so.1
// where the file is libz.so.1.3.1. system are the directories whose images count as
// the system's (anyButSys in the language).
func (t *Target) add(im *symbols.Image, path, asked string, main bool, system []string) {
	i := Image{Image: im, Key: config.ImageKey{Path: path, Name: filepath.Base(path), Main: main}}
	// The rule of symbols.Map, which needs a process.
	i.Key.System = slices.ContainsFunc(system, func(d string) bool { return strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/") })
	// The SONAME too: what a program asks for, and what a person knows a library by,
	// need not be the name of any link that exists.
	for _, name := range []string{asked, filepath.Base(asked), im.SOName()} {
		if name != "" && name != i.Key.Name && name != path && !slices.Contains(i.asked, name) {
			i.asked = append(i.asked, name)
			if strings.Contains(name, "/") {
				i.Key.Paths = append(i.Key.Paths, name)
			} else {
				i.Key.Names = append(i.Key.Names, name)
			}
		}
	}
	t.images = append(t.images, i)
}

// Add opens a file that the program is not linked with, because it may be loaded later, and
// adds it to the target. path may not be a bare name, which could be any file in the loader's
// directories, also one of another architecture.
func (t *Target) Add(path string) (*Image, error) {
	im, err := t.cache.Open(path)
	if err != nil {
		return nil, err
	}
	t.add(im, absolute(path), path, false, nil)
	return &t.images[len(t.images)-1], nil
}

// Program is the image of the program itself. It holds until Add is called.
func (t *Target) Program() *Image { return &t.images[0] }

// link lets an image be known by a path that leads to it too, as a session does.
func (t *Target) link(path string) {
	if !filepath.IsAbs(path) {
		return
	}
	real := absolute(path)
	for i := range t.images {
		if k := &t.images[i].Key; real == k.Path && !k.HasPath(path) {
			k.Paths = append(k.Paths, path)
		}
	}
}

// Close lets go of all images.
func (t *Target) Close() { t.cache.Close() } // only reading: nothing can be lost

// absolute is a path as maps shows it.
func absolute(path string) string {
	// The same as the symbols package does for libraries: maps shows no links.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Name is what messages call the program.
func (t *Target) Name() string { return t.images[0].Key.Name }

// Image finds an image by its name, its path, or a link to it.
// A name that is the program's and a library's finds the program.
func (t *Target) Image(name string) (*Image, bool) {
	// In the loader's order, so that of two images of one name it is the one that the
	// loader prefers.
	for i := range t.images {
		im := &t.images[i]
		if name == im.Key.Name || name == im.Key.Path || slices.Contains(im.asked, name) {
			return im, true
		}
	}
	return nil, false
}

// ImageNames lists the images by file name, the program first.
func (t *Target) ImageNames() []string {
	out := make([]string, len(t.images))
	for i := range t.images {
		out[i] = t.images[i].Key.Name
	}
	return out
}

// Notices tells what of the target could surprise whoever reads figures of it.
//
// They go to standard error: none of them makes the result wrong, and a script that
// parses the result must not have to skip them.
func (t *Target) Notices(w io.Writer) {
	for _, s := range t.scripts {
		fmt.Fprintf(w, "alleria: %s is a script: its process runs %s\n", s.Path, s.Interpreter)
	}
	// First the reasons why figures could be about something else, then why they could
	// be too small.
	for _, l := range t.missing {
		fmt.Fprintf(w, "alleria: %s needs %s, which the loader will find nowhere\n", filepath.Base(l.By), l.Name)
	}
	if im := &t.images[0]; im.Interp == "" && im.Entry != 0 && im.Dynamic && !im.PIE {
		fmt.Fprintf(w, "alleria: %s has no dynamic loader: only the file itself is looked at\n", im.Key.Name)
	}
}

// funcKeys describes the image's functions to the configuration, as a session
// does: what matches here is what will match there. They are kept, because
// demangling the names of a C++ library takes longer than decoding its code.
func (im *Image) funcKeys() []config.FuncKey {
	// Not guarded: one command, one goroutine.
	if im.keys != nil {
		return im.keys
	}
	fns := im.Functions()
	im.keys = make([]config.FuncKey, len(fns))
	for i := range fns {
		k := &im.keys[i]
		k.Linked, k.Demangled = fns[i].Linked(), fns[i].Name()
		k.HasParam = func(typ string) bool { return im.HasParam(fns[i].Addr, typ) }
		// Aliases go in as linked only, like a session's: a demangled alias that
		// matches here and not there would be a promise that nobody keeps.
		for _, a := range fns[i].Aliases {
			k.Aliases = append(k.Aliases, config.FuncKey{Linked: a.Linked})
		}
	}
	return im.keys
}

// Compare holds a configuration against the target: the names and selectors that
// match nothing, and what the others select.
//
// The inventory is kept for the next file, once with forms and once without: most
// files need none, and with them it is several times as large.
func (t *Target) Compare(c *config.Config) ([]config.Warning, *Estimate) {
	warnings := t.CheckNames(c)
	forms := usesForms(c)
	if t.decoded == nil {
		t.decoded = make(map[bool]*inventory)
	}
	inv := t.decoded[forms]
	if inv == nil {
		inv = t.takeInventory(forms)
		t.decoded[forms] = inv
	}
	warnings = append(warnings, inv.checkSelectors(c)...)
	// Both checks walk the file in their own order; an editor's list of problems has
	// one.
	slices.SortStableFunc(warnings, func(a, b config.Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	e := inv.estimate(t.path, c)
	return warnings, &e
}

// Images are the program and its libraries, the program first.
func (t *Target) Images() []Image { return t.images }
