package symbols

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// MainCall is where a program's start code hands over to the C library.
type MainCall struct {
	// Main is the address of main, 0 where it can only be known at run time
	// (main in a shared library).
	Main uint64
	// Call is the address of the instruction that enters __libc_start_main, a
	// call or (musl) a jump. With it about to execute, rdi holds the run-time
	// address of main.
	Call uint64
}

// ErrNoMain says that the entry point's code does not pass a main to a C
// library: a library, or a program of a language with start code of its own.
var ErrNoMain = errors.New("the start code calls no __libc_start_main")

const (
	// maxStart bounds the start code that is looked at, in bytes; glibc's takes
	// 34, musl's two functions 60.
	maxStart = 192
	// maxSearch bounds the self-relocating start code of musl, which takes 600.
	maxSearch = 1024
	// maxHops bounds calls and jumps that are followed: musl needs one.
	maxHops = 4
	// startMain is whom the start code of both C libraries calls.
	startMain = "__libc_start_main"
)

// MainCall finds main through the code at the entry point, which works in
// stripped programs too.
func (im *Image) MainCall() (MainCall, error) {
	fns := im.Functions()
	return im.mainCall(func(addr uint64) string {
		if f := im.Lookup(addr); f != nil && f.Addr == addr && len(fns) > 0 && f.Source != Unwind {
			for _, a := range f.Aliases {
				if strings.HasPrefix(a.Linked, startMain) {
					return a.Linked
				}
			}
			return f.Linked()
		}
		return ""
	})
}

// mainCall is MainCall with the names known so far: making the function table
// needs it before there is one.
func (im *Image) mainCall(named func(uint64) string) (MainCall, error) {
	pc := im.Entry
	for range maxHops {
		call, target, main, known := im.scanStart(pc)
		if call == 0 {
			break
		}
		if known && im.leadsToStartMain(target, named) {
			return MainCall{Main: main, Call: call}, nil
		}
		// musl's _start passes the stack pointer in rdi to a C function.
		if target.direct == 0 || !im.executable(target.direct) {
			break
		}
		pc = target.direct
		if at, ok := im.searchStart(pc, named); ok {
			return at, nil
		}
	}
	return MainCall{}, fmt.Errorf("main of %s: %w", im.Name, ErrNoMain)
}

// searchStart looks for the hand-over anywhere in the code at pc. musl's
// static-pie programs (Rust's musl target among them) relocate themselves before
// it, in loops that a straight walk can't follow, and reach it by a jump through
// a register. What is searched for is unmistakable: rdi gets the address of code,
// and the first branch from there goes to __libc_start_main or a nameless
// function.
func (im *Image) searchStart(pc uint64, named func(uint64) string) (MainCall, bool) {
	var b [maxSearch]byte
	n, err := im.ReadVaddr(b[:], pc)
	if err != nil {
		return MainCall{}, false
	}
	for at := 0; at+3 <= n; at++ {
		// lea x(%rip),%rdi or mov x(%rip),%rdi
		if b[at] != 0x48 || b[at+1] != 0x8d && b[at+1] != 0x8b || b[at+2] != 0x3d {
			continue
		}
		call, to, main, known := im.scanStart(pc + uint64(at))
		if call != 0 && known && im.leadsToStartMain(to, named) {
			return MainCall{Main: main, Call: call}, true
		}
	}
	return MainCall{}, false
}

// target is what a call or jump goes to: an address, or what a slot holds.
type target struct{ direct, slot uint64 }

// leadsToStartMain rejects a call of something else with an address in rdi. A
// direct call in a stripped static program can't be named, and is believed.
func (im *Image) leadsToStartMain(t target, named func(uint64) string) bool {
	name := ""
	if t.slot != 0 {
		if s, ok := im.slotAt(t.slot); ok {
			name, _ = im.dynamicSymbols().at(s.symbol)
		}
	} else if name = named(t.direct); name == "" {
		// A PLT stub, while the stubs have no names yet.
		var b [16]byte
		if n, err := im.ReadVaddr(b[:], t.direct); err == nil {
			if at, ok := stubSlot(b[:n], t.direct); ok {
				return im.leadsToStartMain(target{slot: at}, named)
			}
		}
	}
	name = strings.TrimSuffix(name, stubMark)
	return name == "" || strings.HasPrefix(name, startMain)
}

// scanStart decodes straight-line code up to the first call or jump, following
// what is put into rdi. main is that value, known whether it was a constant
// address of code (or an unresolved slot, with main 0) rather than something
// computed at run time.
func (im *Image) scanStart(pc uint64) (call uint64, to target, main uint64, known bool) {
	var b [maxStart]byte
	n, err := im.ReadVaddr(b[:], pc)
	if err != nil {
		return 0, target{}, 0, false
	}
	for code := b[:n]; len(code) > 0; {
		in, ok := decodeStart(code, pc)
		if !ok {
			return 0, target{}, 0, false
		}
		switch in.op {
		case startTransfer:
			return pc, in.to, main, known
		case startConst:
			main, known = in.value, im.executable(in.value)
		case startLoad:
			main, known = im.resolveSlot(in.value)
		case startClobber:
			main, known = 0, false
		}
		code = code[in.size:]
		pc += uint64(in.size)
	}
	return 0, target{}, 0, false
}

// resolveSlot finds what a load from a slot of the GOT will give: with a
// relocation what that says, without one what the file has.
func (im *Image) resolveSlot(vaddr uint64) (uint64, bool) {
	s, ok := im.slotAt(vaddr)
	switch {
	case ok && s.kind == relocRelative:
		return s.addend, im.executable(s.addend)
	case ok && s.kind == relocGlobDat:
		name, at := im.dynamicSymbols().at(s.symbol)
		return at, name == "main" || im.executable(at)
	case ok:
		return 0, false
	}
	var b [8]byte
	if n, err := im.ReadVaddr(b[:], vaddr); err != nil || n < 8 {
		return 0, false
	}
	// DT_RELR relocations, too, keep the unrelocated address in place.
	at := binary.LittleEndian.Uint64(b[:])
	return at, im.executable(at)
}
