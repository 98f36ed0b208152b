package acceptance

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/engine/x86"
	"alleria/internal/session"
)

// What random configurations were given later. It has random numbers of its own, so
// that the seeds noted before still make what they made.

// never is an event that does not happen in a program of one process and one thread,
// which the tracer has to await nevertheless.
func never(element string) *oracleEvent {
	return &oracleEvent{element: element, happens: func(int) bool { return false }}
}

// other sometimes makes an event that takes the place of another: one that happens
// once, when the program begins, or never.
func (c *configurer) other(on bool) *oracleEvent {
	if c.wider == nil || c.wider.IntN(6) > 0 || c.tr.beside != nil {
		return nil
	}
	path := c.tr.images[0].path
	base, fn := filepath.Base(path), c.called[0].names[0]
	if on && c.wider.IntN(3) == 0 {
		// As Till they would meet a window that opens at the same place. At the end no thread lives,
		// which is at most one.
		return c.tr.begins(one(c.wider, fmt.Sprintf(`Load name="%s"`, base), fmt.Sprintf(`Load path="%s" process="1"`, path),
			`Creation process="1"`, `Creation process="1" thread="1"`, `Threads largerEqual="1"`, `Threads smallerEqual="1" largerEqual="1" process="1"`))
	}
	if nr := one(c.wider, c.calls...); c.wider.IntN(3) == 0 {
		times := 1 + c.wider.IntN(3)
		return c.tr.enters(nr, fmt.Sprintf(` name="%s" process="1"`, abp.SyscallName(uint32(nr))), times)
	}
	if n := 1 + c.wider.IntN(len(c.tr.facts)); c.wider.IntN(2) == 0 {
		return one(c.wider, c.tr.instructions(n, ` process="1"`), c.tr.instructions(n, ` thread="1" process="1"`),
			c.tr.accesses(n, 0, 0, ` process="1"`))
	}
	return never(one(c.wider, "Fork", "Exec", `Signal number="10"`, `Time threshold="3600s"`,
		`Load name="libnone.so"`, fmt.Sprintf(`Unload name="%s"`, base), `Creation process="1" thread="2"`,
		`Termination process="1" thread="2"`, `Threads largerEqual="2"`, `Syscall name="fork"`,
		fmt.Sprintf(`Call name="%s" threshold="999k"`, fn), fmt.Sprintf(`Return name="%s" thread="2"`, fn), fmt.Sprintf(`Call name="%s" threshold="1000000"`, fn),
		`Instructions threshold="10" thread="2"`, `Accesses total="1G"`))
}

// widen gives the window elements of Process besides the one that holds, and has its
// threads record calls of the system and signals.
func (c *configurer) widen(w *oracleWindow) {
	if c.wider == nil {
		return
	}
	const all = `><Thread><Image><Function><Instruction cat="any" accessValue="true"/></Function></Image></Thread></Process>`
	w.process = c.wider.IntN(2)
	others := []string{`<Process n="2"/>`, `<Process n="3"` + all}
	if w.process == 1 {
		others = append(others, "<Process"+all, "<Process/>")
	}
	if c.wider.IntN(2) == 0 {
		w.before = one(c.wider, others...)
	} else if c.wider.IntN(2) == 0 {
		w.behind = one(c.wider, others...)
	}
	for i := range w.threads {
		w.threads[i].calls, w.threads[i].signals = c.wider.IntN(4) == 0, c.wider.IntN(4) == 0
	}
}

// switches sometimes turns optimisations off that the other flags leave. Not on: "predict", whose
// stubs leave an address of the code cache where a program's return address was, below the
// stack pointer; these programs read there.
func (c *configurer) switches() []string {
	if c.wider == nil || c.wider.IntN(3) == 0 {
		return nil
	}
	var names []string
	for range 1 + c.wider.IntN(3) {
		names = append(names, one(c.wider, "no-super", "no-lazy", "no-safe-point", "no-sigreturn", "no-start-sites", "no-short", "short", "no-jumps", "no-detach",
			"no-spread", "no-memo", "no-huge", "ahead", "no-vector", "no-sizes", "meet-each", "whole-tables"))
	}
	return []string{"--engine", strings.Join(names, ",")}
}

