package config

// limit is one thing that the language can say and that record cannot run yet.
// The table is the whole of it: when record learns something, its row goes.
type limit struct {
	// hits tells whether a node of the model is affected; it gets every node.
	hits  func(x any) bool
	what  string
	right string
}

// Rows are tests on nodes of the model rather than names of attributes, because
// it is values that cannot be run: threshold="1" can, threshold="2" cannot.

// There is none today: whatever the language says, record runs.
var limits []limit

// Unsupported lists what the configuration says and record cannot run yet, each
// with its place. Empty: it can be run. It is not part of Parse because such a
// file is right, and check and explain have uses for it.
func (c *Config) Unsupported() []Error {
	var f faults
	c.visit(func(p Pos, x any) {
		// All rows, not the first that hits: a Call with both thread and threshold has
		// two things to be changed.
		for _, l := range limits {
			if l.hits(x) {
				f.rule(p, l.what, l.right)
			}
		}
	})
	f.sort()
	return f.errs
}

// visit calls f for every node of the windows, parents first.
func (c *Config) visit(f func(Pos, any)) {
	// In reading order as far as the language fixes one, so that sorting has little to
	// do.
	for _, w := range c.Windows {
		f(w.Pos, w)
		w.On.Walk(func(e *Event) { f(e.Pos, e) })
		w.Till.Walk(func(e *Event) { f(e.Pos, e) })
		for _, p := range w.Profile.Processes {
			f(p.Pos, p)
			for _, t := range p.Threads {
				f(t.Pos, t)
				for _, i := range t.Images {
					i.visit(f)
				}
			}
		}
	}
}

// visit goes on below an image; apart only to keep the nesting of loops
// readable.
func (i *Image) visit(f func(Pos, any)) {
	f(i.Pos, i)
	for _, fn := range i.Functions {
		f(fn.Pos, fn)
		for _, ins := range fn.Instructions {
			f(ins.Pos, ins)
		}
		if fn.Intercept != nil {
			f(fn.Intercept.Pos, fn.Intercept)
		}
	}
}
