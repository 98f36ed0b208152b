package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ImageMatcher is what holds for the code of one image.
type ImageMatcher struct {
	nodes []*imageNode
}

// and unites two answers; see ThreadMatcher.and.
func (i *ImageMatcher) and(j *ImageMatcher) *ImageMatcher {
	if i == nil {
		return j
	}
	return &ImageMatcher{append(i.nodes[:len(i.nodes):len(i.nodes)], j.nodes...)}
}

// Uniform returns the answer that holds for all functions of the image, if no
// function is selected by name: then no symbols need to be read.
func (i *ImageMatcher) Uniform() (f *FunctionMatcher, ok bool) {
	if i == nil {
		return nil, true
	}
	// One named selection in one of the windows is enough: their answers are united,
	// function by function.
	for _, n := range i.nodes {
		if n.named {
			return nil, false
		}
	}
	return i.Function(FuncKey{}), true
}

// imageNode is a compiled Image.
type imageNode struct {
	solo ImageMatcher
	// decorated and plain hold the exact names, wild the patterns, best first.
	decorated, plain map[string]*functionNode
	wild             []wildcard
	any              *functionNode
	typed            []typedNode // in the order of the file
	named            bool
	empty            bool
}

type wildcard struct {
	pattern   string
	literal   int
	decorated bool
	node      *functionNode
}

// typedNode is the functions of an Image that select by the type of a parameter.
type typedNode struct {
	typ  string
	node *imageNode
}

// compileImage sorts the functions into exact names, which are looked up, and
// patterns, which are tried one after the other. Patterns are rare and asked
// once per function of an image, so no automaton is built of them.
func compileImage(i *Image) *imageNode {
	node := &imageNode{decorated: map[string]*functionNode{}, plain: map[string]*functionNode{}, empty: true}
	node.solo = ImageMatcher{[]*imageNode{node}}
	for _, f := range i.Functions {
		fn := compileFunction(f)
		if f.Type != "" {
			node.addTyped(f, fn)
			continue
		}
		node.addFunction(f, fn)
	}
	node.sortWild()
	for _, t := range node.typed {
		t.node.sortWild()
		node.empty = node.empty && t.node.empty
		node.named = true
	}
	return node
}

// addTyped enters a function beside those of the same type.
func (i *imageNode) addTyped(f *Function, fn *functionNode) {
	k := slices.IndexFunc(i.typed, func(t typedNode) bool { return t.typ == f.Type })
	if k < 0 {
		k = len(i.typed)
		i.typed = append(i.typed, typedNode{f.Type, &imageNode{decorated: map[string]*functionNode{}, plain: map[string]*functionNode{}, empty: true}})
	}
	i.typed[k].node.addFunction(f, fn)
}

// addFunction enters a function by its name.
func (i *imageNode) addFunction(f *Function, fn *functionNode) {
	i.empty = i.empty && fn.empty
	i.named = i.named || f.Name != ""
	stars := strings.Count(f.Name, "*")
	switch {
	case f.Name == "":
		i.any = fn
	// Literal characters without the stars: of foo* and f*, the first says more.
	case stars > 0:
		i.wild = append(i.wild, wildcard{f.Name, len(f.Name) - stars, f.Decorated, fn})
	case f.Decorated:
		i.decorated[f.Name] = fn
	default:
		i.plain[canonicalName(f.Name)] = fn
	}
}

// sortWild brings the patterns into their order. Stable: the order in the file decides between equals.
func (i *imageNode) sortWild() {
	slices.SortStableFunc(i.wild, func(a, b wildcard) int { return cmp.Compare(b.literal, a.literal) })
}

