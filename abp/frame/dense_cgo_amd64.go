package frame

// #cgo CFLAGS: -O2
// #cgo noescape dense_run
// #cgo nocallback dense_run
// #cgo noescape dense_flush
// #cgo nocallback dense_flush
// #cgo noescape undense_run
// #cgo nocallback undense_run
// #include "dense_amd64.h"
import "C"

import (
	"slices"
	"unsafe"
)

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(blockState{})-C.sizeof_struct_block], [1]int{}[unsafe.Sizeof(blockPast{})-C.sizeof_struct_past],
	[1]int{}[unsafe.Offsetof(blockState{}.execs)-C.OFFSET_EXECS], [1]int{}[unsafe.Offsetof(blockState{}.words)-C.OFFSET_WORDS],
	[1]int{}[unsafe.Offsetof(blockState{}.weight)-C.OFFSET_WEIGHT], [1]int{}[unsafe.Offsetof(blockState{}.flags)-C.OFFSET_FLAGS],
	[1]int{}[unsafe.Offsetof(blockState{}.stack)-C.OFFSET_STACK], [1]int{}[unsafe.Offsetof(blockPast{}.next)-C.OFFSET_NEXT],
	[1]int{}[unsafe.Offsetof(blockPast{}.next2)-C.OFFSET_NEXT2],
	[1]int{}[groupWords-C.GROUP], [1]int{}[manyDiffs-C.MANY], [1]int{}[flagDynamic-C.FLAG_DYNAMIC], [1]int{}[noStack-C.NO_STACK], [1]int{}[idRun-C.ID_RUN], [1]int{}[idBits-C.ID_BITS],
	[1]int{}[symNext-C.SYM_NEXT], [1]int{}[symNext2-C.SYM_NEXT2], [1]int{}[symNew-C.SYM_NEW], [1]int{}[symNumber-C.SYM_NUMBER],
}

// haveVector tells whether the processor has what dense_run needs.
func haveVector() bool { return C.dense_supported() != 0 }

// denseVector is denseOf by the loop in C. It stops in front of what that leaves to denseOf.
//
// Everything that grows has room for all of the words before the call: C cannot grow it.
func (e *Encoder) denseVector(words []uint64, at int) int {
	n := len(words) - at + 1
	e.runs = slices.Grow(e.runs, n+(n+int(e.idHits))/idRun)
	e.symbols, e.numbers = slices.Grow(e.symbols, n), slices.Grow(e.numbers, 5*n)
	e.Touched, e.Dynamic = slices.Grow(e.Touched, n), slices.Grow(e.Dynamic, n)
	s := C.struct_dense{
		at: C.uint64_t(at), words: C.uint64_t(len(words)), blocks: C.uint64_t(len(e.blocks)),
		id_hits: C.uint64_t(e.idHits), items: C.uint64_t(e.items), time: C.uint64_t(e.time),
		id_mask: C.uint64_t(e.idMask()), shift: C.uint64_t(e.sizeShift()), diffs: C.uint64_t(e.diffs),
		ctl: C.uint64_t(e.ctl.n), pay: C.uint64_t(e.pay.n),
		runs: C.uint64_t(len(e.runs)), symbols: C.uint64_t(len(e.symbols)), numbers: C.uint64_t(len(e.numbers)),
		touched: C.uint64_t(len(e.Touched)), dynamic: C.uint64_t(len(e.Dynamic)),
		hist: C.uint32_t(e.hist), last: C.uint32_t(e.last), gen: C.uint32_t(e.gen),
	}
	C.dense_run(&s, (*C.uint64_t)(&words[0]), (*C.uint32_t)(&e.ids[0]),
		(*C.struct_block)(unsafe.Pointer(&e.blocks[0])), (*C.struct_past)(unsafe.Pointer(&e.past[0])), (*C.uint64_t)(&e.lasts[0]), (*C.uint64_t)(&e.waiting[0]),
		(*C.uint8_t)(&e.ctl.b[0]), (*C.uint8_t)(&e.pay.b[0]),
		(*C.uint8_t)(unsafe.SliceData(e.runs)), (*C.uint8_t)(unsafe.SliceData(e.symbols)), (*C.uint8_t)(unsafe.SliceData(e.numbers)),
		(*C.uint32_t)(unsafe.SliceData(e.Touched)), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.Dynamic))))
	e.idHits, e.items, e.time, e.diffs = uint64(s.id_hits), uint64(s.items), uint64(s.time), int(s.diffs)
	e.ctl.n, e.pay.n = int(s.ctl), int(s.pay)
	e.runs, e.symbols, e.numbers = e.runs[:s.runs], e.symbols[:s.symbols], e.numbers[:s.numbers]
	e.Touched, e.Dynamic = e.Touched[:s.touched], e.Dynamic[:s.dynamic]
	e.hist, e.last = uint32(s.hist), uint32(s.last)
	return int(s.at)
}

// flushVector is flushDiffs by vectors.
func (e *Encoder) flushVector() {
	s := C.struct_dense{ctl: C.uint64_t(e.ctl.n), pay: C.uint64_t(e.pay.n), diffs: C.uint64_t(e.diffs)}
	C.dense_flush(&s, (*C.uint64_t)(&e.waiting[0]), (*C.uint8_t)(&e.ctl.b[0]), (*C.uint8_t)(&e.pay.b[0]))
	e.ctl.n, e.pay.n, e.diffs = int(s.ctl), int(s.pay), int(s.diffs)
}

// denseVector is denseRun by a loop in C, which goes on behind mispredicted blocks too. It tells whether anything was decoded: what comes next is left to
// Go if nothing was.
func (d *Decoder) denseVector() bool {
	d.reserveOut()
	have := len(d.out)
	s := C.struct_undense{
		out: C.uint64_t(have), room: batchWords, id_hits: C.uint64_t(d.idHits), items: C.uint64_t(d.items), time: C.uint64_t(d.time),
		blocks: C.uint64_t(len(d.past)), ctl: C.uint64_t(d.halves), ctl_end: C.uint64_t(len(d.words)), pay_end: C.uint64_t(len(d.pay)),
		runs_end: C.uint64_t(len(d.runs)), symbols_end: C.uint64_t(len(d.symbols)), numbers_end: C.uint64_t(len(d.numbers)),
		symbol: C.int64_t(d.symbol), hist: C.uint32_t(d.hist), last: C.uint32_t(d.last), gen: C.uint32_t(d.gen),
	}
	C.undense_run(&s, (*C.uint64_t)(unsafe.SliceData(d.out)), (*C.uint32_t)(&d.ids[0]),
		(*C.struct_block)(unsafe.Pointer(&d.blocks[0])), (*C.struct_past)(unsafe.Pointer(&d.past[0])), (*C.uint64_t)(&d.lasts[0]),
		(*C.uint8_t)(unsafe.SliceData(d.words)), (*C.uint8_t)(unsafe.SliceData(d.pay)), (*C.uint8_t)(unsafe.SliceData(d.runs)),
		(*C.uint8_t)(unsafe.SliceData(d.symbols)), (*C.uint8_t)(unsafe.SliceData(d.numbers)))
	d.out = d.out[:s.out]
	d.idHits, d.items, d.time, d.symbol = int(s.id_hits), uint64(s.items), uint64(s.time), int(s.symbol)
	d.hist, d.last, d.halves = uint32(s.hist), uint32(s.last), int(s.ctl)
	d.pay, d.runs, d.symbols, d.numbers = d.pay[s.pay:], d.runs[s.runs:], d.symbols[s.symbols:], d.numbers[s.numbers:]
	return len(d.out) > have
}
