package interceptors

import (
	"slices"
	"strings"

	"alleria/internal/symbols"
)

// Known is what debug information says of the function at an address of an image (as the file states it), or else the known
// prototypes of one of its names; nil: nothing. system: the image is the system's. fn may be nil.
//
// What is known of the C library comes before its debug information: that does not say how long buffers are.
func (c *Compiler) Known(im *symbols.Image, system bool, fn *symbols.Function, vaddr uint64, name string, depth int) *Prototype {
	var names []string
	if fn != nil {
		for _, a := range fn.Aliases {
			names = append(names, a.Linked)
		}
	}
	names = append(names, name)
	if p := c.declared(names, depth); p != nil {
		return p
	}
	if system || c.Added != nil {
		if p := c.Shipped(names); p != nil {
			return p
		}
	}
	if data, entry, err := im.Subprogram(vaddr); err == nil {
		if p, err := c.Described(data, entry, depth); err == nil {
			if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, ".isra.") }) {
				p.CaptureResult = false // GCC leaves out results that nobody reads
			}
			return p
		}
	}
	return c.Shipped(names)
}
