package translate

import "alleria/engine/codecache"

// relocFar notes the displacements of operands that a block's code was given as addresses.
func (u *Translator) relocFar(app uint64) {
	w := &u.cache.Written
	for _, at := range u.asm.Far {
		if !w.Off && u.Variant < codecache.KeptVariants {
			w.Relocs.Append(codecache.Reloc{App: app, At: uint32(at), Region: u.ar.Num, Kind: codecache.RelocDisp})
		}
	}
	u.asm.Far = u.asm.Far[:0]
}

// reloc notes a reference that was just written, in size bytes that end back bytes in front of where code goes on.
func (u *Translator) reloc(kind codecache.RelocKind, app uint64, size, back int) {
	if w := &u.cache.Written; !w.Off && u.Variant < codecache.KeptVariants {
		w.Relocs.Append(codecache.Reloc{App: app, At: uint32(u.asm.Pos() - back - size), Region: u.ar.Num, Kind: kind})
	}
}
