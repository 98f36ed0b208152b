package acceptance

import (
	"fmt"
	"slices"
	"testing"
)

// threadWork is what the threads of testdata/windows/rows-threads.S execute, worked out
// from the source: addresses by thread, from 2 to 4. What the first executes depends on
// how long it waits.
type threadWork map[int][]uint64

// newThreadWork puts the sequences together from the addresses of labels.
func newThreadWork(at map[string]uint64) threadWork {
	work, thread, join := at["work"], at["thread"], at["join"]
	call, exit := thread+7, thread+7+10
	turn := at["turn"]
	w := make(threadWork)
	for n := 2; n <= 4; n++ {
		// test and jz behind the clone, lea and add
		seq := []uint64{join - 4, join - 2, thread, thread + 4}
		for range 10 * (n - 1) {
			seq = append(seq, call, work)
			for range 100 {
				seq = append(seq, turn, turn+8, turn+10)
			}
			seq = append(seq, turn+12, call+5, call+8)
		}
		w[n] = append(seq, exit, exit+5, exit+7)
	}
	return w
}

// reaches returns where in a thread's sequence an address comes for the nth time.
func (w threadWork) reaches(thread int, addr uint64, n int) int {
	for i, a := range w[thread] {
		if a == addr {
			if n--; n == 0 {
				return i
			}
		}
	}
	return -1
}

// TestConfigRowsThreads opens and closes windows in programs with several threads: in
// the thread, and in front of the instruction, that the language says.
func TestConfigRowsThreads(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows-threads.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	w := newThreadWork(at)
	work, turn := at["work"], at["turn"]
	ret := turn + 12
	// writes is where a thread has made n stores: one a turn, one a call.
	behind := func(thread, n int) int {
		for i, a := range w[thread] {
			if a == turn || a == at["thread"]+7 {
				if n--; n == 0 {
					return i + 1
				}
			}
		}
		return -1
	}
	for n, c := range []struct {
		event  string
		thread int // in which it happens
		index  int // before which instruction
	}{
		{`<Instructions threshold="1000" thread="3"/>`, 3, 1000},
		{`<Instructions threshold="4000" anyThread="true"/>`, 3, 4000},
		{`<Instructions threshold="9156" anyThread="true"/>`, 4, 9156},
		{`<Accesses writes="500" thread="3"/>`, 3, behind(3, 500)},
		{`<Accesses writes="1500" anyThread="true"/>`, 3, behind(3, 1500)},
		{`<Accesses total="50" thread="2"/>`, 2, w.reaches(2, turn, 25) + 1},
		{`<Accesses reads="777" writes="20" thread="4"/>`, 4, w.reaches(4, turn, 770) + 1},
		{`<Call name="work" thread="3"/>`, 3, w.reaches(3, work, 1)},
		{`<Call name="work" threshold="25"/>`, 3, w.reaches(3, work, 15)},
		{`<Call name="work" threshold="60"/>`, 4, w.reaches(4, work, 30)},
		{`<Return name="work" thread="4"/>`, 4, w.reaches(4, ret, 1) + 1},
		{`<Return name="work" threshold="25"/>`, 3, w.reaches(3, ret, 15) + 1},
		{fmt.Sprintf(`<Address value="%#x" threshold="1042"/>`, turn+8), 3, w.reaches(3, turn+8, 42)},
		{`<Syscall name="exit" thread="3"/>`, 3, len(w[3])},
		{`<Syscall number="60" threshold="2"/>`, 3, len(w[3])},
		{`<Creation process="1" thread="3"/>`, 3, 0},
		{`<Termination process="1" thread="2"/>`, 2, len(w[2])},
		{`<Threads largerEqual="2"/>`, 2, 0},
	} {
		for way, kind := range []string{"native", "cached"} {
			if !inTurn(n, way, 2) {
				continue
			}
			others := []string{"", nothing}[way]
			t.Run(c.event+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir := workDir(t)
				opened := record(t, dir, windowed("", "<On>"+c.event+"</On>", others), prog)
				closed := record(t, dir, windowed("", "<Till>"+c.event+"</Till>", others), prog)
				for n := 2; n <= 4; n++ {
					// Earlier threads have ended by then, later ones not begun.
					from := min(max(0, (c.thread-n)*1e6), len(w[n]))
					if n == c.thread {
						from = c.index
					}
					where := fmt.Sprintf("1/%d", n)
					if got := opened[where].addrs; !slices.Equal(got, w[n][from:]) {
						t.Errorf("opened: thread %d: %d instructions, not %d", n, len(got), len(w[n])-from)
					}
					if got := closed[where].addrs; !slices.Equal(got, w[n][:from]) {
						t.Errorf("closed: thread %d: %d instructions, not %d", n, len(got), from)
					}
				}
			})
		}
	}
}

// TestOvershootOfThreads checks what WINDOWS says of a count over several threads: it
// was reached, and exceeded by no more than a block a thread.
func TestOvershootOfThreads(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows-threads.S", "-nostdlib -static -no-pie")
	w := newThreadWork(labels(t, prog))
	const threshold, block = 5000, 3 // of the turns
	dir := workDir(t)
	got := record(t, dir, windowed("", fmt.Sprintf(`<On><Instructions threshold="%d"/></On>`, threshold), ""), prog)["1/3"].addrs
	p := windowEvents(t, dir)
	if len(p) == 0 || p[0].Instructions != threshold+p[0].Overshoot || p[0].Overshoot > 2*block || p[0].Thread != 3 {
		t.Fatalf("%+v", p)
	}
	// The first thread has executed some, which depends on how often it waited.
	done := len(w[3]) - len(got)
	if first := int(p[0].Instructions) - len(w[2]) - done; first < 20 || first > 200 {
		t.Errorf("%d instructions in thread 3, %d in thread 2: %d are left for the first", done, len(w[2]), first)
	}
	if !slices.Equal(got, w[3][done:]) {
		t.Error("not what thread 3 executes last")
	}
}
