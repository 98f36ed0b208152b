package acceptance

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// configurer makes random windows for a program.
type configurer struct {
	rng     *rand.Rand
	tr      *oracleTrace
	entered []*oracleSymbol
	// What Call and Return name. Of returns from several functions by one instruction,
	// after tail calls, only the innermost's is an event, so that one function has them.
	called   []*oracleSymbol
	returned *oracleSymbol
	calls    []uint64            // numbers of system calls
	keys     []map[string]string // of instructions, as often as they execute
	wider    *rand.Rand          // what was added later is drawn from (random_wider_test.go); nil: nothing of it
}

func newConfigurer(rng *rand.Rand, tr *oracleTrace) *configurer {
	c := &configurer{rng: rng, tr: tr}
	seen := make(map[*oracleSymbol]bool)
	for i := range tr.facts {
		f := &tr.facts[i]
		if f.entered != nil && !seen[f.entered] {
			seen[f.entered] = true
			c.entered = append(c.entered, f.entered)
		}
		if f.call != 0 && i < len(tr.facts)-1 {
			c.calls = append(c.calls, f.call)
		}
		c.keys = append(c.keys, f.key)
	}
	for _, fn := range c.entered {
		// Nor functions that begin with a system call: a native probe there is passed by a
		// step, in which the kernel reports no call.
		if fn.names[0] != "restoring" && !strings.HasSuffix(fn.names[0], ".cold") {
			c.called = append(c.called, fn)
		}
	}
	return c
}

