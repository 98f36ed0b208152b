package proctree

import "unsafe"

// The casts from mapped bytes to slots. Offsets and sizes are tested; the callers keep
// the indices within the slots that have memory.

func (r *region) header() *header { return (*header)(unsafe.Pointer(&r.bytes[0])) }

func (r *region) tree(i int) *treeSlot {
	return (*treeSlot)(unsafe.Pointer(&r.bytes[treesAt+i*slotSize]))
}

func (r *region) process(i int) *processSlot {
	return (*processSlot)(unsafe.Pointer(&r.bytes[processesAt+i*slotSize]))
}
