package engine

import "alleria/internal/layout"

// The facts of blocks live as long as the process, so they come from large
// pieces: one allocation for thousands of blocks, and little for the garbage
// collector to find.

// factIns returns room for the facts of n instructions.
//
// The capacity is cut off as well, so that an append can never reach into a neighbour. A
// piece that is too small for what is asked is left behind with what remains of it.
func (p *Process) factIns(n int) []layout.Ins {
	if len(p.insArena) < n {
		p.insArena = make([]layout.Ins, 4096)
	}
	s := p.insArena[:n:n]
	p.insArena = p.insArena[n:]
	return s
}

// accesses returns room for n accesses.
func (p *Process) accesses(n int) []layout.Access {
	if len(p.accArena) < n {
		p.accArena = make([]layout.Access, 4096)
	}
	s := p.accArena[:n:n]
	p.accArena = p.accArena[n:]
	return s
}

// factCode returns room for n bytes of code.
func (p *Process) factCode(n int) []byte {
	if len(p.codeArena) < n {
		p.codeArena = make([]byte, 1<<16)
	}
	s := p.codeArena[:n:n]
	p.codeArena = p.codeArena[n:]
	return s
}
