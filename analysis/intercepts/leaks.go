package intercepts

import (
	"cmp"
	"slices"

	"alleria/abp"
	"alleria/abp/calls"
)

// Leaks follows allocations: which were made, and which of them were never freed.
//
// It knows the functions of the C library and C++ by their names. What they must have captured: the first argument (of
// calloc and reallocarray the first two and three) at entry, and the result.
type Leaks struct {
	Allocations uint64
	Freed       uint64
	Bytes       uint64 // of all allocations
	live        map[liveKey]Allocation
	// unpaired is the realloc calls under way: of threads by their depth nothing is needed but the old address.
}

type liveKey struct {
	process *abp.Process
	addr    uint64
}

// Allocation is one that was not freed.
type Allocation struct {
	Process uint32
	Address uint64
	Size    uint64
	Caller  uint64
	Of      *abp.Process
	Thread  uint32
	Call    uint64
	Seconds float64
	By      string // function
}

// NewLeaks makes an empty one.
func NewLeaks() *Leaks { return &Leaks{live: make(map[liveKey]Allocation)} }

// kind says what a function does with memory.
type kind uint8

const (
	other    kind = iota
	alloc         // size is argument 0
	calloc        // argument 0 times argument 1
	aligned       // size is argument 1
	realloc       // of argument 0; size is argument 1
	reallocs      // of argument 0; sizes are arguments 1 and 2
	free
	posix // the address is written to argument 0; size is argument 2
)

// kindOf knows functions by name.
func kindOf(s *calls.Signature) kind {
	switch s.Linked {
	case "malloc", "valloc", "pvalloc", "__libc_malloc", "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t":
		return alloc
	case "calloc", "__libc_calloc":
		return calloc
	case "aligned_alloc", "memalign", "__libc_memalign":
		return aligned
	case "realloc", "__libc_realloc":
		return realloc
	case "reallocarray":
		return reallocs
	case "posix_memalign":
		return posix
	case "free", "cfree", "__libc_free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t":
		return free
	}
	return other
}

// Add takes an event: calls that were entered free, calls that returned allocate.
func (l *Leaks) Add(i *Item) {
	c := i.Call
	k := kindOf(c.Sig)
	if k == other {
		return
	}
	in, _ := c.In(i.Calls.Table)
	arg := func(index uint32) uint64 {
		for _, a := range in {
			if a.Param >= 0 && c.Sig.Params[a.Param].Index == index {
				return a.Value.Uint()
			}
		}
		return 0
	}
	// What is freed is free from the entry on: another thread may be given it before the return.
	if i.Entered {
		if k == free {
			l.free(i, arg(0))
		}
		return
	}
	out, _ := c.Out(i.Calls.Table)
	var result uint64
	for _, a := range out {
		if a.Param == calls.ResultParam {
			result = a.Value.Uint()
		}
	}
	// Functions of allocators call each other: the outer one has the last word.
	switch k {
	case alloc:
		l.alloc(i, result, arg(0))
	case calloc:
		l.alloc(i, result, arg(0)*arg(1))
	case aligned:
		l.alloc(i, result, arg(1))
	case realloc:
		l.realloc(i, result, arg(0), arg(1))
	case reallocs:
		l.realloc(i, result, arg(0), arg(1)*arg(2))
	case posix:
		if result == 0 {
			l.written(i, out, arg(2))
		}
	}
}

// realloc takes a block that was changed into another, unless there was no memory for it.
func (l *Leaks) realloc(i *Item, result, old, size uint64) {
	if result != 0 || size == 0 {
		l.free(i, old)
	}
	l.alloc(i, result, size)
}

// written takes a block whose address was written behind the first argument.
func (l *Leaks) written(i *Item, out []calls.Argument, size uint64) {
	for _, a := range out {
		if a.Param >= 0 && i.Call.Sig.Params[a.Param].Index == 0 && a.Value.Len() == 1 {
			l.alloc(i, a.Value.Elem(0).Uint(), size)
		}
	}
}

func (l *Leaks) free(i *Item, addr uint64) {
	key := liveKey{i.Process, addr}
	if _, ok := l.live[key]; ok {
		l.Freed++
		delete(l.live, key)
	}
}

func (l *Leaks) alloc(i *Item, addr, size uint64) {
	if addr == 0 {
		return
	}
	key := liveKey{i.Process, addr}
	if _, ok := l.live[key]; ok { // by an inner function, or its free was not seen
		l.live[key] = l.made(i, addr, size)
		return
	}
	l.Allocations++
	l.Bytes += size
	l.live[key] = l.made(i, addr, size)
}

func (l *Leaks) made(i *Item, addr, size uint64) Allocation {
	c := i.Call
	return Allocation{Process: i.Process.Number(), Address: addr, Size: size, Caller: c.Caller, Of: i.Process, Thread: c.Thread,
		Call: c.Number, Seconds: i.Seconds(c.Start), By: c.Sig.Name}
}

// Live lists what was not freed, the largest first.
func (l *Leaks) Live() []Allocation {
	out := make([]Allocation, 0, len(l.live))
	for _, a := range l.live {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Allocation) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Address, b.Address))
	})
	return out
}
