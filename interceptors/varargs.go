package interceptors

import (
	"alleria/abp/calls"
	"alleria/internal/capture"
)

// How much of variable arguments is captured: as many words of the stack, and as many bytes of what may be strings.
const (
	variadicWords  = 6
	variadicString = 256
)

// variadic has the registers and words captured in which variable arguments may be. What they are, only the format says:
// a word that is no pointer leads nowhere, which is found out without harm.
func (b *build) variadic() error {
	c := b.c
	c.named("int", calls.Signed, 4)
	c.named("long", calls.Signed, 8)
	c.named("unsigned", calls.Unsigned, 4)
	c.named("unsigned long", calls.Unsigned, 8)
	c.address("void *")
	text, double := c.text(variadicString), c.named("double", calls.Float, 8)
	general, vectors, stack := uint32(0), uint32(0), uint32(0)
	for _, pl := range b.places {
		for _, p := range pl.pieces {
			switch p.src.Kind {
			case capture.GPR:
				general++
			case capture.Vector:
				vectors++
			case capture.Stack:
				stack = max(stack, (p.src.N+p.bytes+7)&^7)
			}
		}
	}
	add := func(t calls.TypeID, index uint32, src capture.Source) error {
		sig := &b.out.Signature
		sig.Params = append(sig.Params, calls.Param{Name: calls.VariadicName, Index: index, Type: t})
		return b.slot(len(sig.Params)-1, t, place{pieces: []piece{{src: src, bytes: 8}}})
	}
	for i, r := range generalArgs() {
		if uint32(i) >= general {
			if err := add(text, uint32(i), capture.Source{Kind: capture.GPR, N: r}); err != nil {
				return err
			}
		}
	}
	for n := vectors; n < vectorArgs; n++ {
		if err := add(double, n, capture.Source{Kind: capture.Vector, N: n}); err != nil {
			return err
		}
	}
	for n := range uint32(variadicWords) {
		if err := add(text, calls.VariadicStack(int(n)), capture.Source{Kind: capture.Stack, N: stack + 8*n}); err != nil {
			return err
		}
	}
	return nil
}
