package emit

import (
	"fmt"

	"alleria/abp"
	"alleria/internal/records"
)

// What a Dropper knows of blocks, and what it has counted of them.

// meetQuick prepares the counting of a block whose record says that it has size words, the first as well, and with ahead of all others that there are by now.
func (w *Dropper) meetQuick(id uint32, size int) bool {
	w.extend(id)
	if w.quick[id] != unmet {
		return true
	}
	words, dynamic, ok := w.p.blocks.brief(id)
	if id == 0 || !ok || size != 1+words {
		return false
	}
	if dynamic {
		w.quick[id] = unmet + w.addOdd(id, words)
		return true
	}
	w.quick[id] = 0
	if !w.ahead {
		w.ids = append(w.ids, id)
	}
	return true
}

// extend has quick reach to all blocks that there are, and to one more.
func (w *Dropper) extend(id uint32) {
	was := len(w.quick)
	n := max(int(id), int(w.p.blocks.raw.Last())) + 1 - was
	if n <= 0 {
		return
	}
	w.quick = append(w.quick, make([]uint32, n)...)
	if w.ahead {
		w.p.blocks.raw.Plain(w.quick, uint32(was), 0, unmet)
		return
	}
	for i := was; i < len(w.quick); i++ {
		w.quick[i] = unmet
	}
}

// meet prepares the counting of a block whose records do not say how long they are.
func (w *Dropper) meet(id uint32) bool {
	words, dynamic, ok := w.p.blocks.brief(id)
	if id == 0 || !ok {
		return false
	}
	if n := max(int(id), int(w.p.blocks.raw.Last())) + 1 - len(w.met); n > 0 { // of all that there are: a start meets most of what is kept of it
		w.met = append(w.met, make([]metBlock, n)...)
	}
	b := &w.met[id]
	if b.words = uint16(words); dynamic && b.odd == 0 {
		b.odd = w.addOdd(id, words)
	}
	w.ids = append(w.ids, id)
	return true
}

// addOdd prepares the counting of a block whose words matter, and returns one more than its place.
func (w *Dropper) addOdd(id uint32, words int) uint32 {
	b := w.p.blocks.wholeOf(w.p.blocks.get(id)) // kept for blocks of this kind
	w.odd = append(w.odd, oddBlock{id: id, words: uint32(words), accesses: b.DynamicAccesses()})
	return uint32(len(w.odd))
}

// settle adds what was counted to the thread's counts. It multiplies, once a thread's turn is over, what would else be added per execution.
func (w *Dropper) settle() error {
	if w.walked == 0 || w.thread == nil { // nothing since the last time
		return nil
	}
	w.walked = 0
	var c abp.Counts
	var err error
	for i := range w.odd {
		w.odd[i].take(w.p, &c)
	}
	if w.ahead {
		err = w.takeAll(&c)
	} else {
		w.takeMet(&c)
	}
	w.passed = 0
	if c != (abp.Counts{}) {
		w.thread.add(c)
	}
	return err
}

// takeAll adds what was counted of all blocks, in the order in which their rows lie: they come from memory then, one behind the other. How long each record is has not been
// compared with its block's; together they are as long as the words that were passed over.
func (w *Dropper) takeAll(c *abp.Counts) error {
	w.takeMet(c)
	s, words := w.p.blocks.raw.Tally(w.quick, unmet)
	c.Add(countsOf(&s), 1)
	if words != w.passed {
		return fmt.Errorf("records of %d words are %d words long: %w", words, w.passed, records.ErrMalformed)
	}
	return nil
}

// takeMet adds what was counted of the blocks that were met. Where much was met it goes in the order in which blocks' facts lie.
func (w *Dropper) takeMet(c *abp.Counts) {
	if most := max(len(w.met), len(w.quick)); len(w.ids) > most/8 {
		for id := range most {
			w.take(c, uint32(id))
		}
	} else {
		for _, id := range w.ids {
			w.take(c, id)
		}
	}
	w.ids = w.ids[:0]
}

// take adds what was counted of a block.
func (w *Dropper) take(c *abp.Counts, id uint32) {
	n := uint64(0)
	if int(id) < len(w.met) {
		if b := &w.met[id]; b.odd == 0 { // else odd has the executions
			n = uint64(b.execs)
		}
		w.met[id].execs = 0
	}
	if !w.ahead && int(id) < len(w.quick) && w.quick[id] < unmet {
		n, w.quick[id] = n+uint64(w.quick[id]), unmet
	}
	if n > 0 {
		c.Add(w.p.blocks.staticOf(id), n)
	}
}

// take adds what was counted of the block's records that quick has, and of the accesses that words decide.
func (b *oddBlock) take(p *ProcessWriter, c *abp.Counts) {
	if b.execs == 0 {
		return
	}
	c.Add(b.counts, 1)
	c.Add(p.blocks.staticOf(b.id), b.execs)
	b.execs, b.counts = 0, abp.Counts{}
}
