package session

import (
	"maps"
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
	counting counting
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

// A forked process has its creator's images at the same addresses, and the configuration mostly says the same of both. Then it begins with what was found and
// made of its creator's functions, their numbers and types included, which is in the creator's profile already: what is left is to arm them
// (--engine capture-alone: each process looks for its own).

// inherit takes over what the creator of a process has found, if all of it holds for the process as well.
func (x *intercepts) inherit(from *process) {
	if from == nil || from.image == nil || x.ps.opts.AllowModify || x.ps.opts.Replay != nil {
		return
	}
	of := from.image.capture
	if of == nil || of.making != x.making || !x.ps.asksLike(from) {
		return
	}
	same := x.imagesOf(of)
	if same == nil || !x.im.writer.TypesOf(of.im.writer) {
		return
	}
	x.written, x.number, x.told = of.written, of.number, maps.Clone(of.told)
	for l := range of.looked {
		x.looked[same[l]] = true
	}
	for entry, f := range of.at {
		if same[f.image] == nil {
			continue
		}
		x.im.tables.Image(same[f.image]) // searched, as by find
		x.at[entry] = &intercepted{entry: entry, image: same[f.image], fn: f.fn, name: f.name, names: slices.Clone(f.names), naming: f.naming, ways: f.ways.Clone()}
	}
	for entry, f := range of.ifuncs {
		if same[f.image] == nil {
			continue
		}
		x.catch(entry, &ifunc{image: same[f.image], fn: f.fn, name: f.name, isAsked: f.isAsked, windows: slices.Clone(f.windows)})
	}
}

// asksLike tells whether the configuration says the same of two processes, and of all of their threads.
func (ps *process) asksLike(o *process) bool {
	if ps.threads.kinds() > 1 || o.threads.kinds() > 1 {
		return false
	}
	for w := range ps.opts.Config.Windows {
		if ps.matched.Element(w) != o.matched.Element(w) {
			return false
		}
	}
	return true
}

// sameImage tells whether two processes have the same image: of one file, or of none and the same code (the vdso, which is read out of each).
func sameImage(a, b *symbols.Loaded) bool {
	return a.Image == b.Image || a.Path == b.Path && a.Path == "[vdso]" && a.Image.BuildID == b.Image.BuildID && a.Image.BuildID != ""
}

// imagesOf finds the images that another process's functions were looked for in; nil: some are elsewhere, or there were none.
func (x *intercepts) imagesOf(of *intercepts) map[*symbols.Loaded]*symbols.Loaded {
	same := make(map[*symbols.Loaded]*symbols.Loaded)
	for l := range of.looked {
		own, _ := x.im.tables.Symbols.ByAddr(l.Start)
		if own == nil || !sameImage(own, l) || own.Bias != l.Bias || own.Main != l.Main || own.System != l.System {
			return nil
		}
		same[l] = own
	}
	if len(same) == 0 {
		return nil
	}
	return same
}
