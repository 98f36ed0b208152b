package frame

import (
	"encoding/binary"
	"math/bits"
)

// Version 3 has one way to write words: a word is the difference to what it was when its
// block was executed the last time in the frame, and of a time stamp, the difference to the
// last time stamp. Nothing is predicted but the blocks; what a word is does not matter.
//
// An execution's words go in groups of eight. Each has, in the stream of control bytes, a
// byte that says which of them have changed, and for each that has, half a byte with the
// number of bytes of its difference, low half first; the differences, zigzagged, follow each
// other in the stream of payloads.
//
// Version 4 makes groups of the words of all executions, one behind the other: most have two or three
// words, and a group costs the same whatever is in it. It has four bytes of control, half a byte for
// each word with the number of bytes of its difference, zero included; the frame's last is filled up
// with zeros. So a group is written without a branch, by a vector instruction or two for each step
// where the processor has them (dense_amd64.c).
//
// They take two to three times the bytes of the predictions of the other versions, and a
// third to a tenth of their time: see docs/internal/engine/frames.md.
const (
	groupWords = 8
	groupBytes = 1 + groupWords/2 // of control bytes of version 3, at most
	// manyDiffs is how many differences wait in version 4 at least before groups of them are written:
	// not between executions, since the loop over these has enough to do.
	manyDiffs = 256
)

// denseOf encodes executions from words[at] on, up to a mark, the end, or most of them, and
// returns where it stopped. It is what blocksOf is for the other versions.
func (e *Encoder) denseOf(words []uint64, at, most int) (int, error) {
	for ; at < len(words) && most > 0; most-- {
		if IsMark(words[at]) {
			break
		}
		id := e.Number(words[at])
		index := idIndex(e.hist)
		var err error
		if e.ids[index] != id || id == 0 {
			err = e.unpredicted(index, words, at)
		} else if err = e.notWhole(words, at); err == nil {
			e.idHits++
		}
		if err != nil {
			return at, err
		}
		b := &e.blocks[id]
		e.hist = idHistory(e.hist, id)
		e.last = id
		b.execs++
		if b.flags&flagDynamic != 0 {
			e.Dynamic = append(e.Dynamic, at)
		}
		at++
		e.dense(b, words[at:][:b.words])
		at += int(b.words)
	}
	return at, nil
}

// denseRun encodes executions from words[at] on, up to a mark or the end.
func (e *Encoder) denseRun(words []uint64, at int) (int, error) {
	if !e.vector {
		return e.denseOf(words, at, len(words))
	}
	for at < len(words) {
		at = e.denseVector(words, at)
		// One execution of what the loop leaves, or none.
		next, err := e.denseOf(words, at, 1)
		if err != nil || next == at {
			return next, err
		}
		at = next
	}
	return at, nil
}

// dense encodes the words of an execution.
func (e *Encoder) dense(b *blockState, vs []uint64) {
	lasts := e.lasts[b.base:][:len(vs)]
	if t := int(b.stack); t != noStack {
		lasts[t], e.time = e.time, vs[t]
	}
	if e.strung {
		for i, v := range vs {
			e.waiting[e.diffs+i], lasts[i] = v-lasts[i], v
		}
		if e.diffs += len(vs); e.diffs >= manyDiffs {
			e.flushDiffs()
		}
		return
	}
	for len(vs) > 0 {
		n := min(groupWords, len(vs))
		e.group(vs[:n], lasts[:n])
		vs, lasts = vs[n:], lasts[n:]
	}
}

// group encodes up to eight words.
// Every difference is written with all of its bytes, and overwritten from where it ends; so
// are the control bytes.
func (e *Encoder) group(vs, lasts []uint64) {
	lasts = lasts[:len(vs)]
	changed, lengths, shift := uint64(0), uint64(0), 0
	for i, v := range vs {
		z := zigzag(int64(v - lasts[i]))
		lasts[i] = v
		n := (bits.Len64(z) + 7) >> 3
		e.pay.put(z, n)
		some := (n + 7) >> 3 // 0 or 1
		changed |= uint64(some) << i
		lengths |= uint64(n) << shift
		shift += some * 4
	}
	e.ctl.put(changed|lengths<<8, 1+(shift+4)>>3)
}

// flushDiffs writes all whole groups of the differences that wait.
func (e *Encoder) flushDiffs() {
	if e.vector {
		e.flushVector()
		return
	}
	n := 0
	for ; n+groupWords <= e.diffs; n += groupWords {
		sizes := uint64(0)
		for i, d := range e.waiting[n:][:groupWords] {
			z := zigzag(int64(d))
			size := (bits.Len64(z) + 7) >> 3
			e.pay.put(z, size)
			sizes |= uint64(size) << (4 * i)
		}
		e.ctl.put(sizes, groupWords/2)
	}
	copy(e.waiting, e.waiting[n:e.diffs])
	e.diffs -= n
}

// endDiffs writes all differences that wait.
func (e *Encoder) endDiffs() {
	if e.diffs == 0 {
		return
	}
	n := (e.diffs + groupWords - 1) &^ (groupWords - 1)
	clear(e.waiting[e.diffs:n])
	e.diffs = n
	e.reserveDense(0)
	e.flushDiffs()
}

// reserveDense makes room for a chunk's words, and for those that wait. An execution of n words, with
// its number n+1, has at most as many control bytes. A vector's stores may reach 64 bytes beyond.
func (e *Encoder) reserveDense(words int) {
	words += e.diffs + groupWords
	e.ctl.reserve(words/8 + 9)
	e.pay.reserve(words + 9)
}

// denseExec decodes the words of an execution.
func (d *Decoder) denseExec(b *blockState, vs []uint64) {
	lasts := d.lasts[b.base:][:len(vs)]
	if t := int(b.stack); t != noStack {
		lasts[t] = d.time
	}
	if d.strung {
		d.strungExec(lasts)
	}
	for at := 0; at < len(vs) && !d.strung; at += groupWords {
		n := min(groupWords, len(vs)-at)
		changed := d.nextByte(&d.words)
		if changed != 0 {
			d.ungroup(changed, lasts[at:at+n])
		}
	}
	copy(vs, lasts)
	if t := int(b.stack); t != noStack {
		d.time = vs[t]
	}
}

// ungroup adds the differences of a group to its last words.
func (d *Decoder) ungroup(changed byte, lasts []uint64) {
	n := bits.OnesCount8(changed)
	if int(changed)>>len(lasts) != 0 || len(d.words) < (n+1)/2 {
		d.fail("a group's control bytes")
		return
	}
	lengths := uint64(0)
	for i := range (n + 1) / 2 {
		lengths |= uint64(d.words[i]) << (8 * i)
	}
	d.words = d.words[(n+1)/2:]
	for ; changed != 0; changed &= changed - 1 {
		size := int(lengths & 15)
		lengths >>= 4
		var z uint64
		if p := d.pay; len(p) >= 8 && size <= 8 {
			z = binary.LittleEndian.Uint64(p) & (1<<(8*size) - 1)
			d.pay = p[size:]
		} else {
			z = d.payload(&d.pay, size)
		}
		lasts[bits.TrailingZeros8(changed)] += uint64(unzigzag(z))
	}
}
