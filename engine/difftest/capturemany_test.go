package difftest

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"alleria/engine"
	"alleria/internal/capture"
)

// TestCaptureCrowd arms 50,000 functions at once.
func TestCaptureCrowd(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "intercept", "crowd.c"), []string{"-O2"})
	prog := &capture.Program{Entry: []capture.Item{gpr(rdi)}, Exit: []capture.Item{gpr(rax)}, Returns: true}
	want := native(t, path)
	for _, mode := range []engine.Mode{engine.ModeNative, engine.ModePlain} {
		var took time.Duration
		out, c := intercept(t, path, mode, nil, nil, func(c *interceptor) {
			c.at = func(p *engine.Process, addr func(string) uint64) {
				from := time.Now()
				for i := range uint64(50000) {
					if err := p.Intercept(addr("crowd")+16*i, uint32(i), prog); err != nil {
						t.Fatal(err)
					}
				}
				took = time.Since(from)
			}
		})
		t.Logf("armed in %v", took)
		if out != want {
			t.Errorf("%+v instead of %+v", out, want)
		}
		calls := c.byThread(t)[0]
		if len(calls) != 2*20*50 {
			t.Errorf("%d moments", len(calls))
		}
		for i, w := range calls {
			if _, _, fn := capture.SplitHead(w[0]); fn != uint32(997*(i/2%50)) {
				t.Fatalf("moment %d is of function %d", i, fn)
			}
		}
	}
}

// turns is a client that arms and disarms functions at each call of another.
type turns struct {
	p    *engine.Process
	addr func(string) uint64
	n    int
	prog *capture.Program
	err  error
}

func (c *turns) program() *capture.Program {
	return &capture.Program{Entry: []capture.Item{gpr(rdi)}, Exit: []capture.Item{gpr(rax)}, Returns: true}
}

func (c *turns) Notified(t *engine.Thread, addr uint64, _ engine.NotifiedRegs) {
	if c.n++; c.n%5 == 1 {
		c.prog = c.program()
	}
	prog := c.prog
	for i, name := range []string{"deep", "leaf"} {
		if c.n%4 == 0 || c.n%4 == 1+i {
			c.p.Unintercept(c.addr(name))
		} else if err := c.p.Intercept(c.addr(name), uint32(i), prog); err != nil {
			c.err = err
		}
	}
	if c.n%3 == 0 { // and the same one again
		c.p.Unintercept(c.addr("leaf"))
	}
}

// armings is how many turns TestCaptureTurns takes: what a turn does is the same again after 60.
var armings = flag.Int("armings", 240, "turns of arming and disarming functions")

// TestCaptureTurns arms and disarms functions some hundred times while threads are inside of them.
func TestCaptureTurns(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "intercept", "around.c"), []string{"-O2", "-pthread"})
	for _, m := range captureModes[1:] { // by stops alone nobody gets anywhere
		from, tc := time.Now(), &turns{}
		opts := func(o *engine.Options) {
			if m.opts != nil {
				m.opts(o)
			}
			o.Argv = []string{path, fmt.Sprint(*armings)}
		}
		out, c := intercept(t, path, m.mode, nil, opts, func(c *interceptor) {
			c.at = func(p *engine.Process, addr func(string) uint64) {
				tc.p, tc.addr = p, addr
				if err := p.Notify(addr("turn")); err != nil {
					t.Fatal(err)
				}
			}
			c.notified = tc.Notified
		})
		if (out != outcome{"exit 0", "0\n"}) {
			t.Errorf("%s: %+v", m.name, out)
		}
		if tc.n != *armings || tc.err != nil {
			t.Errorf("%s: %d turns of %d, %v", m.name, tc.n, *armings, tc.err)
		}
		t.Logf("%s: %v, %d moments by the tracer", m.name, time.Since(from), c.slow)
		for i, calls := range c.byThread(t) {
			open := 0
			for _, w := range calls {
				mo, _, fn := capture.SplitHead(w[0])
				want := 5
				if fn > 1 || len(w) != want {
					t.Fatalf("%s: thread %d: %#x", m.name, i, w)
				}
				if mo == capture.Entered {
					open++
				} else if open--; open < 0 {
					t.Fatalf("%s: thread %d returned more often than it entered", m.name, i)
				}
			}
		}
	}
}