// FuncKey describes the function that code belongs to. The zero FuncKey is code
// in no function.
type FuncKey struct {
	// Linked is the symbol as linked, with or without its version; for a
	// function that no symbol names, image+0xOFFSET.
	Linked string
	// Demangled is the name without parameters; empty if it is Linked.
	Demangled string
	// Aliases are the other names of the same address; each matches like the first.
	Aliases []FuncKey
	// HasParam tells whether a parameter of the function is of a type, as a Function spells it; nil: nothing is known of them.
	HasParam func(typ string) bool
}

// Function returns what holds for the code of a function, nil if nothing of it
// is recorded.
func (i *ImageMatcher) Function(k FuncKey) *FunctionMatcher {
	if i == nil {
		return nil
	}
	var found *FunctionMatcher
	for _, n := range i.nodes {
		if f := n.pick(&k); f != nil && !f.empty {
			found = found.and(&f.solo)
		}
	}
	return found
}

// pick returns the most specific selection for a function: decorated before
// demangled before any; exact before wildcard; one that names a parameter's type as well
// before one that does not; then the longer literal part; then the order in the file.
func (i *imageNode) pick(k *FuncKey) *functionNode {
	if !i.named {
		return i.any // most images: spare the strings
	}
	nodes := append(i.typedFor(k), i)
	for _, decorated := range []bool{true, false} {
		for _, n := range nodes {
			if f := n.exact(k, decorated); f != nil {
				return f
			}
		}
		for _, n := range nodes {
			if f := n.wildcard(k, decorated); f != nil {
				return f
			}
		}
	}
	for _, n := range nodes {
		if n.any != nil {
			return n.any
		}
	}
	return nil
}

// typedFor is what selects by the type of a parameter that the function has.
func (i *imageNode) typedFor(k *FuncKey) []*imageNode {
	if k.HasParam == nil {
		return nil
	}
	var nodes []*imageNode
	for _, t := range i.typed {
		if k.HasParam(t.typ) {
			nodes = append(nodes, t.node)
		}
	}
	return nodes
}

// Matches tells whether the element selects a function by its name, also if it
// then excludes it or another element beside it wins; the nameless Function
// matches all. It is for messages about names that match nothing: what is
// recorded, Matcher tells.
func (f *Function) Matches(k FuncKey) bool { return f.Matching()(k) }

// Matching is Matches for many functions: what has to be made of the name is made once.
func (f *Function) Matching() func(k FuncKey) bool {
	if f.Name == "" && f.Type == "" {
		return func(FuncKey) bool { return true }
	}
	// An image of one function, so that there is one place where names are compared.
	node := compileImage(&Image{Functions: []*Function{{Name: f.Name, Decorated: f.Decorated, Type: f.Type}}})
	return func(k FuncKey) bool { return node.pick(&k) != nil }
}

// Matches tells whether the element selects an image, also if another element
// beside it wins.
func (i *Image) Matches(k ImageKey) bool {
	return compileThread(&Thread{Images: []*Image{i}}).pick(&k) != nil
}

// exact looks a function's names up, those of what it is a part of included,
// and returns the selection with the longest name.
func (i *imageNode) exact(k *FuncKey, decorated bool) *functionNode {
	table := i.plain
	if decorated {
		table = i.decorated
	}
	// Nearly all files have no decorated names, and walking the aliases is what takes
	// the time.
	if len(table) == 0 {
		return nil
	}
	var best *functionNode
	length := -1
	for a := -1; a < len(k.Aliases); a++ {
		key := k.alias(a)
		// Each layer that the compiler put on the name is taken off in turn, so that
		// foo.part.0 is selected by that name, if somebody writes it, before it is by
		// foo.
		for s := key.Linked; s != ""; s = owner(s) {
			if f, ok := table[s]; ok && better(f, len(s), best, length) {
				best, length = f, len(s)
			}
		}
		if decorated {
			continue
		}
		for s := key.Demangled; s != ""; s = owner(s) {
			if f, ok := table[s]; ok && better(f, len(s), best, length) {
				best, length = f, len(s)
			}
		}
	}
	return best
}

