package against

import (
	"fmt"
	"slices"
	"strings"

	"alleria/analysis"
	"alleria/config"
	"alleria/config/vocab"
	"alleria/internal/symbols"
)

// nameCheck collects the names in a configuration that mean nothing in a target.
// They are warnings and never errors: the program may load another image later,
// start another program, or be another build tomorrow.
//
// A warning has two halves everywhere: what was not found, and the most likely right
// name. The second is worth the effort: most such mistakes are a version
// suffix, a link's name, or a letter.
type nameCheck struct {
	*Target
	found   []config.Warning
	missing int // functions that do not exist
}

// CheckNames looks every image and function of the configuration up. Processes
// and threads are not checked: how many there will be, only a run shows, and
// system calls and signals are the kernel's.
func (t *Target) CheckNames(c *config.Config) []config.Warning {
	// Every element is looked at by itself, with no regard to others that may win over
	// it: a wrong name is worth a word in any case.
	n := &nameCheck{Target: t}
	for _, w := range c.Windows {
		links := func(e *config.Event) {
			t.link(e.ImagePath)
			t.link(e.Path)
			t.link(e.Image)
		}
		w.On.Walk(links)
		w.Till.Walk(links)
		for i := range w.Profile.AllImages() {
			t.link(i.Path)
		}
		w.On.Walk(n.event)
		w.Till.Walk(n.event)
		for i := range w.Profile.AllImages() {
			n.image(i)
		}
	}
	return n.found
}

// warn adds a warning.
func (n *nameCheck) warn(p config.Pos, what, right string) {
	n.found = append(n.found, config.Warning{Pos: p, What: what, Right: right})
}

// event checks what an event names. All and One name nothing themselves.
//
// Events on time, instructions, system calls and the like name nothing in a file.
func (n *nameCheck) event(e *config.Event) {
	switch {
	// What is waited for may well be a plug-in, so this is the check most often wrong;
	// but a misspelt name is waited for without end.
	case e.Kind.Is(config.OfImage):
		if len(n.matching(e.MatchesImage)) == 0 {
			n.noImage(e.Pos, e.Name+e.Path, e.Path != "")
		}
	case e.Kind.Is(config.OfFunction):
		images := n.matching(e.MatchesImage)
		// Nothing to look the function up in: one warning, about the image.
		if len(images) == 0 {
			n.noImage(e.Pos, e.ImageName+e.ImagePath, e.ImagePath != "")
			return
		}
		// What a session resolves events by: a stub is no function of that name.
		has := func(im *Image) bool {
			return slices.ContainsFunc(im.Find(e.Name, e.Decorated), func(f *symbols.Function) bool { return f.Kind != symbols.PLT })
		}
		n.function(e.Pos, e.Name, images, has, func(image string) string {
			return fmt.Sprintf("add imageName=%q", image)
		})
	case e.Kind.Is(config.AtCode):
		n.address(e)
	}
}

// matching are the images that a selector means.
func (n *nameCheck) matching(match func(config.ImageKey) bool) []*Image {
	// Pointers, for the images keep what was computed of them.
	var out []*Image
	for i := range n.images {
		if match(n.images[i].Key) {
			out = append(out, &n.images[i])
		}
	}
	return out
}

// image checks an Image of a Profile and the functions inside.
func (n *nameCheck) image(i *config.Image) {
	images := n.matching(i.Matches)
	if len(images) == 0 {
		// A selection of all, or of all but the system's, may be empty without
		// anything being misspelt.
		if i.Name+i.Path != "" {
			n.noImage(i.Pos, i.Name+i.Path, i.Path != "")
		}
		return
	}
	for _, f := range i.Functions {
		// All functions.
		if f.Name == "" && f.Type == "" {
			continue
		}
		if f.Type != "" {
			n.typed(f, images)
			continue
		}
		has := func(im *Image) bool {
			// A stub matches too, but recording its one jump is not what anybody meant.
			return slices.ContainsFunc(im.Select(f.Name, f.Decorated), func(f *symbols.Function) bool { return f.Kind != symbols.PLT })
		}
		n.function(f.Pos, f.Name, images, has, func(image string) string {
			return fmt.Sprintf("select it in an Image with name=%q", image)
		})
	}
}

// typed checks a selection by the type of a parameter. No nearest type is looked for: most often it is debug information that lacks.
func (n *nameCheck) typed(f *config.Function, images []*Image) {
	matches := f.Matching()
	for _, im := range images {
		if slices.ContainsFunc(im.funcKeys(), matches) {
			return
		}
	}
	n.warn(f.Pos, fmt.Sprintf("no function%s is known to have a parameter of type %q", named(f.Name), f.Type),
		"debug information says of which types parameters are: compile with -g, or install the image's debug file")
}

// named is a name behind "function", if there is one.
func named(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" %q", name)
}

