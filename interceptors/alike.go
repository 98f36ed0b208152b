package interceptors

import (
	"encoding/binary"
)

// Most functions of a program are like others of it: they have parameters of the same names and types. What is captured of them is made
// once, and shared: of 50,000 functions it would else be much of the tracer's memory, and a fifth of the time to arm them.

// alike is the key by which prototypes lead to the same capture; false: the prototype is one of a kind. It is valid until the next call.
func (c *Compiler) alike(p *Prototype) ([]byte, bool) {
	if c.Alone || p.Changes != nil || len(p.Scopes) > 0 {
		return nil, false
	}
	b := c.key[:0]
	flag := func(set bool) {
		n := byte(0)
		if set {
			n = 1
		}
		b = append(b, n)
	}
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	for _, set := range []bool{p.Go, p.Windows, p.Unplaced, p.Results, p.CaptureResult, p.Variadic, p.Format, p.Left != nil} {
		flag(set)
	}
	for _, n := range []uint64{uint64(p.Result), uint64(p.Clang), uint64(p.Rust), uint64(p.Fails), uint64(p.ResultAs), uint64(p.Widest), p.MaxBytes, uint64(p.ResultScope), uint64(len(p.Args))} {
		number(n)
	}
	for i, t := range p.Args {
		number(uint64(t))
		if p.Left != nil {
			flag(p.Left[i])
			flag(p.Unsure[i])
		}
	}
	for i := range p.Captures {
		w := &p.Captures[i]
		if w.Set != nil || w.Scope != 0 {
			return nil, false
		}
		number(uint64(len(w.Name)))
		b = append(b, w.Name...)
		number(uint64(w.Index))
		number(uint64(w.Type))
		flag(w.In)
		flag(w.Out)
	}
	c.key = b
	return b, true
}

// Compile makes the capture of a function, or gives the one that was made of another function like it. It must not be changed.
func (c *Compiler) Compile(p *Prototype) (*Capture, error) {
	key, ok := c.alike(p)
	if out := c.made[string(key)]; ok && out != nil {
		return out, nil
	}
	out, err := c.compile(p)
	if ok && err == nil {
		c.made[string(key)] = out
	}
	return out, err
}
