package symbols

import (
	"os"
	"strings"
)

// lacks reports that certainly no function of the image has a name that contains part: a
// program that runs with a window on another's function need not have its table of
// functions made, which takes tens of milliseconds for a compiler. false says nothing.
//
// The string tables are searched as they are, all names at once. The refused alternative,
// the hash tables of dynamic symbols, knows neither static functions nor names that are
// demangled.
func (im *Image) lacks(part string) bool {
	// Names of these come from elsewhere: Go's own table, and the start code's call.
	if part == "" || part == "main" || im.golang || !im.namesInside() {
		return false
	}
	for _, table := range []string{".symtab", ".dynsym"} {
		s, ok := im.section(table)
		if !ok {
			continue
		}
		if uint64(s.link) >= uint64(len(im.sections)) {
			return false
		}
		names, err := im.readString(im.sections[s.link])
		if err != nil || strings.Contains(names, part) {
			return false
		}
	}
	return true
}

// namesInside reports that collect does not look outside of the image's own symbol tables:
// there is a .symtab with functions, or nothing else to look at.
func (im *Image) namesInside() bool {
	if s, ok := im.section(".symtab"); ok && uint64(s.link) < uint64(len(im.sections)) {
		names, err := im.readString(im.sections[s.link])
		if err != nil {
			return false
		}
		for done := uint64(0); done+symbolSize <= s.size; {
			n := min((s.size-done)/symbolSize, symbolWindow)
			b, err := im.src.bytes(s.off+done, n*symbolSize)
			if err != nil {
				return false
			}
			for i := range n {
				if _, ok := im.function(b[i*symbolSize:], names, im); ok {
					return true
				}
			}
			done += n * symbolSize
		}
	}
	if _, ok := im.section(".gnu_debugdata"); ok || im.BuildID != "" && im.opts.Fetcher != nil {
		return false
	}
	for _, path := range im.debugPaths() {
		if _, err := os.Stat(path); err == nil {
			return false
		}
	}
	return true
}