// newer sometimes turns off what the engine got after the seeds of wider had been noted, with random numbers of its own for the same reason.
func (c *configurer) newer(rng *rand.Rand) []string {
	if c.wider == nil || rng.IntN(2) == 0 {
		return nil
	}
	return []string{"--engine", one(rng, "no-handover", "no-batch", "stop-signals", "no-aside", "no-protect", "protect-soon", "small-cache", "no-state", "no-behind", "no-callees", "no-wide-compare", "no-target-load", "plain-counts", "no-inherit", "no-reuse", "no-kept-records", "no-prefetch", "no-disk-cache")}
}

// latest sometimes turns one more of all that the engine has off, or on, so that nothing new is left out. Not "predict" (see switches), and not
// those of bursts, which these configurations do not have.
func (c *configurer) latest(rng *rand.Rand) []string {
	if c.wider == nil || rng.IntN(2) == 0 {
		return nil
	}
	names := slices.DeleteFunc(session.EngineSwitches(), func(n string) bool { return n == "predict" || strings.HasSuffix(n, "-bursts") })
	return []string{"--engine", one(rng, names...)}
}

// compareCalls compares SYSCALLS and SIGNALS: those that happened while a window was
// open that asks for them. Where one opens or closes a window either is right, and so
// is it of the call that ends the process.
func (tr *oracleTrace) compareCalls(p *abp.Profile, windows []*oracleWindow, ran *oracleResult) string {
	// asked tells whether a row has to be there of what happens in front of an instruction, and whether it may.
	asked := func(i int, want func(t *oracleThread) bool) (must, may bool) {
		for k, w := range windows {
			t, bit := w.thread(), uint64(1)<<k
			if t == nil || !want(t) {
				continue
			}
			before := ran.open[i-1]&bit != 0
			changes := i == len(tr.facts) || ran.changed[i]&bit != 0
			must, may = must || before && !changes, may || before || changes
		}
		return must, may
	}
	calls := func(t *oracleThread) bool { return t.calls }
	signals := func(t *oracleThread) bool { return t.signals }
	var gotCalls []abp.Syscall
	var gotSignals []abp.Signal
	for _, proc := range p.Processes() {
		gotCalls, gotSignals = append(gotCalls, proc.Syscalls()...), append(gotSignals, proc.Signals()...)
	}
	gotCalls = slices.DeleteFunc(gotCalls, func(s abp.Syscall) bool { return s.Thread != 1 })
	callsEnd, signalsEnd := []int{0}, []int{0}
	for i := range tr.facts {
		f := &tr.facts[i]
		if f.in.Cat == x86.CatSYSCALL {
			must, may := asked(i+1, calls)
			callsEnd = mayFollow(callsEnd, must, may, func(k int) bool {
				return k < len(gotCalls) && uint64(gotCalls[k].Number) == f.call
			})
		}
		if f.signalled {
			must, may := asked(i, signals)
			signalsEnd = mayFollow(signalsEnd, must, may, func(k int) bool {
				return k < len(gotSignals) && gotSignals[k].IP == tr.facts[i-1].to
			})
		}
		if len(callsEnd) == 0 || len(signalsEnd) == 0 {
			return fmt.Sprintf("%s\nits call, or the signal before it, is not recorded; calls are %+v, signals %+v", tr.around(i), gotCalls, gotSignals)
		}
	}
	if !slices.Contains(callsEnd, len(gotCalls)) || !slices.Contains(signalsEnd, len(gotSignals)) {
		return fmt.Sprintf("more is recorded than calls up to %v of %+v and signals up to %v of %+v", callsEnd, gotCalls, signalsEnd, gotSignals)
	}
	return ""
}

// mayFollow brings the numbers of rows that may have been written so far over something
// that happened and that must or may have a row. is tells whether a row may be it.
func mayFollow(ends []int, must, may bool, is func(int) bool) (next []int) {
	for _, k := range ends {
		if !must {
			next = append(next, k)
		}
		if may && is(k) {
			next = append(next, k+1)
		}
	}
	slices.Sort(next)
	return slices.Compact(next)
}
