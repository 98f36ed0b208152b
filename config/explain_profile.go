package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// profile explains what a window records, from the outside in as the elements
// nest. Levels that select everything are folded into the line above or below
// them: most files narrow down at one or two levels only, and six lines of
// "every" would hide those.
func (e *explainer) profile(w *Window) {
	// The common shape first, in a line that one reads over; all others get the whole
	// tree.
	if r := w.Profile.SampleRate; !r.All() {
		e.line(1, "Of all instructions, only random bursts are recorded: %s.", r)
	}
	procs := slices.Clone(w.Profile.Processes)
	// The order of specificity as far as the elements alone say it, so that "other" is
	// right; which of two descends nearer, only the tree knows.
	slices.SortStableFunc(procs, func(a, b *Process) int { return a.moreSpecific(b, &ProcessFacts{}) })
	if len(procs) == 1 && procs[0].Any() && procs[0].Follow == FollowAll && len(procs[0].Threads) == 1 && procs[0].Threads[0].plain() {
		e.line(1, "While open, records in every process and thread:")
		e.thread(2, procs[0].Threads[0])
		return
	}
	e.line(1, "While open, records:")
	for _, p := range procs {
		e.process(2, p, len(procs) > 1)
	}
	if !hasGeneric(w.Profile) {
		e.line(2, "in other processes: nothing; they are not followed and run untraced")
	}
}

// generalLast puts what stands for the rest behind what it is the rest of. The
// order in the file means nothing here.
func generalLast[T any](list []T, general func(T) bool) []T {
	var first, last []T
	for _, x := range list {
		if general(x) {
			last = append(last, x)
		} else {
			first = append(first, x)
		}
	}
	return append(first, last...)
}

// plain recognises the thread selection that needs no words.
func (t *Thread) plain() bool { return t.N == 0 && !t.Syscalls && !t.Signals }

// hasGeneric tells whether some Process stands for all that are not named;
// without, the others run untraced, which surprises people and is therefore
// said.
func hasGeneric(p *Profile) bool {
	for _, proc := range p.Processes {
		if proc.Any() {
			return true
		}
	}
	return false
}

// process explains one Process; among tells that there are others beside it,
// and the general one then stands for the rest.
func (e *explainer) process(depth int, p *Process, among bool) {
	who := "in " + p.words(among)
	if p.Follow != FollowAll {
		defer e.line(depth+1, "%s", [...]string{
			FollowExec: "nothing that it creates is followed; what it executes is",
			FollowNone: "neither what it creates nor what it executes is followed",
		}[p.Follow])
	}
	switch {
	// Said at length because it looks like a mistake and is the way to have processes
	// numbered.
	case len(p.Threads) == 0:
		e.line(depth, "%s: nothing; it is followed and numbered%s", who, ifText(p.Follow == FollowAll, ", and so are its children"))
	case len(p.Threads) == 1 && p.Threads[0].plain():
		e.line(depth, "%s, in every thread:", who)
		e.thread(depth+1, p.Threads[0])
	default:
		e.line(depth, "%s:", who)
		for _, t := range generalLast(p.Threads, func(t *Thread) bool { return t.N == 0 }) {
			e.line(depth+1, "%s%s:", t.words(len(p.Threads) > 1), t.extras())
			e.thread(depth+2, t)
		}
	}
}

// Words names the processes that the element selects, for messages.
func (p *Process) Words() string { return p.words(false) }