// better ranks two exact matches, of which the second may be none yet.
func better(f *functionNode, length int, best *functionNode, bestLength int) bool {
	// The longer name is the less stripped one, and so the more specific.
	if best == nil || length != bestLength {
		return length > bestLength
	}
	return f.order.compare(best.order) < 0
}

// alias returns the key itself for -1, else one of its aliases.
func (k *FuncKey) alias(n int) *FuncKey {
	if n < 0 {
		return k
	}
	return &k.Aliases[n]
}

// wildcard returns the first pattern, in order of merit, that matches a name.
func (i *imageNode) wildcard(k *FuncKey, decorated bool) *functionNode {
	for w := range i.wild {
		pattern := &i.wild[w]
		if pattern.decorated != decorated {
			continue
		}
		for a := -1; a < len(k.Aliases); a++ {
			if k.alias(a).glob(pattern.pattern, decorated, true) {
				return pattern.node
			}
		}
	}
	return nil
}

// glob matches a pattern against one name of a function: the symbol for a
// decorated pattern, else the demangled name, which for C is the symbol. owners
// adds the names of what the function is a part of.
func (k *FuncKey) glob(pattern string, decorated, owners bool) bool {
	// Not both: a pattern like *foo* would match letters of a mangled name that nobody
	// sees.
	s := k.Demangled
	if decorated || s == "" {
		s = k.Linked
	}
	for ; s != ""; s = owner(s) {
		if globMatch(pattern, s) {
			return true
		}
		if !owners && !strings.Contains(s, "@") {
			return false
		}
	}
	return false
}

// globMatch matches * against any characters, also none. The usual two-finger
// walk, linear but for the text that the last * has to be tried on.
func globMatch(pattern, s string) bool {
	// No regular expression: names hold every character that would have to be quoted.
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// owner strips one layer from a name: the symbol version (memcpy@@GLIBC_2.14),
// or what a compiler appends to the name of a function that it cut a part out
// of or specialised (.cold, .part.N, .constprop.N, .isra.N, and the demangler's
// way of writing those). Empty: there was nothing to strip.
func owner(s string) string {
	if i := strings.IndexByte(s, '@'); i > 0 {
		return s[:i]
	}
	// What c++filt and gdb print; such names come from users who copied them.
	if i := strings.LastIndex(s, " [clone "); i > 0 && strings.HasSuffix(s, "]") {
		if clone := s[i+len(" [clone ") : len(s)-1]; clone != "" && isClone(clone) {
			return s[:i]
		}
		return ""
	}
	// The last one or two dotted parts: .cold, .isra.0, .cold.1.
	i := strings.LastIndexByte(s, '.')
	if i <= 0 {
		return ""
	}
	if isClone(s[i:]) {
		return s[:i]
	}
	if j := strings.LastIndexByte(s[:i], '.'); j > 0 && isClone(s[j:]) {
		return s[:j]
	}
	return ""
}

// isClone tells that the suffix, which begins with a dot, is one layer of the
// compiler's: .cold, .cold.N, .part.N, .constprop.N or .isra.N.
func isClone(suffix string) bool {
	word, number, numbered := strings.Cut(suffix[1:], ".")
	switch word {
	// Only of cold parts the number may be missing: LLVM numbers them, GCC does not.
	case "cold":
		return !numbered || digits(number)
	case "part", "constprop", "isra":
		return digits(number)
	}
	return false
}

// canonicalName writes a name of the form image+0xOFFSET as symbol readers do,
// in small letters and without leading zeros; other names stay as they are.
func canonicalName(name string) string {
	i := strings.LastIndex(strings.ToLower(name), "+0x")
	if i <= 0 {
		return name
	}
	// What only looks like it, such as an operator+ of a strange class, stays a name.
	offset, err := strconv.ParseUint(name[i+3:], 16, 64)
	if err != nil {
		return name
	}
	return name[:i+1] + hex(offset)
}

// digits tells whether s is a number.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