// noImage warns of an image that the program does not map at its start. The
// wording says "at its start" and never "does not exist", because the commonest
// false alarm is a library that is loaded later, and a warning that is wrong in
// its own words teaches to ignore warnings.
func (n *nameCheck) noImage(p config.Pos, name string, isPath bool) {
	what := fmt.Sprintf("%s does not map an image %q when it starts", n.Name(), name)
	// Names are compared with names and paths with paths: the nearest to a path by
	// letters alone would be another file of its directory.
	candidates := n.ImageNames()
	if isPath {
		candidates = candidates[:0]
		for i := range n.images {
			candidates = append(candidates, n.images[i].Key.Path)
		}
	}
	// All of them where none is near, since there are few, and the one that was meant
	// may have quite another name.
	right := "it maps " + analysis.FormatList(candidates, 6)
	if best := vocab.Nearest(name, candidates); best != "" {
		right = fmt.Sprintf("the nearest is %q", best)
	}
	n.warn(p, what, right+"; images that it loads later are not known here")
}

// function warns of a function that none of the images has. has compares in the
// way of the element that names it, for events and selections do not compare
// alike; elsewhere says how that element would name another image.
func (n *nameCheck) function(p config.Pos, name string, images []*Image,
	has func(*Image) bool, elsewhere func(image string) string) {
	// One is enough: a Function in an Image for all code means whichever has it.
	for _, im := range images {
		if has(im) {
			return
		}
	}
	where := images[0].Key.Name
	// The first of several would be an arbitrary one to name.
	if len(images) > 1 {
		where = fmt.Sprintf("any of %d images", len(images))
	}
	what := fmt.Sprintf("there is no function %q in %s", name, where)
	// In another image by that very name, before others by a similar one here.
	for i := range n.images {
		im := &n.images[i]
		if !slices.Contains(images, im) && has(im) {
			n.warn(p, what, fmt.Sprintf("%s has it: %s", im.Key.Name, elsewhere(im.Key.Name)))
			return
		}
	}
	if n.missing++; n.missing > mostSuggested {
		n.warn(p, what, "alleria functions lists what there is")
		return
	}
	n.warn(p, what, NearestFunctions(name, images...))
}

// mostSuggested is of how many names that do not exist the nearest are looked for: that takes a
// comparison with each function that there is.
const mostSuggested = 10

// NearestFunctions says which functions of the images resemble a name, or why
// none can.
func NearestFunctions(name string, images ...*Image) string {
	// From all images together, each with its nearest first. Near names in two images
	// are both worth showing.
	var near []string
	for _, im := range images {
		for _, s := range im.Nearest(name, 3) {
			if !slices.Contains(near, s) {
				near = append(near, s)
			}
		}
	}
	if len(near) > 0 {
		return "the nearest: " + analysis.FormatList(near, 3)
	}
	// Without any near name there is either a reason for that, or a list to look at.
	im := images[0]
	if named, all := im.Named(); all > 0 && named*2 < all {
		return fmt.Sprintf("only %d of its %d functions have a name (it is stripped): install its debug symbols, or write %s+0xOFFSET",
			named, all, im.Key.Name)
	}
	return fmt.Sprintf("alleria functions --image %s lists what there is", im.Key.Name)
}

// Named counts the functions that a name can select, and all.
func (im *Image) Named() (named, all int) {
	// Stubs have names even in stripped programs, and would make those look well off.
	fns := im.Functions()
	for i := range fns {
		if fns[i].Kind == symbols.PLT {
			continue
		}
		all++
		if fns[i].Source != symbols.Unwind {
			named++
		}
	}
	return named, all
}

// address checks that an Address is in code. Whether it is the first byte of an
// instruction is checked too, as nothing would ever fire otherwise.
func (n *nameCheck) address(e *config.Event) {
	if e.Image == "" {
		return // an address of the process: where things will lie is not known
	}
	images := n.matching(e.MatchesImage)
	if len(images) == 0 {
		n.noImage(e.Pos, e.Image, strings.Contains(e.Image, "/"))
		return
	}
	im := images[0]
	for _, s := range im.Segments {
		if s.Prot&symbols.Exec == 0 || e.Offset-s.Vaddr >= s.MemSize {
			continue
		}
		// Where no function is known, the boundaries of instructions are not either.
		if f := im.Lookup(e.Offset); f != nil {
			if at, ok := boundary(im.Image, f, e.Offset); !ok {
				n.warn(e.Pos, fmt.Sprintf("no instruction of %s begins at %#x", im.Key.Name, e.Offset),
					fmt.Sprintf("the one there begins at %#x, in %s", at, f.Name()))
			}
		}
		return
	}
	n.warn(e.Pos, fmt.Sprintf("%s has no code at %#x", im.Key.Name, e.Offset), "its code is at "+codeRanges(im.Image))
}

// codeRanges words where an image's code is.
func codeRanges(im *symbols.Image) string {
	var out []string
	for _, s := range im.Segments {
		if s.Prot&symbols.Exec != 0 {
			out = append(out, fmt.Sprintf("%#x-%#x", s.Vaddr, s.Vaddr+s.MemSize))
		}
	}
	return analysis.FormatList(out, 3)
}