// words names the processes selected; among tells that there are other elements.
func (p *Process) words(among bool) string {
	switch {
	case p.N > 0:
		return fmt.Sprintf("process %d", p.N)
	case p.Any() && among:
		return "every other process"
	case p.Any():
		return "every process"
	}
	var parts []string
	add := func(given bool, format string, args ...any) {
		if given {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	d := p.Depth
	add(p.Path != "", "that executes %s", p.Path)
	add(p.Name != "", "that executes a program named %s", p.Name)
	add(p.Argument != "", "with an argument %s", p.Argument)
	add(p.Under > 0, "below process %d", p.Under)
	add(d.Given && d.From == d.To, "of generation %d", d.From)
	add(d.Given && d.From != d.To, "of generations %d to %d", d.From, d.To)
	return "each process " + strings.Join(parts, ", ")
}

// words names the threads selected.
func (t *Thread) words(among bool) string {
	switch {
	case t.N > 0:
		return fmt.Sprintf("in thread %d", t.N)
	case among:
		return "in every other thread"
	}
	return "in every thread"
}

// extras says what is recorded of a thread besides instructions.
func (t *Thread) extras() string {
	return ifText(t.Syscalls, ", its system calls") + ifText(t.Signals, ", its signals") +
		ifText(t.Syscalls || t.Signals, " and")
}

// thread explains the images of a thread. That all code not selected is left out
// is said, unless something is said of all code.
func (e *explainer) thread(depth int, t *Thread) {
	images := generalLast(t.Images, func(i *Image) bool { return i.AnyButSys })
	// Twice, for two degrees of generality: the system's code is part of all code.
	images = generalLast(images, (*Image).generic)
	rest := true
	for _, i := range images {
		e.image(depth, i, len(images) > 1)
		// An image without attributes that narrows down to named functions leaves the
		// others out as well.
		rest = rest && !(i.generic() && (len(i.Functions) != 1 || i.Functions[0].all()))
	}
	if rest {
		e.line(depth, "in all other code: nothing")
	}
}

// generic recognises the Image without attributes.
func (i *Image) generic() bool { return i.Path == "" && i.Name == "" && !i.Main && !i.AnyButSys }

// image explains one Image; among tells that there are others beside it, and
// the general one then stands for the rest.
func (e *explainer) image(depth int, i *Image, among bool) {
	where := "in " + i.words()
	switch {
	case i.generic() && among:
		where = "in all other code, including code in no image"
	case i.generic():
		where = "in all code, including code in no image"
	case i.AnyButSys && among:
		where = "in every other image that is not the system's"
	}
	switch {
	case len(i.Functions) == 0:
		e.line(depth, "%s: nothing", where)
		return
	// All functions: the level needs no words.
	case len(i.Functions) == 1 && i.Functions[0].all():
		e.content(depth, where, i.Functions[0])
		return
	case len(i.Functions) == 1:
		e.content(depth, where+", "+i.Functions[0].where(), i.Functions[0])
		return // of the image's other functions, thread says it
	}
	e.line(depth, "%s:", where)
	rest := true
	for _, f := range generalLast(i.Functions, (*Function).all) {
		e.content(depth+1, f.where(), f)
		rest = rest && !f.all()
	}
	if rest {
		e.line(depth+1, "other functions: nothing")
	}
}

// where names the functions that an element selects, beside others.
func (f *Function) where() string {
	switch {
	case f.all():
		return "other functions, and code in none"
	// "The function mem*" would read as if the star were part of a name.
	case strings.Contains(f.Name, "*"):
		return ifText(f.Decorated, "symbols") + ifText(!f.Decorated, "functions") + " matching " + f.Name + f.withType()
	}
	return f.words()
}

// all tells that an element selects whatever others do not.
func (f *Function) all() bool { return f.Name == "" && f.Type == "" }

// content explains what is recorded of functions. An empty one is the way to
// exclude something, so it is not passed over.
func (e *explainer) content(depth int, where string, f *Function) {
	switch {
	// Exclusion before everything else: a line without the word "nothing" would be
	// taken for a selection.
	case len(f.Instructions) == 0 && f.Intercept == nil:
		e.line(depth, "%s: nothing", where)
		return
	}
	lines := instructionLines(f.Instructions)
	if len(lines) == 1 && f.Intercept == nil {
		e.line(depth, "%s: %s", where, lines[0])
		return
	}
	e.line(depth, "%s:", where)
	for _, line := range lines {
		e.line(depth+1, "%s", line)
	}
	if f.Intercept != nil {
		e.intercept(depth+1, f.Intercept)
	}
}

// instructionLines words what is selected of a function. Neighbours that differ
// only in the name that they select by are told together, as they are meant.
func instructionLines(list []*Instruction) []string {
	// The order of kinds is that of specificity, so that "other" is right.
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Instruction) int { return cmp.Compare(a.By, b.By) })
	var lines []string
	for len(list) > 0 {
		first, n := list[0], 1
		values := []string{first.Value}
		for ; n < len(list) && list[n].By == first.By && first.By < AnyMemory && list[n].asks() == first.asks() && list[n].Sample == first.Sample; n++ {
			values = append(values, list[n].Value)
		}
		lines = append(lines, first.subject(values, len(lines) > 0)+first.asks())
		list = list[n:]
	}
	return lines
}

