package session

import (
	"maps"
	"slices"

	"alleria/internal/symbols"
)

// A forked process has its creator's images at the same addresses, and the configuration mostly says the same of both. Then it begins with what was found and
// made of its creator's functions, their numbers and types included, which is in the creator's profile already: what is left is to arm them
// (--engine capture-alone: each process looks for its own).

// inherit takes over what the creator of a process has found, if all of it holds for the process as well.
func (x *intercepts) inherit(from *process) {
	if from == nil || from.image == nil || x.ps.opts.AllowModify || x.ps.opts.Replay != nil {
		return
	}
	of := from.image.capture
	if of == nil || of.making != x.making || !x.ps.asksLike(from) {
		return
	}
	same := x.imagesOf(of)
	if same == nil || !x.im.writer.TypesOf(of.im.writer) {
		return
	}
	x.written, x.number, x.told = of.written, of.number, maps.Clone(of.told)
	for l := range of.looked {
		x.looked[same[l]] = true
	}
	for entry, f := range of.at {
		if same[f.image] == nil {
			continue
		}
		x.im.tables.Image(same[f.image]) // searched, as by find
		x.at[entry] = &intercepted{entry: entry, image: same[f.image], fn: f.fn, name: f.name, named: f.named, ways: slices.Clone(f.ways)}
	}
	for entry, f := range of.ifuncs {
		if same[f.image] == nil {
			continue
		}
		x.catch(entry, &ifunc{image: same[f.image], fn: f.fn, name: f.name, windows: slices.Clone(f.windows)})
	}
}

// asksLike tells whether the configuration says the same of two processes, and of all of their threads.
func (ps *process) asksLike(o *process) bool {
	if ps.threads.kinds() > 1 || o.threads.kinds() > 1 {
		return false
	}
	for w := range ps.opts.Config.Windows {
		if ps.matched.Element(w) != o.matched.Element(w) {
			return false
		}
	}
	return true
}

// sameImage tells whether two processes have the same image: of one file, or of none and the same code (the vdso, which is read out of each).
func sameImage(a, b *symbols.Loaded) bool {
	return a.Image == b.Image || a.Path == b.Path && a.Path == "[vdso]" && a.Image.BuildID == b.Image.BuildID && a.Image.BuildID != ""
}

// imagesOf finds the images that another process's functions were looked for in; nil: some are elsewhere, or there were none.
func (x *intercepts) imagesOf(of *intercepts) map[*symbols.Loaded]*symbols.Loaded {
	same := make(map[*symbols.Loaded]*symbols.Loaded)
	for l := range of.looked {
		own, _ := x.im.tables.Symbols.ByAddr(l.Start)
		if own == nil || !sameImage(own, l) || own.Bias != l.Bias || own.Main != l.Main || own.System != l.System {
			return nil
		}
		same[l] = own
	}
	if len(same) == 0 {
		return nil
	}
	return same
}
