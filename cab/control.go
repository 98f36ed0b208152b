package cab

import "time"

// Waited is what rings' producers have waited for room, and what became of their chunks.
type Waited struct {
	Times  uint64 // waits
	Ticks  uint64 // TSC ticks that they took
	Chunks uint64 // completed
	Lost   uint64 // words that lossy rings' producers have overwritten
}

func (w *Waited) add(o Waited) {
	w.Times += o.Times
	w.Ticks += o.Ticks
	w.Chunks += o.Chunks
	w.Lost += o.Lost
}

// Measures are what a pool's state is judged by. Times and counts are from the beginning.
type Measures struct {
	// Idle is how long the processing threads that are not suspended waited for something to do, together: the paper's
	// ptit (Alleria, section 3).
	Idle time.Duration
	// Waited has how long application threads waited for room: the paper's atwt.
	Waited
	Rings   int // one for each application thread
	Buffers int // chunks that they have, together
	Full    int // of these, complete and not yet consumed
	Waiting int // rings whose producers wait now
	Working int // processing threads
	// Suspended threads can be resumed; Broken ones are gone.
	Suspended, Broken int
}

// Measure looks at the pool and all of its rings. tsc is the time now.
func (p *Pool) Measure(tsc uint64) Measures {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := Measures{Waited: p.gone}
	now := p.now()
	for _, w := range p.threads {
		m.Idle += time.Duration(w.clock.sum(now))
		switch w.state.Load() {
		case working:
			m.Working++
		case suspended:
			m.Suspended++
		default:
			m.Broken++
		}
	}
	for _, e := range p.rings {
		if e.leads() {
			m.Rings++
			e.measure(&m, tsc)
		}
	}
	return m
}

// Idle is how long the processing threads waited, together.
func (p *Pool) Idle() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := int64(0)
	for _, w := range p.threads {
		sum += w.clock.sum(p.now())
	}
	return time.Duration(sum)
}

// Used is how much processor time the processing threads that have ended have used, together: all of it once the pool is closed.
func (p *Pool) Used() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := time.Duration(0)
	for _, w := range p.threads {
		sum += time.Duration(w.used.Load())
	}
	return sum
}

// Resume has one more processing thread work: one that is suspended, or a new one. created tells which; ok is
// false where there are as many as there may be.
func (p *Pool) Resume() (created, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err.Load() != nil || p.stop.Load() {
		return false, false
	}
	if p.resume() {
		return false, true
	}
	there := 0
	for _, w := range p.threads {
		if w.state.Load() == working {
			there++
		}
	}
	if there >= max(p.Most, 1) {
		return false, false
	}
	p.start()
	return true, true
}

// resume wakes a suspended thread, the one that was there first. p.mu is held.
func (p *Pool) resume() bool {
	for _, w := range p.threads {
		if w.state.CompareAndSwap(suspended, working) {
			w.nudge()
			return true
		}
	}
	return false
}

// start starts a processing thread. p.mu is held.
func (p *Pool) start() {
	w := &worker{Pool: p, number: len(p.threads), held: make(map[*Reader]*Lease)}
	w.sink = p.Sink(w.number)
	p.threads = append(p.threads[:len(p.threads):len(p.threads)], w)
	p.first.CompareAndSwap(nil, w)
	p.wg.Add(1)
	go w.run()
}

// Suspend has one processing thread less work: the one that was started last. It gives back what it
// works at and sleeps. false: the last one stays.
func (p *Pool) Suspend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.threads) - 1; i >= 0; i-- {
		w := p.threads[i]
		if p.first.Load() != w && w.state.CompareAndSwap(working, suspended) {
			p.call(1 << 20)
			return true
		}
	}
	return false
}

// replace finds somebody who goes on in the place of a broken thread, and tells whether there is.
func (w *worker) replace() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err.Load() != nil {
		return false
	}
	other := func() *worker {
		for _, o := range w.threads {
			if o != w && o.state.Load() == working {
				return o
			}
		}
		return nil
	}
	o := other()
	if o == nil && w.Pool.resume() {
		o = other()
	}
	if o == nil && w.spare > 0 {
		w.spare--
		w.start()
		o = w.threads[len(w.threads)-1]
	}
	if o == nil {
		return false
	}
	w.state.Store(ended)
	w.first.CompareAndSwap(w, o)
	return true
}

// Widen gives so many chunks more to the ring whose producer has waited longest since Widen was called last,
// and tells how many it got: none where no producer has, or where rings are as large as they may be.
func (p *Pool) Widen(chunks int) int {
	var most *Ring
	longest := uint64(0)
	for _, e := range p.list() {
		if d := e.waitedSince(); d > longest {
			most, longest = e.Ring, d
		}
	}
	if most == nil {
		return 0
	}
	return most.widen(uint64(chunks))
}