// subject says which instructions are selected; among tells that others have
// been spoken of.
func (i *Instruction) subject(values []string, among bool) string {
	other := ifText(among, "other ")
	var what string
	switch i.By {
	case AnyMemory:
		what = "each " + other + "instruction that reads or writes memory"
	case AnyInstruction:
		what = "every " + other + "instruction"
	default:
		kind := [...]string{"form", "class", "ISA set", "extension", "category"}[i.By]
		// The names of XED are left as they are: whoever selects by them knows them,
		// and nobody else is helped by "data transfer".
		what = "each instruction of " + kind + " " + listWords(values, "or")
	}
	if i.Sample > 1 {
		return fmt.Sprintf("one in %d, at random, of: %s", i.Sample, what)
	}
	return what
}

// asks says what is recorded of the instructions, as the rest of the sentence.
func (i *Instruction) asks() string {
	facts := i.facts()
	if len(facts) == 0 {
		return ", only the fact that it executed"
	}
	// Not listWords: some facts hold an "and" of their own.
	last := len(facts) - 1
	return ", with " + strings.Join(facts[:last], ", ") + ifText(last > 0, ", and ") + facts[last]
}

// facts words what is recorded of an instruction besides itself.
func (i *Instruction) facts() []string {
	var facts []string
	for _, row := range fieldRows {
		// Values come with addresses; one phrase says both.
		if i.Fields.Has(row.field) && (row.field != AccessAddressAndSize || !i.Fields.Has(AccessValue)) {
			facts = append(facts, row.words)
		}
	}
	if len(i.Registers) > 0 {
		facts = append(facts, "the contents of "+listWords(i.Registers, "and"))
	}
	return facts
}

// intercept explains what is captured of each call.
func (e *explainer) intercept(depth int, ic *Intercept) {
	what := "each call"
	switch {
	// The result first, since it stands first in a declaration.
	case !ic.RetType.IsZero():
		what += ", with its result (" + ic.RetType.Name + ")" + ifText(len(ic.Parameters) > 0, " and these arguments:")
	case len(ic.Parameters) > 0:
		what += ", with these arguments, but not its result:"
	}
	if ic.Auto {
		what = fmt.Sprintf("each call, with its arguments and its result as debug information or known prototypes describe them, pointers followed %d deep", ic.Depth) +
			ifText(len(ic.Parameters) > 0 || !ic.RetType.IsZero(), "; except as given here:")
	}
	e.line(depth, "%s", what)
	for _, p := range ic.Parameters {
		when := "as at entry"
		switch {
		case p.In && p.Out:
			when = "as at entry and as at return"
		case p.Out:
			when = "as at return"
		}
		changed := ""
		if p.Set != nil {
			changed = "; " + p.Set.words()
		}
		e.line(depth+1, "number %d%s: %s, %s%s", p.Index, ifText(p.Name != "", ", "+p.Name), p.Type.Name, when, changed)
	}
	if ic.Result != nil {
		e.line(depth+1, "the result is changed: %s", ic.Result.words())
	}
	if ic.Fail != "" {
		e.line(depth+1, "calls fail with %s instead of being executed%s", ic.Fail, often(ic.FailProbability))
	}
}
