package against

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"alleria/config"
	"alleria/config/vocab"
	"alleria/engine/x86"
	"alleria/internal/symbols"
)

// insKind is what selectors can tell apart in instructions.
//
// Numbers are Zydis's, which are XED's: comparing them costs nothing, where their
// names are strings to be fetched from C.
type insKind struct {
	mnem, isa uint16
	cat, ext  uint8
	// memory operands; more than 255 are no instruction's
	accesses uint8
	form     string // only where a selector asks for forms
}

// kindInfo is a kind in the configuration's words.
type kindInfo struct {
	key      config.InsKey
	accesses int
}

// inventory is the instructions of a target, counted by function and kind. They
// are decoded once, for all windows; matching then goes over kinds, of which a
// function has some dozens, and not over instructions.
//
// It is complete and read-only once takeInventory returns. Memory goes with the
// number of different kinds, some thousands for all of libc, times functions.
type inventory struct {
	kinds  map[insKind]kindInfo
	images []imageInventory
	forms  bool
}

// imageInventory is the code of one image; its functions are in the order of
// the image's table.
type imageInventory struct {
	*Image
	functions []functionInventory
	total     int
}

// functionInventory is the code of one function.
type functionInventory struct {
	key   config.FuncKey
	kinds map[insKind]int
	total int
}

// takeInventory decodes all functions. forms tells whether forms are needed,
// which cost more to name than everything else together.
//
// Overlaps are common: assembly with several entry points, and compilers' cold parts
// that symbol tables give the whole function's size.
func (t *Target) takeInventory(forms bool) *inventory {
	inv := &inventory{kinds: make(map[insKind]kindInfo), forms: forms}
	for i := range t.images {
		im := imageInventory{Image: &t.images[i]}
		// By function and not by section: code in no function is padding and data for
		// the most part, which would be counted as instructions.
		fns, keys := im.Functions(), im.funcKeys()
		for k := range fns {
			end := fns[k].Addr + fns[k].Size
			if k+1 < len(fns) {
				// Where functions overlap, the later has the bytes: they are counted once.
				end = min(end, fns[k+1].Addr)
			}
			f := functionInventory{key: keys[k], kinds: make(map[insKind]int)}
			inv.count(im.Image.Image, &f, fns[k].Addr, end)
			im.total += f.total
			im.functions = append(im.functions, f)
		}
		inv.images = append(inv.images, im)
	}
	return inv
}

// count decodes one function.
func (inv *inventory) count(im *symbols.Image, f *functionInventory, from, end uint64) {
	// Each instruction once, wherever it is jumped into: these are counts of what
	// stands there.
	walk(im, from, end, func(in *x86.Insn) bool {
		f.kinds[inv.kind(in)]++
		f.total++
		return true
	})
}

// maxFunction bounds what is read of one function: headers may claim anything.
const maxFunction = 16 << 20

// walk decodes the code from an address to an end, in order, as long as f says
// so. Bytes that are no instruction (tables in hand-written code) are passed over.
//
// It decodes straight on, without following branches: the same instructions as in
// objdump, whose output is what users compare with. f gets instructions that are
// only good during the call.
func walk(im *symbols.Image, from, end uint64, f func(*x86.Insn) bool) {
	// A function of no size is one that something else begins at as well.
	if end <= from || end-from > maxFunction {
		return
	}
	code := make([]byte, end-from)
	n, err := im.ReadVaddr(code, from)
	if err != nil {
		return // in no file: nothing that could be counted
	}
	code = code[:n]
	// Many at a time: a call from Go into C costs as much as decoding does.
	var out [64]x86.Insn
	for at := 0; at < len(code); {
		n, why := x86.Decode(code[at:], from+uint64(at), out[:])
		for i := range out[:n] {
			if !f(&out[i]) {
				return
			}
			at += int(out[i].Len)
		}
		switch {
		// The last instruction is cut off: the size was wrong, and what is left is
		// none.
		case why == x86.OutOfBytes:
			return
		case why == x86.Undecodable:
			// On to the next byte. A table is thereby counted as some instructions too
			// many, where skipping it would lose the code behind it.
			at++
		}
	}
}

