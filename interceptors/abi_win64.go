package interceptors

import (
	"alleria/abp/calls"
	"alleria/internal/capture"
)

// The Windows convention, which functions with the attribute ms_abi have: each argument has one place by its number, of four in registers
// and then on the stack, behind room for those four. What does not fill 1, 2, 4 or 8 bytes is passed by its address. clang states it
// in debug information; GCC does not.

// ccWin64 is what DW_AT_calling_convention is of such functions (DW_CC_LLVM_Win64).
const ccWin64 = 0xc1

// windowsGeneral are the registers of integers, addresses and records, as x86 numbers them: rcx, rdx, r8, r9. Floating-point numbers
// are in xmm0 to xmm3 in their place.
func windowsGeneral() []uint32 { return []uint32{1, 2, 8, 9} }

// locateWindows gives each argument and the result its place.
func (c *Compiler) locateWindows(p *Prototype) (args []place, result place) {
	next := uint32(0)
	if p.Result != 0 {
		if result = c.windowsResult(p.Result); result.hidden {
			next++
		}
	}
	for _, t := range p.Args {
		args = append(args, c.windowsArgument(t, next))
		next++
	}
	return args, result
}

// windowsArgument is the place of the argument with a number.
func (c *Compiler) windowsArgument(t calls.TypeID, n uint32) place {
	ty := c.Table.Type(t)
	general := windowsGeneral()
	byAddress := c.byRef[t] || t != 0 && !fitsWord(ty.Size)
	float := t != 0 && ty.Kind == calls.Float && !byAddress
	src := capture.Source{Kind: capture.Stack, N: 8 * n}
	switch {
	case int(n) >= len(general):
	case float:
		src = capture.Source{Kind: capture.Vector, N: n}
	default:
		src = capture.Source{Kind: capture.GPR, N: general[n]}
	}
	bytes := uint32(8)
	if float {
		bytes = ty.Size
	}
	return place{hidden: byAddress, pieces: []piece{{src: src, bytes: bytes}}}
}

// windowsResult is the place of a result.
func (c *Compiler) windowsResult(t calls.TypeID) place {
	ty := c.Table.Type(t)
	one := func(kind capture.SourceKind, bytes uint32) place {
		return place{pieces: []piece{{src: capture.Source{Kind: kind}, bytes: bytes}}}
	}
	switch {
	case c.byRef[t]:
	case ty.Kind == calls.Float && ty.Size <= 8:
		return one(capture.Vector, ty.Size)
	case ty.Kind == calls.Float && len(c.classify(t)) == 2 && c.classify(t)[0] == x87:
		return one(capture.X87, 10)
	case ty.Size == 16 && (ty.Kind == calls.Vector || len(ty.Fields) == 0 && ty.Kind != calls.Array):
		return one(capture.Vector, 16)
	case fitsWord(ty.Size):
		return one(capture.GPR, 8) // rax
	}
	return place{hidden: true, pieces: []piece{{src: capture.Source{Kind: capture.GPR, N: rax}, bytes: 8}}}
}

// fitsWord tells whether a value of so many bytes is passed as it is.
func fitsWord(size uint32) bool { return size == 1 || size == 2 || size == 4 || size == 8 }
