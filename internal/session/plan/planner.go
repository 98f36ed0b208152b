package plan

import (
	"slices"
	"strings"

	"alleria/abp"
	"alleria/config"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/symbols"
)

// Planner decides what a block records. It remembers its answers for an image
// and a function; they hold as long as the same windows are open.
//
// It is asked once a block and variant, not once an execution; still, a large program has
// hundreds of thousands of blocks, which is why every level's answer is kept. A new set of
// open windows makes a new planner: keeping old ones would need a bound on how many.
type Planner struct {
	tables *Tables
	thread *config.ThreadMatcher
	images map[*symbols.Loaded]*imagePlan
	none   *imagePlan
	// wants is what is recorded of each kind of instruction, by the function's matcher;
	// of is the one that was asked last, and latest its answers.
	wants  map[*config.FunctionMatcher]map[insKind]engine.Want
	of     *config.FunctionMatcher
	latest map[insKind]engine.Want
	// recent is in front of latest: a hash of a kind is half of what finding it there takes.
	recent [recentKinds]recentKind
	// simple is the latest matcher, if nothing but access to memory decides in it, and its two answers.
	simple   *config.FunctionMatcher
	other    *config.FunctionMatcher // the latest in which something else decides
	byMemory [2]engine.Want
	accs     []x86.Operand
	regs     map[string][]records.Reg // by the names of a list
	forms    bool                     // some selector names a form, which is made anew for each instruction
	blocks   bool                     // only which blocks ran
	flags    FieldFlags[records.InsFlags]
	apart    *apart // nil: it does not matter which of the windows wants something
}

// imagePlan is what holds for the code of one image.
type imagePlan struct {
	image   *symbols.Image // nil: code in none
	matcher *config.ImageMatcher
	uniform *config.FunctionMatcher
	same    bool // uniform holds for all functions
	funcs   map[*symbols.Function]*config.FunctionMatcher
	none    *config.FunctionMatcher // code in no function
	noneSet bool
	number  uint32
}

// insKind identifies what selectors look at of an instruction.
// Forms are not part of it: they depend on operands, and there are too many to
// keep.
type insKind struct {
	mnem, isa uint16
	cat, ext  uint8
	mem       bool
}

// recentKind is a kind of instruction that was asked about, and the answer; nobody's at first.
type recentKind struct {
	of   *config.FunctionMatcher
	kind insKind
	want engine.Want
}

// recentKinds is a power of two.
const recentKinds = 256

// place is where a kind lies in recent: most programs use some hundred mnemonics.
func (k *insKind) place() uint { return uint(k.mnem^k.isa<<5) % recentKinds }

// New compiles what the open windows record of a thread of a process.
// It belongs to one set of open windows and one plan of threads.
func New(t *Tables, profiles []*config.Profile, matched *config.ProcessMatcher, open uint64, thread int, blocks bool) *Planner {
	p := &Planner{tables: t, images: make(map[*symbols.Loaded]*imagePlan), wants: make(map[*config.FunctionMatcher]map[insKind]engine.Want), regs: make(map[string][]records.Reg), blocks: blocks, flags: insFlags()}
	for _, pr := range profiles {
		p.forms = p.forms || pr.SelectsForms()
	}
	p.thread, _ = matched.Thread(thread, func(window int) bool { return open&(1<<window) != 0 })
	return p
}

// Plan answers for one block; see engine.Planner.
//
// A block belongs to the image of its first instruction. It may cross into another
// function, whose selectors then hold for the rest.
func (p *Planner) Plan(ins []x86.Insn, want []engine.Want) uint32 {
	if p.apart != nil {
		return p.apart.plan(ins, want)
	}
	im, l := p.image(ins[0].Addr)
	if im.matcher == nil {
		return im.number
	}
	var fn *symbols.Function
	var matcher *config.FunctionMatcher
	var number uint32
	for i := range ins {
		in := &ins[i]
		// Code in no function is asked about each time: the next function may begin
		// anywhere.
		if i == 0 || fn == nil || !fn.Contains(l.Address(in.Addr)) {
			fn, number = p.function(l, in.Addr)
			matcher = im.function(fn)
		}
		if matcher == nil {
			continue
		}
		// Of blocks, every instruction that lies where something is selected is "recorded", with no fields: only that the
		// block ran is kept.
		want[i] = engine.Want{Flags: records.InsRecorded}
		if !p.blocks {
			want[i] = p.want(matcher, in)
		}
		want[i].Func = number
	}
	return im.number
}

// Selects tells whether something of an image may be recorded.
func (p *Planner) Selects(l *symbols.Loaded) bool {
	return p.thread != nil && p.thread.Image(p.tables.Key(l)) != nil
}

// Thread is what is recorded of the thread; nil: nothing, or only which blocks ran.
func (p *Planner) Thread() *config.ThreadMatcher {
	if p.blocks {
		return nil
	}
	return p.thread
}

// registers translates a list of registers' names, which the configuration has
// checked.
func (p *Planner) registers(names []string) []records.Reg {
	if len(names) == 0 {
		return nil
	}
	key := strings.Join(names, ",")
	list, ok := p.regs[key]
	if !ok {
		for _, n := range names {
			if r, ok := abp.ParseRegister(n); ok {
				list = append(list, records.Reg(r))
			}
		}
		p.regs[key] = list
	}
	return list
}

// RecordsFlags tells whether some instruction's flags may be recorded.
func RecordsFlags(c *config.Config) bool {
	for _, w := range c.Windows {
		for in := range w.Profile.AllInstructions() {
			if slices.Contains(in.Registers, "rflags") {
				return true
			}
		}
	}
	return false
}

