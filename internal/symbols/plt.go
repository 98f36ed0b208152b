package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
)

// stubStep is the grid on which PLT entries lie: those of .plt.got without CET
// are 8 bytes, all others 16. Trying every 8 bytes finds both without trusting
// the section's entry size, which linkers disagree about.
const stubStep = 8

// stubMark ends the name of a stub, as it does in objdump's listings.
const stubMark = "@plt"

// appendStubs names the entries of the PLT sections foo@plt, after the
// relocation of the slot that each jumps through. An entry already named by a
// symbol keeps that as well.
func (im *Image) appendStubs(syms []symbol) []symbol {
	if !slices.ContainsFunc(im.sections, isPLT) {
		return syms
	}
	// One pass over the relocations and a map, since there are as many stubs.
	slots := make(map[uint64]slot)
	im.eachSlot(func(at uint64, s slot) bool {
		if s.kind != relocRelative {
			slots[at] = s
		}
		return true
	})
	dyn := im.dynamicSymbols()
	named := symbolNames(syms)
	for _, sec := range im.sections {
		if !isPLT(sec) {
			continue
		}
		code, err := im.contents(sec)
		if err != nil {
			im.note(err)
			continue
		}
		stubs := im.stubs(sec, code, func(at uint64) string {
			s, ok := slots[at]
			if !ok {
				return ""
			}
			if s.kind == relocIRelative {
				// Of a static program's stub only the resolver is known, and
				// that bears the function's name.
				return named(s.addend)
			}
			name, _ := dyn.at(s.symbol)
			return name
		})
		syms = append(slices.Grow(syms, len(stubs)), stubs...)
	}
	return syms
}

// isPLT recognises .plt, .plt.sec, .plt.got and their relatives (.plt.bnd,
// .iplt, .iplt.got).
func isPLT(s section) bool {
	return s.flags&shfExec != 0 && s.kind == elf.SHT_PROGBITS &&
		(strings.HasPrefix(s.name, ".plt") || strings.HasPrefix(s.name, ".iplt"))
}

// stubs finds the entries of one section.
func (im *Image) stubs(sec section, code []byte, nameOf func(slot uint64) string) []symbol {
	out := make([]symbol, 0, len(code)/16)
	for at := uint64(0); at+stubStep <= uint64(len(code)); at += stubStep {
		target, ok := stubSlot(code[at:], sec.vaddr+at)
		if !ok {
			continue
		}
		name := nameOf(target)
		if name == "" {
			continue // the first entry of .plt, which calls the resolver
		}
		// An 8-byte entry is cut off by its follower.
		if last := len(out) - 1; last >= 0 {
			out[last].size = min(sec.vaddr+at-out[last].addr, 16)
		}
		out = append(out, symbol{
			addr: sec.vaddr + at, size: min(uint64(len(code))-at, 16),
			name: name + stubMark, source: Stub, kind: PLT,
		})
	}
	return out
}

// stubSlot decodes a stub and gives the address that it loads its target from:
//
//	[endbr64] [mov $index,%r11d] [bnd] jmp *slot(%rip)
//
// which covers GNU ld (with and without CET and MPX), gold, lld and mold.
func stubSlot(code []byte, vaddr uint64) (uint64, bool) {
	rest := code
	for _, prefix := range [][]byte{{0xf3, 0x0f, 0x1e, 0xfa}, {0x41, 0xbb}, {0xf2}} {
		if after, ok := bytes.CutPrefix(rest, prefix); ok {
			rest = after
			if prefix[0] == 0x41 {
				rest = rest[min(4, len(rest)):]
			}
		}
	}
	if len(rest) < 6 || rest[0] != 0xff || rest[1] != 0x25 {
		return 0, false
	}
	next := vaddr + uint64(len(code)-len(rest)) + 6
	return next + uint64(int64(int32(binary.LittleEndian.Uint32(rest[2:])))), true
}
