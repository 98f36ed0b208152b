package session

import (
	"slices"

	"alleria/config"
	"alleria/interceptors"
	"alleria/internal/symbols"
)

// Processes of a run mostly have images in common, forked ones all of them. What is captured of a function, and the types of its parameters, are made once a
// run: of 3,500 functions of a C library with debug information they would else be most of what each process costs. An image is a version of its file, as in
// symbols.Cache.

// shared is what the processes of a run have in common.
type shared struct {
	names    *functionNames
	captures *making // nil: nothing was captured yet
}

// making is what makes captures, and has made so far.
type making struct {
	compiler *interceptors.Compiler
	same     map[*config.Intercept]*interceptors.Capture // where nothing depends on the function
	made     map[madeOf]madeCapture
}

// madeOf is what a capture depends on.
type madeOf struct {
	image     *symbols.Image
	vaddr     uint64
	name      string
	intercept *config.Intercept
	system    bool
}

// madeCapture is a capture, or why there is none.
type madeCapture struct {
	capture *interceptors.Capture
	err     error
	unknown bool // auto has found nothing about the function
}

// madeOf returns what captures of a program image are made by: that of the run, or one of its own (--engine capture-alone).
func (s *shared) madeOf(o *Options) *making {
	alone := slices.Contains(o.Engine, captureAlone)
	if s.captures != nil && !alone {
		return s.captures
	}
	c := interceptors.NewCompiler()
	c.Added, c.Alone = o.Declarations, alone
	s.captures = &making{compiler: c, same: make(map[*config.Intercept]*interceptors.Capture), made: make(map[madeOf]madeCapture)}
	return s.captures
}

// codeReader reads code of functions that follow each other, many at a time: of thousands each would be a question to the kernel.
type codeReader struct {
	mem interface {
		ReadAt(b []byte, addr int64) (int, error)
	}
	from uint64
	b    []byte
	many bool
}

// codeAhead is how much is read at a time where there are manyRead functions.
const (
	codeAhead = 256 << 10
	manyRead  = 32
)

// newCodeReader makes a reader for so many functions.
func newCodeReader(mem interface {
	ReadAt(b []byte, addr int64) (int, error)
}, functions int) *codeReader {
	return &codeReader{mem: mem, many: functions >= manyRead}
}

// read returns a copy of so much code at an address, less where it ends.
func (c *codeReader) read(addr, n uint64) []byte {
	if n == 0 {
		return nil
	}
	if addr < c.from || addr+n > c.from+uint64(len(c.b)) {
		size := n
		if c.many {
			size = max(n, codeAhead)
		}
		b := slices.Grow(c.b[:0], int(size))[:size]
		k, _ := c.mem.ReadAt(b, int64(addr)) // up to where it ends
		c.from, c.b = addr, b[:k]
	}
	return slices.Clone(c.b[addr-c.from : min(addr-c.from+n, uint64(len(c.b)))])
}
