package translate

import "alleria/engine/codecache"

// reloc notes a reference that was just written, in size bytes that end back bytes in front of where code goes on.
func (u *Translator) reloc(kind codecache.RelocKind, app uint64, size, back int) {
	if w := &u.cache.Written; !w.Off && u.Variant < codecache.KeptVariants {
		w.Relocs = append(w.Relocs, codecache.Reloc{App: app, At: uint32(u.asm.Pos() - back - size), Region: u.ar.Num, Kind: kind})
	}
}
