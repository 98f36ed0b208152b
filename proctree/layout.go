package proctree

import (
	"structs"
	"sync/atomic"
)

// The region: a header page, slots of trees, slots of processes. A change of anything in
// this file takes a new layoutVersion, which is part of the file's name: tracers of
// different versions then have a region each instead of misreading one.
const (
	layoutVersion = 1
	magic         = 0x314e5050616c6c41 // "AllaPPN1"

	headerSize   = 4096
	slotSize     = 512
	treeSlots    = 128  // trees at the same time; more run without being shown
	processSlots = 8192 // processes that live at the same time, of all trees

	treesAt      = headerSize
	processesAt  = treesAt + treeSlots*slotSize
	regionSize   = processesAt + processSlots*slotSize
	slotsAtATime = 32 // slots of processes that get memory together: four pages
)

// header is the beginning of the region. Written under the lock, but for allocated.
type header struct {
	_     structs.HostLayout
	magic atomic.Uint64 // written last: without it, whoever made the file died before it was one
	// lastTree is the number given to the latest tree. It only rises, so that an owner
	// word never names a later tree than it did.
	lastTree atomic.Uint32
	// allocated is how many slots of processes have memory. Raised by any tracer, after
	// the memory is there.
	allocated atomic.Uint32
}

// treeSlot is one tree. Written by its tracer; id is written under the lock by New, and
// cleared by the tracer or, once that is dead, under the lock by anybody.
type treeSlot struct {
	_       structs.HostLayout
	id      atomic.Uint32 // 0: free. Written last
	counter atomic.Uint32 // the number that was given last
	pid     atomic.Int32  // the tracer
	_       uint32
	start   atomic.Uint64 // when that started, in ticks since the machine did
	begun   atomic.Int64  // when the tree did, Unix time in nanoseconds
	command treeText
}

// processSlot is one live process. Written by the tracer of the tree that owns it, and
// cleared like a treeSlot.
type processSlot struct {
	_     structs.HostLayout
	owner atomic.Uint32 // the tree's id; 0: free. Taken by exchange
	// seq is odd while what must fit together is being written: all fields up to
	// begun, and the program. The counts and the state stand for themselves.
	seq          atomic.Uint32
	number       atomic.Uint32
	pid          atomic.Int32
	parent       atomic.Uint32 // its number, 0 none
	generation   atomic.Uint32 // programs that it has executed; 0: still its parent's
	state        atomic.Uint32 // a State
	_            uint32
	start        atomic.Uint64 // of a detached one: when it started, in ticks; 0 else
	begun        atomic.Int64  // Unix time in nanoseconds
	instructions atomic.Uint64
	recorded     atomic.Uint64
	program      programText
}

// treeText and programText fill their slots up.
type (
	treeText struct {
		length atomic.Uint64
		words  [59]atomic.Uint64
	}
	programText struct {
		length atomic.Uint64
		words  [55]atomic.Uint64
	}
)

// storeWords writes a text into words, byte by byte from the lowest. By words, so that a
// reader in another process never races with a plain write.
func storeWords(length *atomic.Uint64, words []atomic.Uint64, s string) {
	for i := range words {
		var w uint64
		for b := 0; b < 8 && 8*i+b < len(s); b++ {
			w |= uint64(s[8*i+b]) << (8 * b)
		}
		words[i].Store(w)
		if 8*(i+1) >= len(s) {
			break
		}
	}
	length.Store(uint64(min(len(s), 8*len(words))))
}

// loadWords reads it back. A length that cannot be is cut to what there is: the region is
// other programs' memory too.
func loadWords(length *atomic.Uint64, words []atomic.Uint64) string {
	n := int(min(length.Load(), uint64(8*len(words))))
	b := make([]byte, 0, n+7)
	for i := 0; len(b) < n; i++ {
		w := words[i].Load()
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24), byte(w>>32), byte(w>>40), byte(w>>48), byte(w>>56))
	}
	return string(b[:n])
}

// keepEnd cuts a path to at most size bytes. The end stays: the file's name says more than
// the folders it is in.
func keepEnd(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return "…" + s[len(s)-size+len("…"):]
}

// keepStart cuts a command line, of which the program's name comes first.
func keepStart(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return s[:size-len("…")] + "…"
}