// one picks an element.
func one[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// window makes a random window; alone: it may sample instructions, of which several
// windows could ask for different parts.
func (c *configurer) window(alone bool) *oracleWindow {
	w := &oracleWindow{reopens: c.rng.IntN(3) > 0}
	if c.rng.IntN(8) > 0 {
		w.on = c.event(2, true)
	} else {
		w.reopens = false // it needs an On
	}
	if c.rng.IntN(8) > 0 {
		w.till = c.event(2, false)
	}
	if w.on != nil && c.rng.IntN(12) == 0 && c.tr.beside == nil {
		w.reopens = true
		period := 2 + c.rng.IntN(len(c.tr.facts)/2)
		c.tr.sampling(w, period, 1+c.rng.IntN(period-1))
	}
	threads := 1 + c.rng.IntN(2)
	for n := range threads {
		w.threads = append(w.threads, oracleThread{n: n, images: c.images(alone)})
	}
	c.widen(w)
	return w
}

// event makes a random event, or a combination.
func (c *configurer) event(depth int, on bool) *oracleEvent {
	if depth == 0 || c.rng.IntN(4) > 0 {
		return c.leaf(on)
	}
	var children []*oracleEvent
	for range 1 + c.rng.IntN(3) {
		children = append(children, c.event(depth-1, on))
	}
	if c.rng.IntN(2) == 0 {
		return all(children...)
	}
	return oneOf(children...)
}

// leaf makes a random event.
func (c *configurer) leaf(on bool) *oracleEvent {
	e := c.frequent(on)
	if other := c.other(on); other != nil {
		return other
	}
	return e
}

// frequent makes one of those that happen while the program runs.
func (c *configurer) frequent(on bool) *oracleEvent {
	tr, fn := c.tr, one(c.rng, c.called...)
	attrs, times := "", 1+c.rng.IntN(3)*c.rng.IntN(12)
	if times == 1 {
		times = c.rng.IntN(2)
		attrs = one(c.rng, "", ` process="1"`)
		if times == 0 {
			attrs = one(c.rng, attrs, ` thread="1"`)
		}
	}
	switch c.rng.IntN(10) {
	case 0, 1, 2:
		return tr.calls(fn, one(c.rng, fn.names...), c.where()+attrs, times)
	case 3, 4:
		return tr.returns(c.returned, one(c.rng, c.returned.names...), c.where()+attrs, times)
	case 5:
		at := one(c.rng, tr.facts...).addr
		if tr.beside[at] || tr.byteAt(at) == 0x0f && tr.byteAt(at+1) == 0x05 {
			at = tr.facts[0].addr
		}
		im := tr.images[0]
		return tr.arrives(at, one(c.rng, fmt.Sprintf(` value="%#x"`, at), fmt.Sprintf(` image="%s" offset="%#x"`, filepath.Base(im.path), at-im.bias)), times)
	case 6:
		nr := one(c.rng, c.calls...)
		return tr.enters(nr, fmt.Sprintf(` number="%d"`, nr)+attrs, times)
	case 7:
		return tr.signals(one(c.rng, "", ` number="11"`), 0)
	}
	return c.count(on)
}

// where is attributes of an event on a function.
func (c *configurer) where() string {
	path := c.tr.images[0].path
	image := one(c.rng, "", "", fmt.Sprintf(` imageName="%s"`, filepath.Base(path)), fmt.Sprintf(` imagePath="%s"`, path))
	return image + one(c.rng, "", "", ` decorated="true"`)
}

// count makes an event on a count of instructions or accesses.
func (c *configurer) count(on bool) *oracleEvent {
	n := 1 + c.rng.IntN(len(c.tr.facts))
	attrs := one(c.rng, "", "", ` thread="1"`, ` anyThread="true"`)
	if c.tr.beside != nil {
		attrs = ` thread="1"` // what the other executes differs from run to run
	}
	if !on && c.rng.IntN(2) == 0 {
		attrs += ` since="open"`
		n = 1 + c.rng.IntN(1+n/8)
	}
	d := c.tr.doneBy(n)
	r, w := max(d.reads, 1), max(d.writes, 1)
	switch c.rng.IntN(5) {
	case 0:
		return c.tr.accesses(r+w, 0, 0, attrs)
	case 1:
		return c.tr.accesses(0, r, 0, attrs)
	case 2:
		return c.tr.accesses(0, 0, w, attrs)
	case 3:
		return c.tr.accesses(0, r, w, attrs)
	}
	return c.tr.instructions(n, attrs)
}

// images makes a random selection of images.
func (c *configurer) images(alone bool) []oracleSelected {
	path := c.tr.images[0].path
	var out []oracleSelected
	for _, s := range []oracleSelected{{by: "path", value: path}, {by: "name", value: filepath.Base(path)}, {by: "main", value: "true"},
		{by: "anyButSys", value: "true"}, {by: "name", value: "libnone.so"}, {}} {
		if c.rng.IntN(3) > 0 && (s.by != "" || len(out) > 0) {
			continue
		}
		if c.rng.IntN(12) > 0 { // else excluded
			s.functions = c.functions(alone)
		}
		out = append(out, s)
	}
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// functions makes a random selection of functions.
func (c *configurer) functions(alone bool) []oracleFunction {
	var out []oracleFunction
	seen := make(map[string]bool)
	add := func(name string) {
		f := oracleFunction{name: name, decorated: name != "" && c.rng.IntN(4) == 0}
		if key := fmt.Sprint(f.name, f.decorated); seen[key] {
			return
		} else {
			seen[key] = true
		}
		if c.rng.IntN(12) > 0 {
			f.instructions = c.instructions(alone)
		}
		out = append(out, f)
	}
	for range c.rng.IntN(4) {
		name := one(c.rng, one(c.rng, c.entered...).names...)
		if owner := oracleOwner(name); owner != "" && c.rng.IntN(2) == 0 {
			name = owner
		}
		add(name)
	}
	for range c.rng.IntN(3) {
		add(one(c.rng, "w*", "wor*", "*1*", "*", "helper*", "*.cold", "a*o*", "w*k*"))
	}
	if len(out) == 0 || c.rng.IntN(3) > 0 {
		add("")
	}
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// instructions makes a random selection of instructions and of their fields.
func (c *configurer) instructions(alone bool) []oracleInstruction {
	var out []oracleInstruction
	seen := make(map[string]bool)
	add := func(by, value string) {
		if seen[by+value] || value == "" {
			return
		}
		seen[by+value] = true
		in := oracleInstruction{by: by, value: value}
		for _, f := range []string{"timeStamp", "routineId", "accessAddressAndSize", "accessValue", "branch"} {
			if c.rng.IntN(3) == 0 {
				in.fields = append(in.fields, f)
			}
		}
		if c.rng.IntN(5) == 0 {
			for _, r := range oracleRegisters() {
				if c.rng.IntN(4) == 0 {
					in.registers = append(in.registers, r)
				}
			}
		}
		if alone && c.rng.IntN(8) == 0 {
			in.sample = 1 + c.rng.IntN(5)
		}
		out = append(out, in)
	}
	for range c.rng.IntN(5) {
		by := one(c.rng, "form", "class", "isa", "ext", "cat")
		add(by, one(c.rng, c.keys...)[by])
	}
	if c.rng.IntN(3) == 0 {
		add("cat", "anyMem")
	}
	if len(out) == 0 || c.rng.IntN(2) == 0 {
		add("cat", "any")
	}
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
