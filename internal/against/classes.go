package against

import (
	"fmt"
	"slices"

	"alleria/config"
	"alleria/config/vocab"
	"alleria/engine/x86"
)

// UnknownClasses warns of classes that no instruction has: config does not know the decoder's
// names, of which there are thousands.
// A newer decoder may know more: that is why they are warnings.
func UnknownClasses(c *config.Config) []config.Warning {
	var out []config.Warning
	var known []string // made when the first is asked for
	for _, w := range c.Windows {
		for in := range w.Profile.AllInstructions() {
			if in.By != config.ByClass {
				continue
			}
			if known == nil {
				known = x86.Classes()
			}
			_, value := in.Selector()
			if value == "" || slices.Contains(known, value) {
				continue
			}
			right := "alleria functions and disassemblers show mnemonics; write them in capitals"
			near := vocab.Form(value) // XED has classes of its own for near and far
			if !slices.Contains(known, near) {
				near = vocab.Nearest(value, known)
			}
			if near != "" {
				right = fmt.Sprintf("the nearest known one is %q", near)
			}
			out = append(out, config.Warning{Pos: in.Pos, What: fmt.Sprintf("class=%q is not known to the decoder and will match nothing", value), Right: right, Unmatched: true})
		}
	}
	return out
}
