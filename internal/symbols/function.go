package symbols

import (
	"strconv"
	"strings"
)

// Source says where a function's name comes from, bounds where there is none.
type Source uint8

// The sources, best first: of several that know an address, the first gives the
// function its Source.
const (
	SymbolTable  Source = iota // .symtab of the image
	DynamicTable               // .dynsym
	MiniDebug                  // .gnu_debugdata, a compressed symbol table
	DebugFile                  // a separate debug file
	GoTable                    // the table of Go programs, which strip leaves alone
	StartCode                  // main, as the code at the entry point passes it on
	Stub                       // a PLT entry, named after what it jumps to
	Unwind                     // bounds of .eh_frame; the name is image+0xOFFSET
)

// String names the source as reports show it.
func (s Source) String() string {
	if names := sourceNames(); int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

func sourceNames() []string {
	return []string{"symtab", "dynsym", "gnu_debugdata", "debug file", "gopclntab", "start code", "plt", "eh_frame"}
}

// Kind distinguishes what is not simply a function.
type Kind uint8

// The kinds of functions.
const (
	Plain Kind = iota
	// IFunc is a resolver: calling the name from outside runs another function
	// that this one chose when the program was loaded.
	IFunc
	// PLT is a stub that jumps to a function of another image.
	PLT
)

// Alias is one name of a function.
type Alias struct {
	Linked  string // as in the symbol table, without a version
	Version string // of a dynamic symbol, such as GLIBC_2.14; often empty
	Default bool   // whether the version is the one that new programs get
}

// String is the name as nm prints it.
func (a Alias) String() string {
	switch {
	case a.Version == "":
		return a.Linked
	case a.Default:
		return a.Linked + "@@" + a.Version
	}
	return a.Linked + "@" + a.Version
}

// Function is a piece of code that has a name or at least bounds. It stays
// valid for as long as its Image, whose table it is an element of.
type Function struct {
	Addr    uint64 // as the file states it; add a Loaded's Bias
	Size    uint64 // 0 only where nothing bounds it
	Source  Source
	Kind    Kind
	Aliases []Alias // all names, the best first; empty for Source Unwind

	image *Image
}

// Image is the image that the function is in.
func (f *Function) Image() *Image { return f.image }

// Contains reports whether the function's code covers an address.
func (f *Function) Contains(vaddr uint64) bool { return vaddr-f.Addr < f.Size }

// Linked is the name as the linker saw it, without a version. A function that
// has none is called image+0xOFFSET, where OFFSET is Addr: what nm and objdump
// would print, so that the name leads to the code in any other tool.
func (f *Function) Linked() string {
	if len(f.Aliases) > 0 {
		return f.Aliases[0].Linked
	}
	return f.image.Name + offsetMark + strconv.FormatUint(f.Addr, 16)
}

// offsetMark separates image and offset in the name of a nameless function.
const offsetMark = "+0x"

// Name is the demangled name without parameters. It is computed at each call:
// who needs it often keeps it.
func (f *Function) Name() string { return demangleName(f.Linked()) }

// Parent is the linked name of the function that this one is a part or a
// specialised copy of (foo for foo.cold, foo.part.0, foo.constprop.0,
// foo.isra.0), and empty for a function of its own.
func (f *Function) Parent() string {
	// In Go, main.cold is a function that somebody named cold.
	if len(f.Aliases) == 0 || f.image.golang {
		return ""
	}
	parent, _ := cutClone(f.Linked())
	if len(parent) == len(f.Linked()) {
		return ""
	}
	return parent
}

// cutClone splits the suffixes that GCC and LLVM give to parts and copies of a
// function from the name. Only the known ones: Go and Rust names may contain
// dots of their own.
func cutClone(linked string) (base, suffix string) {
	base = linked
	for {
		dot := strings.LastIndexByte(base, '.')
		if dot <= 0 {
			break
		}
		last := base[dot+1:]
		if last == "cold" {
			base = base[:dot]
			continue
		}
		// foo.part.0 and, from GCC before 8, foo.part.0.1 have numbers behind
		// the word; LLVM's outliner numbers its cold parts.
		if !digits(last) {
			break
		}
		word := strings.LastIndexByte(base[:dot], '.')
		if word <= 0 || !numberedClone(base[word+1:dot]) {
			break
		}
		base = base[:word]
	}
	return base, linked[len(base):]
}

// numberedClone reports whether a word is followed by a number in the suffix.
func numberedClone(word string) bool {
	switch word {
	case "part", "constprop", "isra", "cold":
		return true
	}
	return false
}

// cutRename removes the suffixes that a function gets which stays one of its
// own: made unique by link-time optimisation. foo.lto_priv.0 is foo.
func cutRename(linked string) string {
	if strings.IndexByte(linked, '.') < 0 { // nearly all
		return linked
	}
	linked = strings.TrimSuffix(linked, ".localalias")
	for _, mark := range []string{".lto_priv.", ".llvm.", ".localalias.", ".__uniq."} {
		if at := strings.LastIndex(linked, mark); at > 0 && digits(linked[at+len(mark):]) {
			return linked[:at]
		}
	}
	return linked
}

// digits reports whether s is a decimal number.
func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
