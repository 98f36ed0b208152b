package probe

import (
	"iter"
	"maps"
)

// byPage is what lies at addresses of the application's code, by the pages that they are in: there may be tens of thousands, and who reads a page, or puts
// something into it, is not to go over all of them.
type byPage[T any] struct {
	pages map[uint64]map[uint64]T
	n     int
}

// get returns what is at an address.
func (b *byPage[T]) get(addr uint64) (T, bool) {
	v, ok := b.pages[addr/appPage][addr]
	return v, ok
}

// put has v be at an address.
func (b *byPage[T]) put(addr uint64, v T) {
	page := b.pages[addr/appPage]
	if page == nil {
		if b.pages == nil {
			b.pages = make(map[uint64]map[uint64]T)
		}
		page = make(map[uint64]T)
		b.pages[addr/appPage] = page
	}
	if _, ok := page[addr]; !ok {
		b.n++
	}
	page[addr] = v
}

// drop has nothing be at an address.
func (b *byPage[T]) drop(addr uint64) {
	page := b.pages[addr/appPage]
	if _, ok := page[addr]; !ok {
		return
	}
	b.n--
	if delete(page, addr); len(page) == 0 {
		delete(b.pages, addr/appPage)
	}
}

// all goes over everything, in no order. What it goes over may be dropped meanwhile.
func (b *byPage[T]) all() iter.Seq2[uint64, T] { return b.within(0, ^uint64(0)) }

// within goes over what is at addresses in [start, end), in no order. What it goes over may be dropped meanwhile.
func (b *byPage[T]) within(start, end uint64) iter.Seq2[uint64, T] {
	return func(yield func(uint64, T) bool) {
		if start >= end {
			return
		}
		in := func(page map[uint64]T) bool {
			for addr, v := range page {
				if addr >= start && addr < end && !yield(addr, v) {
					return false
				}
			}
			return true
		}
		first, last := start/appPage, (end-1)/appPage
		if last-first >= uint64(len(b.pages)) {
			for page := range maps.Values(b.pages) {
				if !in(page) {
					return
				}
			}
			return
		}
		for n := first; n <= last; n++ {
			if !in(b.pages[n]) {
				return
			}
		}
	}
}
