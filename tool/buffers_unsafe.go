package tool

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// bufferType is what buffers of one type of records have in common. Records are known by their size: they hold no pointers, so that
// the address of a buffer's first record is all that there is to a buffer.
type bufferType struct {
	tool     *Tool
	index    int
	name     string // of the record type
	record   reflect.Type
	place    string // where it is defined
	callback string // where Full is
	size     uintptr
	records  int
	buffers  int
	most     int
	alloc    func(n int) unsafe.Pointer
	recycle  func(unsafe.Pointer) // takes a buffer that nobody has any more; nil: the collector does
	full     func(*handed) unsafe.Pointer
	ids      func(unsafe.Pointer) uint64     // of shared buffers
	named    func(id uint64) (buffer, error) // likewise

	mu     sync.Mutex
	users  map[unsafe.Pointer]string // buffers that are the user's, with where they became that; guarded by mu
	last   string                    // where the latest became that; guarded by mu
	broken error                     // the user has done what cannot be; guarded by mu
}

// defaults fills in what is not given.
func (c *bufferType) defaults() {
	for _, d := range []struct {
		n    *int
		what int
	}{{&c.records, 1 << 14}, {&c.buffers, 2}, {&c.most, 256}} {
		if *d.n <= 0 {
			*d.n = d.what
		}
	}
	c.users = make(map[unsafe.Pointer]string)
}

// buffer is a buffer with so many records in it.
type buffer struct {
	base unsafe.Pointer
	n    int
}

// handed is a buffer on its way to the callback.
type handed struct {
	buffer
	process, thread, osid uint32
	names                 names
	final                 bool
}

// erase makes the functions that know the record's type.
func erase[R any](c *bufferType, full func(*Batch[R]) []R) {
	c.alloc = func(n int) unsafe.Pointer { return address(make([]R, n)) }
	c.full = func(h *handed) unsafe.Pointer {
		return address(full(&Batch[R]{Process: h.process, Thread: h.thread, OSID: h.osid, Records: slice[R](h.base, h.n), Final: h.final, names: h.names}))
	}
}

// address is where a buffer lies.
func address[R any](buffer []R) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(buffer)) }

// slice is so many records of a buffer.
func slice[R any](base unsafe.Pointer, n int) []R { return unsafe.Slice((*R)(base), n) }

// allocate makes a buffer for the user.
func (c *bufferType) allocate(place string) unsafe.Pointer {
	b := c.alloc(c.records)
	clear(unsafe.Slice((*byte)(b), uintptr(c.records)*c.size)) // it may have been another's
	c.mu.Lock()
	defer c.mu.Unlock()
	c.give(b, place)
	return b
}

// give makes a buffer the user's. c.mu is held.
func (c *bufferType) give(b unsafe.Pointer, place string) {
	c.users[b], c.last = place, place
	if len(c.users) > c.most && c.broken == nil {
		c.broken = fmt.Errorf("it leaks buffers of %s (%s): %d are its own and were not given back, the latest since %s", c.name, c.place, len(c.users), place)
	}
}

// release takes a buffer back from the user.
func (c *bufferType) release(b unsafe.Pointer, place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.users[b]; !ok && c.broken == nil {
		c.broken = fmt.Errorf("Free of a buffer of %s that is not the user's, at %s", c.name, place)
	}
	if _, ok := c.users[b]; ok {
		c.drop(buffer{base: b})
	}
	delete(c.users, b)
}

// drop takes a buffer that nobody has any more.
func (c *bufferType) drop(b buffer) {
	if c.recycle != nil {
		c.recycle(b.base)
	}
}

// exchange says which buffer is filled next: the one that the callback has returned for the one that it got.
func (c *bufferType) exchange(got, next unsafe.Pointer) (unsafe.Pointer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case next == got:
	case next == nil:
		c.give(got, c.callback)
		next = c.alloc(c.records)
	default:
		if _, ok := c.users[next]; !ok {
			return nil, fmt.Errorf("the callback of %s at %s returned a buffer that is neither the one that it got nor one of the user's", c.name, c.callback)
		}
		delete(c.users, next)
		c.give(got, c.callback)
	}
	return next, c.broken
}

// exchanged calls the callback, and returns the buffer that is filled next.
func (c *bufferType) exchanged(h *handed) (buffer, error) {
	next, err := c.exchange(h.base, c.full(h))
	return buffer{base: next}, err
}

// fresh makes a buffer for a thread.
func (c *bufferType) fresh() buffer { return buffer{base: c.alloc(c.records)} }

// leaked says what the user has not given back at the end.
func (c *bufferType) leaked() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if n := len(c.users); n > 0 {
		return fmt.Errorf("%d buffers of %s (%s) were not given back, the latest since %s: %w", n, c.name, c.place, c.last, errLeak)
	}
	return nil
}

// errLeak: buffers are missing at the end.
var errLeak = errors.New("buffers leaked")

// put writes a record: its template, and what is known of this execution.
func (f *filler) put(st *step, s *sink, words []uint64) {
	dst := unsafe.Add(f.base, uintptr(f.n)*f.of.size)
	copy(unsafe.Slice((*byte)(dst), f.of.size), st.template)
	for i := range st.ops {
		o := &st.ops[i]
		store(unsafe.Add(dst, o.offset), o.size, o.number(s, words))
	}
	f.n++
}

// putNumbers writes a record by what the general path has found out.
func (f *filler) putNumbers(fields []field, value func(Source) (uint64, []byte)) {
	dst := unsafe.Add(f.base, uintptr(f.n)*f.of.size)
	all := unsafe.Slice((*byte)(dst), f.of.size)
	clear(all)
	for i := range fields {
		fd := &fields[i]
		n, wide := value(fd.from)
		switch {
		case fd.truth:
			if n|number(wide) != 0 {
				all[fd.offset] = 1
			}
		case wide != nil:
			copy(all[fd.offset:fd.offset+fd.size], wide)
		default:
			store(unsafe.Add(dst, fd.offset), fd.size, n)
		}
	}
	f.n++
}

// store writes a number of so many bytes.
func store(at unsafe.Pointer, size uintptr, n uint64) {
	switch size {
	case 8:
		*(*uint64)(at) = n
	case 4:
		*(*uint32)(at) = uint32(n)
	case 2:
		*(*uint16)(at) = uint16(n)
	case 1:
		*(*uint8)(at) = uint8(n)
	default: // of an array
		for i := range min(size, 8) {
			*(*uint8)(unsafe.Add(at, i)) = uint8(n >> (8 * i))
		}
	}
}
