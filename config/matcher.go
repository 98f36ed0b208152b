package config

import (
	"slices"
	"strings"
)

// A Matcher answers, level by level, what of an instruction is recorded. The
// levels follow the profile (process and thread, image, function, instruction)
// because that is how often they change: an engine asks for the thread once,
// for the image once per mapping, for the function once per block, and for the
// instruction once per translation; each answer may be kept as long as the
// Matcher is.
//
// Several profiles (of windows that are open together) are resolved each by
// itself, most specific selection first, and the facts they ask for are united.
// A Matcher and everything it returns is immutable and safe for concurrent use.
type Matcher struct {
	profiles []*profileNode
}

// Status is how far a process and thread are the configuration's business.
type Status uint8

// The outcomes of Matcher.Match.
const (
	// NotFollowed: no Process element matches; the process runs untraced.
	NotFollowed Status = iota
	// RecordsNothing: it is followed and numbered, but nothing is recorded.
	RecordsNothing
	// Records: something of it may be recorded.
	Records
)

// String names the status.
func (s Status) String() string {
	return [...]string{NotFollowed: "not followed", RecordsNothing: "records nothing", Records: "records"}[s]
}

// compileProcess and the functions like it turn lists into look-ups. Duplicates
// cannot occur: Parse refuses them.
func compileProcess(p *Process) *processNode {
	node := &processNode{element: p, byNumber: map[int]*threadNode{}}
	for _, t := range p.Threads {
		tn := compileThread(t)
		if t.N == 0 {
			node.any = tn
		} else {
			node.byNumber[t.N] = tn
		}
	}
	return node
}

// pick returns the thread selection that holds for a number, nil if none.
func (p *processNode) pick(n int) *threadNode {
	if node, ok := p.byNumber[n]; ok {
		return node
	}
	return p.any
}

// ThreadMatcher is what holds for one thread.
type ThreadMatcher struct {
	nodes []*threadNode
	// Syscalls and Signals tell that those of the thread are recorded.
	Syscalls bool
	Signals  bool
}

// and unites two answers. With one profile, the usual case, nothing is
// allocated: the answer prepared at compile time is handed on.
func (t *ThreadMatcher) and(u *ThreadMatcher) *ThreadMatcher {
	if t == nil {
		return u
	}
	return &ThreadMatcher{
		nodes:    append(t.nodes[:len(t.nodes):len(t.nodes)], u.nodes...),
		Syscalls: t.Syscalls || u.Syscalls, Signals: t.Signals || u.Signals,
	}
}

// threadNode is a compiled Thread.
type threadNode struct {
	solo                 ThreadMatcher
	byPath, byName       map[string]*imageNode
	main, anyButSys, any *imageNode
	// empty: every image is excluded and neither system calls nor signals are
	// recorded.
	empty bool
}

// compileThread sorts the images by kind of selector. Whether anything can be
// recorded at all is found out here, once, so that a thread that is wholly
// excluded can run without instrumentation.
func compileThread(t *Thread) *threadNode {
	node := &threadNode{byPath: map[string]*imageNode{}, byName: map[string]*imageNode{}}
	node.solo = ThreadMatcher{nodes: []*threadNode{node}, Syscalls: t.Syscalls, Signals: t.Signals}
	node.empty = !t.Syscalls && !t.Signals
	for _, i := range t.Images {
		in := compileImage(i)
		if !in.empty {
			node.empty = false
		}
		switch {
		case i.Path != "":
			node.byPath[i.Path] = in
		case i.Name != "":
			node.byName[i.Name] = in
		case i.Main:
			node.main = in
		case i.AnyButSys:
			node.anyButSys = in
		default:
			node.any = in
		}
	}
	return node
}

// ImageKey describes the image that code comes from. The zero ImageKey is code
// in no image, such as a JIT compiler's.
type ImageKey struct {
	// Path is the full path, Name the file name; an empty Name is taken from Path.
	Path string
	Name string
	// Main marks the main executable.
	Main bool
	// System marks what lies under the loader's default library directories,
	// and the vdso.
	System bool
	// Names and Paths are what else leads to the file: its SONAME, links. Programs
	// ask for libz.so.1 and get what is really libz.so.1.2.13.
	Names, Paths []string
}

// none recognises code in no image.
func (k *ImageKey) none() bool { return k.Path == "" && k.Name == "" && !k.Main }

// name is the file name, cut from the path where the caller left it out; a
// slice, not a copy.
func (k *ImageKey) name() string {
	if k.Name != "" {
		return k.Name
	}
	return k.Path[strings.LastIndexByte(k.Path, '/')+1:]
}

// Image returns what holds for the code of an image, nil if nothing is recorded.
func (t *ThreadMatcher) Image(k ImageKey) *ImageMatcher {
	if t == nil {
		return nil
	}
	var found *ImageMatcher
	for _, n := range t.nodes {
		if i := n.pick(&k); i != nil && !i.empty {
			found = found.and(&i.solo)
		}
	}
	return found
}

// pick returns the most specific selection for an image: path, name, main, any
// but the system's, any.
func (t *threadNode) pick(k *ImageKey) *imageNode {
	if k.none() {
		return t.any // no name, not main, and anyButSys is about images only
	}
	// An excluded image is found here like any other: that it records nothing is
	// the answer, and must not fall through to a more general one.
	if i, ok := lookUp(t.byPath, k.Path, k.Paths); ok {
		return i
	}
	if i, ok := lookUp(t.byName, k.name(), k.Names); ok {
		return i
	}
	if k.Main && t.main != nil {
		return t.main
	}
	if !k.System && t.anyButSys != nil {
		return t.anyButSys
	}
	return t.any
}

// lookUp finds what is selected by a name, else by one of others: the file's own
// name comes before those of links to it.
func lookUp(by map[string]*imageNode, name string, others []string) (*imageNode, bool) {
	if i, ok := by[name]; ok {
		return i, true
	}
	for _, o := range others {
		if i, ok := by[o]; ok {
			return i, true
		}
	}
	return nil, false
}

// HasName tells whether a file name leads to the image.
func (k *ImageKey) HasName(name string) bool {
	return name != "" && !k.none() && (k.name() == name || slices.Contains(k.Names, name))
}

// HasPath tells whether a full path leads to the image.
func (k *ImageKey) HasPath(path string) bool {
	return path != "" && (k.Path == path || slices.Contains(k.Paths, path))
}