// function finds the function at an address and its number in the profile.
func (p *Planner) function(l *symbols.Loaded, addr uint64) (*symbols.Function, uint32) {
	if l == nil {
		return nil, 0
	}
	fn := l.Image.Lookup(l.Address(addr))
	return fn, p.tables.Function(l, fn)
}

// image returns what holds for the image at an address.
// Code in no image is selected by an Image element without a name only.
func (p *Planner) image(addr uint64) (*imagePlan, *symbols.Loaded) {
	l, _ := p.tables.Symbols.ByAddr(addr)
	if l == nil {
		if p.none == nil {
			p.none = &imagePlan{}
			if p.thread != nil {
				p.none.matcher = p.thread.Image(config.ImageKey{})
				p.none.set()
			}
		}
		return p.none, nil
	}
	im := p.images[l]
	if im == nil {
		im = &imagePlan{image: l.Image, number: p.tables.Image(l)}
		if p.thread != nil {
			im.matcher = p.thread.Image(p.tables.Key(l))
			im.set()
		}
		p.images[l] = im
	}
	return im, l
}

// set prepares the look-ups of an image of which something is selected.
func (im *imagePlan) set() {
	if im.matcher == nil {
		return
	}
	im.funcs = make(map[*symbols.Function]*config.FunctionMatcher)
	im.uniform, im.same = im.matcher.Uniform()
}

// function returns what holds for a function of the image, nil: nothing.
// nil is remembered as well as anything else.
func (im *imagePlan) function(fn *symbols.Function) *config.FunctionMatcher {
	if im.same {
		return im.uniform
	}
	if fn == nil {
		if !im.noneSet {
			im.none, im.noneSet = im.matcher.Function(config.FuncKey{}), true
		}
		return im.none
	}
	m, ok := im.funcs[fn]
	if !ok {
		m = im.matcher.Function(FuncKey(im.image, fn))
		im.funcs[fn] = m
	}
	return m
}

// FuncKey describes a function to the configuration; a part or a copy of a function is
// known by its parent's name as well.
func FuncKey(im *symbols.Image, fn *symbols.Function) config.FuncKey {
	k := config.FuncKey{Linked: fn.Linked(), Demangled: fn.Name(), HasParam: func(typ string) bool { return im.HasParam(fn.Addr, typ) }}
	for _, a := range fn.Aliases {
		k.Aliases = append(k.Aliases, config.FuncKey{Linked: a.Linked})
	}
	return k
}

// want is what the matcher of a function says of an instruction.
//
// Names come from C, a call each, and selectors are compared by names: what is recorded of a
// kind of instruction is found out once for each matcher, unless selectors name forms.
func (p *Planner) want(m *config.FunctionMatcher, in *x86.Insn) engine.Want {
	mem := false
	if in.NMem > 0 {
		p.accs = in.Accesses(p.accs[:0])
		mem = len(p.accs) > 0
	}
	if p.isSimple(m) {
		if mem {
			return p.byMemory[1]
		}
		return p.byMemory[0]
	}
	kind := insKind{in.Mnem, in.ISA, in.Cat, in.Ext, mem}
	near := &p.recent[kind.place()]
	if near.of == m && near.kind == kind && !p.forms {
		return near.want
	}
	w := p.wantOf(m, in, kind)
	*near = recentKind{m, kind, w}
	return w
}

// isSimple tells whether byMemory answers for a matcher. Most configurations select by nothing else, and the answer is found sooner than by kind.
func (p *Planner) isSimple(m *config.FunctionMatcher) bool {
	switch {
	case p.simple == m:
		return true
	case p.other == m:
		return false
	case !m.ByMemory():
		p.other = m
		return false
	}
	p.simple = m
	for i := range p.byMemory {
		p.byMemory[i] = p.selected(m, config.InsKey{Memory: i == 1})
	}
	return true
}

// selected is what a matcher says of an instruction.
func (p *Planner) selected(m *config.FunctionMatcher, k config.InsKey) engine.Want {
	sel := m.Instruction(k)
	return engine.Want{Flags: p.flags.Of(sel.Fields), Sample: uint32(sel.Sample), Regs: p.registers(sel.Registers)}
}

// wantOf is want for a kind that was not asked about just now.
func (p *Planner) wantOf(m *config.FunctionMatcher, in *x86.Insn, kind insKind) engine.Want {
	if p.of != m || p.latest == nil {
		if p.of, p.latest = m, p.wants[m]; p.latest == nil {
			p.latest = make(map[insKind]engine.Want)
			p.wants[m] = p.latest
		}
	}
	if w, ok := p.latest[kind]; ok && !p.forms {
		return w
	}
	k := config.InsKey{Class: strings.ToUpper(in.ClassName()), ISA: in.ISASetName(), Ext: in.ExtensionName(), Cat: in.CategoryName(), Memory: kind.mem}
	if p.forms {
		k.Form = in.FormName()
	}
	w := p.selected(m, k)
	p.latest[kind] = w
	return w
}

// FieldFlags pairs each field of the configuration with what it is in another
// vocabulary: in the engine's flags of an instruction, in the profile's header.
type FieldFlags[T ~uint16 | ~uint32] []struct {
	Field config.Fields
	Flag  T
}

// Of translates a set of fields.
func (m FieldFlags[T]) Of(f config.Fields) (flags T) {
	for _, p := range m {
		if f.Has(p.Field) {
			flags |= p.Flag
		}
	}
	return flags
}

// insFlags is what a block has recorded of an instruction.
func insFlags() FieldFlags[records.InsFlags] {
	return FieldFlags[records.InsFlags]{
		{config.Recorded, records.InsRecorded}, {config.TimeStamp, records.InsTime}, {config.RoutineID, records.InsRoutine},
		{config.AccessAddressAndSize, records.InsAddrs}, {config.AccessValue, records.InsValues}, {config.Branch, records.InsBranch},
	}
}
