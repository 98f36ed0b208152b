package config

import "slices"

// FunctionMatcher is what holds for the code of one function.
type FunctionMatcher struct {
	nodes []*functionNode
}

// and unites two answers; see ThreadMatcher.and.
func (f *FunctionMatcher) and(g *FunctionMatcher) *FunctionMatcher {
	if f == nil {
		return g
	}
	return &FunctionMatcher{append(f.nodes[:len(f.nodes):len(f.nodes)], g.nodes...)}
}

// Intercepts returns what is captured of calls of the function.
func (f *FunctionMatcher) Intercepts() []*Intercept {
	if f == nil {
		return nil
	}
	var out []*Intercept
	for _, n := range f.nodes {
		if n.intercept != nil {
			out = append(out, n.intercept)
		}
	}
	return out
}

// Instructions tells whether any instruction of the function can be recorded;
// without, the function is only intercepted.
func (f *FunctionMatcher) Instructions() bool {
	// Asked before a function's instructions are looked at one by one, which for an
	// intercepted function of a thousand is worth it.
	return f != nil && slices.ContainsFunc(f.nodes, func(n *functionNode) bool { return n.records })
}

// ByMemory tells whether nothing of an instruction decides about it but whether it accesses memory.
func (f *FunctionMatcher) ByMemory() bool {
	return f == nil || !slices.ContainsFunc(f.nodes, func(n *functionNode) bool {
		return slices.ContainsFunc(n.bySelector[:], func(m map[string]*Instruction) bool { return m != nil })
	})
}

// functionNode is a compiled Function.
type functionNode struct {
	solo FunctionMatcher
	// bySelector is indexed by SelectorKind and then by XED name; nil where
	// nothing is selected that way.
	bySelector [AnyMemory]map[string]*Instruction
	anyMemory  *Instruction
	any        *Instruction
	intercept  *Intercept
	records    bool
	empty      bool
	order      Pos
}

// compileFunction prepares one look-up for each kind of selector that is used.
// The model's Instructions are shared, not copied: both are immutable.
func compileFunction(f *Function) *functionNode {
	node := &functionNode{intercept: f.Intercept, order: f.Pos}
	node.solo = FunctionMatcher{[]*functionNode{node}}
	node.records = len(f.Instructions) > 0
	node.empty = !node.records && f.Intercept == nil
	for _, i := range f.Instructions {
		switch i.By {
		case AnyMemory:
			node.anyMemory = i
		case AnyInstruction:
			node.any = i
		default:
			// Made when needed: most functions have one selector, of one kind.
			if node.bySelector[i.By] == nil {
				node.bySelector[i.By] = map[string]*Instruction{}
			}
			node.bySelector[i.By][i.Value] = i
		}
	}
	return node
}

// InsKey describes an instruction in the names of XED's tables.
type InsKey struct {
	Form  string // such as MOV_GPRv_MEMv; empty where no selector asks
	Class string // such as MOV
	ISA   string // ISA set, such as SSE2
	Ext   string // extension, such as BASE
	Cat   string // category, such as DATAXFER
	// Memory: it reads or writes memory, also implicitly.
	Memory bool
}

// Selection is what is recorded of an instruction. The zero Selection is nothing.
type Selection struct {
	Fields    Fields   // the facts; 0: the instruction is not recorded
	Registers []string // names in lower case
	// Sample keeps one in Sample at random; 0 keeps all.
	Sample int
}

// Instruction returns what is recorded of an instruction. With one open window
// it allocates nothing.
func (f *FunctionMatcher) Instruction(k InsKey) Selection {
	var s Selection
	if f == nil {
		return s
	}
	for _, n := range f.nodes {
		if i := n.pick(&k); i != nil {
			s = s.and(i)
		}
	}
	return s
}

// pick returns the most specific selection: form, class, isa, ext, cat, any
// that accesses memory, any.
func (f *functionNode) pick(k *InsKey) *Instruction {
	// The array's order is that of specificity; the first hit is the answer.
	for by, table := range f.bySelector {
		if table == nil {
			continue
		}
		if i, ok := table[k.value(SelectorKind(by))]; ok {
			return i
		}
	}
	if k.Memory && f.anyMemory != nil {
		return f.anyMemory
	}
	return f.any
}

// value returns the name that a kind of selector is compared with.
func (k *InsKey) value(by SelectorKind) string {
	switch by {
	case ByForm:
		return k.Form
	case ByClass:
		return k.Class
	case ByISA:
		return k.ISA
	case ByExt:
		return k.Ext
	}
	return k.Cat
}

// and adds what another window asks for. Of two sampling rates the denser one
// holds, and none if one of them wants every instruction: what is recorded is
// never less than a window asked for.
func (s Selection) and(i *Instruction) Selection {
	// Recorded is always among the fields of an Instruction, so that zero means that
	// nothing was selected so far. The list of registers is shared with the model and
	// must not be appended to in place.
	if s.Fields == 0 {
		return Selection{i.Fields, i.Registers, i.Sample}
	}
	s.Fields |= i.Fields
	if s.Sample <= 1 || i.Sample <= 1 {
		s.Sample = 0
	} else {
		s.Sample = min(s.Sample, i.Sample)
	}
	for _, r := range i.Registers {
		if !slices.Contains(s.Registers, r) {
			// The full slice expression makes append copy: the list may be the model's
			// own.
			s.Registers = append(s.Registers[:len(s.Registers):len(s.Registers)], r)
		}
	}
	return s
}