// TestCaptureStorm captures functions that signals interrupt all the time: each call is there once, with its return.
func TestCaptureStorm(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "intercept", "storm.c"), []string{"-O2"})
	str := &capture.Target{Size: 1, Len: capture.Length{Kind: capture.Sentinel}, Max: 256}
	result := []capture.Item{gpr(rax)}
	progs := map[string]*capture.Program{
		"two":     {Entry: []capture.Item{gpr(rdi), gpr(rsi)}, Exit: result, Returns: true},
		"text":    {Entry: []capture.Item{pointing(rdi, str)}, Exit: []capture.Item{pointing(rax, str)}, Returns: true, MaxBytes: 1024},
		"through": {Entry: []capture.Item{gpr(rdi), pointing(rsi, str)}, Exit: result, Returns: true, MaxBytes: 1024},
	}
	for _, m := range captureModes[2:] {
		out, c := intercept(t, path, m.mode, progs, m.opts)
		var wrong, n int
		if _, err := fmt.Sscan(out.output, &wrong, &n); err != nil || wrong != 0 || out.status != "exit 0" {
			t.Errorf("%s: %+v", m.name, out)
			continue
		}
		var stack []uint64
		count := 0
		for k, w := range c.byThread(t)[0] {
			mo, _, fn := capture.SplitHead(w[0])
			if mo == capture.Entered {
				stack = append(stack, w[2]<<8|uint64(fn))
				count++
				continue
			}
			if len(stack) == 0 || stack[len(stack)-1] != w[2]<<8|uint64(fn) {
				t.Fatalf("%s: moment %d: %s returns, innermost is %#x", m.name, k, callText(c.names, w), stack)
			}
			stack = stack[:len(stack)-1]
		}
		if count != 3*n || len(stack) != 0 {
			t.Errorf("%s: %d calls instead of %d, %d not left", m.name, count, 3*n, len(stack))
		}
		t.Logf("%s: %d calls, %d moments by the tracer", m.name, count, c.slow)
	}
}

// TestCaptureLetRun lets a program go whose threads have run with what captures, and are in what was captured.
func TestCaptureLetRun(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "intercept", "around.c"), []string{"-O2", "-pthread"})
	prog := &capture.Program{Entry: []capture.Item{gpr(rdi)}, Exit: []capture.Item{gpr(rax)}, Returns: true}
	for _, m := range captureModes[2:] {
		if m.mode == engine.ModeRecord {
			continue
		}
		n := 0
		out, c := intercept(t, path, m.mode, map[string]*capture.Program{"deep": prog, "leaf": prog}, m.opts, func(c *interceptor) {
			c.at = func(p *engine.Process, addr func(string) uint64) {
				turn := addr("turn")
				if err := p.Notify(turn); err != nil {
					t.Fatal(err)
				}
				c.notified = func(*engine.Thread, uint64, engine.NotifiedRegs) {
					if n++; n != 500 {
						return
					}
					p.Unnotify(turn)
					p.Unintercept(addr("deep"))
					p.Unintercept(addr("leaf"))
					p.SetMode(engine.ModeNative)
					p.Settle()
					p.LetRun(engine.Detach)
				}
			}
		})
		if n != 500 {
			t.Errorf("%s: %d turns seen", m.name, n)
		}
		if (out != outcome{"exit 0", "0\n"}) {
			t.Errorf("%s: %+v", m.name, out)
		}
		for i, calls := range c.byThread(t) {
			if len(calls) == 0 && i < 4 {
				t.Errorf("%s: thread %d has no calls", m.name, i)
			}
		}
	}
}
