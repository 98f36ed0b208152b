package abp

import (
	"slices"
	"strings"
)

// Order is the order in which a Reader yields.
//
// Within a thread all orders but OrderStorage give the order of execution; storage does
// too as long as a single processing thread served it.
type Order uint8

// Orders.
const (
	// OrderThread yields process after process, thread after thread, each in the
	// order of execution.
	OrderThread Order = iota
	// OrderStorage yields as the files have it: the cheapest on a slow disk.
	OrderStorage
	// OrderTime merges all threads by time stamp; by the chunks' where the
	// instructions have none. It keeps a decoder for every thread that goes on at a time.
	OrderTime
)

// Range is a range of addresses, time stamps or ordinals: From ≤ x < To. The
// zero Range is everything; To 0 is no upper bound.
// An address range up to the very last byte of the address space is written with To
// 0.
type Range struct {
	From uint64 // the first that is in
	To   uint64 // the first behind it that is not
}

// Contains reports whether v lies in the range.
func (r Range) Contains(v uint64) bool { return v >= r.From && (r.To == 0 || v < r.To) }

// All reports whether the range is everything.
func (r Range) All() bool { return r == Range{} }

// overlaps reports whether first … last (inclusive) and the range meet.
func (r Range) overlaps(first, last uint64) bool {
	return last >= r.From && (r.To == 0 || first < r.To)
}

// Query says what a Reader yields. The zero Query is everything.
//
// Filters are joined by "and", the entries of a list by "or". What they leave out still
// counts for ordinals, so that places mean the same with any filter.
type Query struct {
	Order     Order    // the zero Order is OrderThread
	Processes []uint32 // numbers; none: all
	Programs  []uint32 // which of a process's recorded programs (Process.Generation); none: all
	Threads   []uint32 // numbers within their process; none: all
	// Functions are names, as linked or demangled, where * stands for anything;
	// none: all. An instruction whose function was not recorded matches by its
	// block's address.
	Functions []string
	// Windows are names of windows; only what ran while one of them was open; none: all.
	Windows []string
	Code    Range // addresses of instructions
	Data    Range // addresses of accesses; instructions without any do not match
	Time    Range // TSC
	// TimeOf, where it is set, is Time for one process, of whichever profile: a range of seconds since a process's start
	// is other time stamps in each.
	TimeOf   func(p *Process) Range
	Ordinals Range // of instructions within their thread
	// Decode: sums are made by decoding every frame, also where what it lists would do.
	// The results are the same.
	Decode bool
}

// WantsFunction reports whether one of Functions is a function's name.
// Names are compared with case; there is no partial match without an asterisk.
func (q *Query) WantsFunction(f *Function) bool {
	return slices.ContainsFunc(q.Functions, func(pattern string) bool {
		return matchName(pattern, f.Name) || f.Demangled != "" && matchName(pattern, f.Demangled)
	})
}

// matchName compares a name with a pattern. The name itself matches even where
// it holds an asterisk, as "operator*" does.
// It is linear in the name for each part, and needs no regular expression: names of
// C++ hold every character that one would have to escape.
func matchName(pattern, name string) bool {
	if pattern == name {
		return true
	}
	first, rest, stars := strings.Cut(pattern, "*")
	if !stars || !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	// All but the last as early as they come: that leaves the most to the others.
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// TimeIn is the range of time stamps that is asked for in a process.
func (q *Query) TimeIn(p *Process) Range {
	if q.TimeOf != nil {
		return q.TimeOf(p)
	}
	return q.Time
}

// AllTime reports whether no range of time is asked for.
func (q *Query) AllTime() bool { return q.TimeOf == nil && q.Time.All() }

// wantsFrame reports whether a frame of a process may hold something that matches, by its
// header alone.
// It may say true for a frame that then yields nothing, never false for one that
// would.
func (q *Query) wantsFrame(p *Process, h *FrameHeader) bool {
	if len(q.Threads) > 0 && !slices.Contains(q.Threads, h.Thread) {
		return false
	}
	if time := q.TimeIn(p); !time.All() && !time.overlaps(h.FirstTSC, h.LastTSC) {
		return false
	}
	last := h.Ordinal + h.Counts.Instructions
	return q.Ordinals.All() || q.Ordinals.overlaps(h.Ordinal, last)
}