// boundary tells whether an instruction of a function begins at an address, and
// else where the one that covers it does.
// The answer is only as good as straight decoding: data within a function can shift
// it. That is why a caller makes no more than a warning of it.
func boundary(im *symbols.Image, f *symbols.Function, addr uint64) (at uint64, ok bool) {
	at = f.Addr
	walk(im, f.Addr, f.Addr+f.Size, func(in *x86.Insn) bool {
		// Remembered on the way: the last that begins no later is the one that covers
		// the address.
		if in.Addr <= addr {
			at = in.Addr
		}
		return in.Addr < addr
	})
	return at, at == addr
}

// kind classifies an instruction. Names are made once for each kind: each is
// a call into C.
func (inv *inventory) kind(in *x86.Insn) insKind {
	accesses := 0
	// Most instructions have no memory operand, and asking allocates.
	if in.NMem > 0 {
		accesses = len(in.Accesses(nil))
	}
	k := insKind{mnem: in.Mnem, isa: in.ISA, cat: in.Cat, ext: in.Ext, accesses: uint8(accesses)}
	// A form depends on operands, so kinds become several times as many.
	if inv.forms {
		k.form = in.FormName()
	}
	if _, ok := inv.kinds[k]; !ok {
		inv.kinds[k] = kindInfo{accesses: accesses, key: config.InsKey{
			Form: k.form, Class: strings.ToUpper(in.ClassName()), ISA: in.ISASetName(), Ext: in.ExtensionName(), Cat: in.CategoryName(),
			Memory: accesses > 0,
		}}
	}
	return k
}

// usesForms tells whether a selector asks for forms.
func usesForms(c *config.Config) bool {
	// Once for the file: an inventory is of the target, and not taken anew for each
	// window.
	return slices.ContainsFunc(c.Windows, func(w *config.Window) bool { return w.Profile.SelectsForms() })
}

// eachFunction calls f for every Function of every Profile.
// Intercepted functions are among them: an Intercept stands in a Function.
func eachFunction(c *config.Config, f func(*config.Image, *config.Function)) {
	for _, w := range c.Windows {
		for i := range w.Profile.AllImages() {
			for _, fn := range i.Functions {
				f(i, fn)
			}
		}
	}
}

// checkSelectors warns of instruction selectors that no instruction of the
// selected functions has, with the nearest name among those that are there.
func (inv *inventory) checkSelectors(c *config.Config) []config.Warning {
	var out []config.Warning
	eachFunction(c, func(i *config.Image, f *config.Function) {
		for _, ins := range f.Instructions {
			// These have no name that could be wrong.
			if ins.By >= config.AnyMemory {
				continue
			}
			attr, value := ins.Selector()
			// Looked for where the element selects: a class that only libc has is no
			// match for a window on the program.
			names, any := inv.names(i, f, ins.By)
			if !any || names[value] {
				continue // without a function, the name of that is what is wrong
			}
			right := "none is like it there"
			if best := vocab.Nearest(value, slices.Sorted(maps.Keys(names))); best != "" {
				right = fmt.Sprintf("the nearest there is %q", best)
			}
			out = append(out, config.Warning{Pos: ins.Pos, What: fmt.Sprintf("no instruction of the selected functions has %s=%q", attr, value), Right: right})
		}
	})
	return out
}

// names are the names of one kind that the instructions of the functions have
// which an element selects; any tells that there are such functions.
// by must be one of the five selectors that have a name.
func (inv *inventory) names(i *config.Image, f *config.Function, by config.SelectorKind) (names map[string]bool, any bool) {
	// A set, as the same name is met in nearly every function.
	names = make(map[string]bool)
	matches := f.Matching()
	for k := range inv.images {
		im := &inv.images[k]
		if !i.Matches(im.Key) {
			continue
		}
		for n := range im.functions {
			// All that the element could mean, also what a more specific one beside it
			// takes away: a warning should not depend on other elements.
			if !matches(im.functions[n].key) {
				continue
			}
			any = true
			for kind := range im.functions[n].kinds {
				key := inv.kinds[kind].key
				names[[...]string{config.ByForm: key.Form, config.ByClass: key.Class, config.ByISA: key.ISA, config.ByExt: key.Ext, config.ByCat: key.Cat}[by]] = true
			}
		}
	}
	return names, any
}
