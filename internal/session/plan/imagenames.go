package plan

import (
	"path/filepath"
	"slices"
	"strings"

	"alleria/config"
	"alleria/internal/symbols"
)

// Asked lists the names and paths by which a configuration names images.
//
// Only these are looked for as links: what nobody names needs no second name.
func Asked(c *config.Config) []string {
	var asked []string
	add := func(names ...string) {
		for _, n := range names {
			if n != "" && !slices.Contains(asked, n) {
				asked = append(asked, n)
			}
		}
	}
	event := func(e *config.Event) {
		add(e.ImageName, e.ImagePath, e.Image, e.Path)
		if e.Kind.Is(config.OfImage) {
			add(e.Name)
		}
	}
	for _, w := range c.Windows {
		w.On.Walk(event)
		w.Till.Walk(event)
		for im := range w.Profile.AllImages() {
			add(im.Name, im.Path)
		}
	}
	return asked
}

// Key describes an image to the configuration: by its own name and by those that
// the configuration has for it. Maps show the file that a link led to, libz.so.1.2.13,
// where people and programs say libz.so.1.
//
// Refused: to list all links to a file. There may be any number of them anywhere;
// whether one given name leads to it is asked once an image.
// The answer is kept: links are taken as they were when the image was first asked
// about.
func (t *Tables) Key(l *symbols.Loaded) config.ImageKey {
	k, ok := t.keys[l]
	if ok {
		return k
	}
	k = config.ImageKey{Path: l.Path, Name: l.Name, Main: l.Main, System: l.System}
	soname := l.Image.SOName()
	for _, name := range t.opts.Asked {
		switch {
		case strings.Contains(name, "/"):
			if name != l.Path && leadsTo(name, l.Path) {
				k.Paths = append(k.Paths, name)
			}
		case name == l.Name:
		case name == soname, leadsTo(filepath.Join(filepath.Dir(l.Path), name), l.Path):
			k.Names = append(k.Names, name)
		}
	}
	t.keys[l] = k
	return k
}

// leadsTo tells whether a path is a link to a file. The vdso, whose path is no
// file's, has none.
// It asks the file system of the tracer, which a target in another mount namespace
// may not share.
func leadsTo(link, file string) bool {
	if !filepath.IsAbs(link) || !filepath.IsAbs(file) {
		return false
	}
	real, err := filepath.EvalSymlinks(link)
	return err == nil && real == file
}
