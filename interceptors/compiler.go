package interceptors

import (
	"errors"
	"fmt"
	"slices"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/internal/capture"
	"alleria/internal/debuginfo"
)

// ErrUnfit is wrapped by errors that tell why a function cannot be intercepted as asked.
var ErrUnfit = errors.New("cannot be captured")

// errSaves is what becomes of a value for which another word would have to be kept.
var errSaves = fmt.Errorf("more than %d words would have to be kept until the return: %w", capture.MaxSaves, ErrUnfit)

// Prototype is what is known of a function and wanted of its calls.
type Prototype struct {
	Args     []calls.TypeID // of all parameters up to the last that matters, in order; 0: an integer
	Result   calls.TypeID   // 0: none
	Captures []Wanted
	// Go: the function has Go's calling convention. Results: Result is a record of several results, which travel each by itself.
	Go, Results bool
	// Windows: the function has the Windows convention (ms_abi).
	Windows bool
	// Rust is the version of rustc, 1.Rust, of whose own convention the function is; 0: it is of another one.
	Rust int
	// ResultAs is the type that a Rust result travels as, where Result is a configuration's; 0: Result.
	ResultAs calls.TypeID
	// Unplaced: where the function's arguments travel nobody can tell.
	Unplaced bool
	// Left are parameters that the compiler has left out, by index, and Unsure those of which it is not known where they travel; nil: none.
	Left, Unsure []bool
	// Clang is the version of clang that compiled the function, which differs from the convention; 0: another compiler.
	Clang int
	// Widest is how many bytes the widest vector has that the function may take or return in a register; 0: any.
	Widest int
	// CaptureResult: the result is wanted too.
	CaptureResult bool
	Variadic      bool
	Fails         capture.Failing // how the result says that errno says more
	Format        bool            // the last parameter is a format of printf, which says what the variable arguments are
	MaxBytes      uint64          // of a call; 0: the default
	Changes       *Changes        // of calls; nil: none
	// Scopes are what names mean, where several Intercepts were joined (Join), and ResultScope is the one that the result's type goes by.
	Scopes      []Scope
	ResultScope int
}

// Wanted is an argument to be captured.
type Wanted struct {
	Name    string
	Index   int // in Prototype.Args
	Type    calls.TypeID
	In, Out bool
	Set     *config.Change // nil: it is not changed
	Scope   int            // in Prototype.Scopes
}

// ResultName is the Variable of a pointer whose length is the function's result. No configuration can say it.
const ResultName = "#result"

// Capture is what is captured of a function: for the engine, and for readers.
type Capture struct {
	Program   *capture.Program
	Signature calls.Signature
	// Left are the parameters of which nothing is captured at return, since no more words can be kept until then.
	Left []string
}

// pointerFacts is what is known of a pointer type besides what readers need.
type pointerFacts struct {
	max      uint64
	endValid bool
}

// Compiler makes captures. Its table grows with the types that are used.
type Compiler struct {
	Table *calls.Table

	facts   map[calls.TypeID]pointerFacts
	byRef   map[calls.TypeID]bool // records that are passed by a hidden reference
	config  map[any]calls.TypeID  // of types of a configuration
	targets map[targetKey]*capture.Target
	plain   map[config.Builtin]calls.TypeID
	debug   map[*debuginfo.Data]*debugInfo
	shipped *Prototypes
	parts   map[calls.TypeID]int  // see partsOf
	crowded map[string]bool       // records of too many parts, by name
	open    map[calls.TypeID]bool // Rust's records that may be repr(C)
	partial map[calls.TypeID]bool // C's records of which not all is known
	made    map[string]*Capture   // see alike
	key     []byte
	// Alone: nothing is shared between functions that are alike, for comparison.
	Alone bool
	// Added are declarations that come before those that are shipped; nil: none.
	Added *Declarations
}

// NewCompiler makes one with an empty table.
func NewCompiler() *Compiler {
	return &Compiler{Table: &calls.Table{}, facts: make(map[calls.TypeID]pointerFacts), byRef: make(map[calls.TypeID]bool),
		config: make(map[any]calls.TypeID), targets: make(map[targetKey]*capture.Target), plain: make(map[config.Builtin]calls.TypeID), debug: make(map[*debuginfo.Data]*debugInfo),
		parts: make(map[calls.TypeID]int), crowded: make(map[string]bool), made: make(map[string]*Capture), open: make(map[calls.TypeID]bool), partial: make(map[calls.TypeID]bool)}
}

// build is one function's capture under way.
type build struct {
	c      *Compiler
	p      *Prototype
	out    *Capture
	places []place // of the arguments
	result place
	scopes []Scope
	scope  Scope // of the capture that is made now
	exit   bool  // what is made now is captured at return
	// entryItems and exitItems say where the item of a capture is in the program.
	entryItems, exitItems map[int]int
}

// compile makes the capture of a function.
func (c *Compiler) compile(p *Prototype) (*Capture, error) {
	b := &build{c: c, p: p, out: &Capture{Program: &capture.Program{MaxBytes: uint32(config.DefaultCallBytes)}}, scopes: p.scopes(), entryItems: make(map[int]int), exitItems: make(map[int]int)}
	if p.MaxBytes > 0 {
		b.out.Program.MaxBytes = uint32(min(p.MaxBytes, 1<<31))
	}
	if err := c.checkParts(p); err != nil {
		return nil, err
	}
	b.places, b.result = c.locate(p)
	sig := &b.out.Signature
	sig.Variadic, sig.Returns = p.Variadic, true
	for i := range p.Captures {
		w := &p.Captures[i]
		sig.Params = append(sig.Params, calls.Param{Name: w.Name, Index: uint32(w.Index), Type: w.Type})
		if !w.In {
			continue
		}
		b.scope = b.scopes[w.Scope]
		if err := b.slot(i, w.Type, b.places[w.Index]); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", w.Index, err)
		}
	}
	if p.Format {
		if err := b.variadic(); err != nil {
			return nil, err
		}
	}
	b.exit = true
	if p.CaptureResult && p.Result != 0 && !b.result.onStack() {
		sig.Result = calls.Param{Type: p.Result}
		b.scope = b.scopes[p.ResultScope]
		if err := b.resultSlot(); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	for i := range p.Captures {
		if err := b.outSlot(i); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", p.Captures[i].Index, err)
		}
	}
	// The return is of interest also where nothing is captured at it: how long the call took.
	b.out.Program.Returns, b.out.Program.Fails = true, p.Fails
	b.out.Program.Goroutine, sig.Goroutine = p.Go, p.Go
	if err := b.alter(); err != nil {
		return nil, err
	}
	return b.out, nil
}

// outSlot appends an argument as it is at return, if that is asked for. One for which no words are left is left out: the others are of use without it.
func (b *build) outSlot(i int) error {
	w := &b.p.Captures[i]
	if !w.Out {
		return nil
	}
	b.scope = b.scopes[w.Scope]
	saves := len(b.out.Program.Saves)
	pl, err := b.saved(b.places[w.Index])
	if err == nil {
		err = b.slot(i, w.Type, pl)
	}
	if !errors.Is(err, errSaves) || w.Set != nil {
		return err
	}
	b.out.Program.Saves = b.out.Program.Saves[:saves]
	name := w.Name
	if name == "" {
		name = fmt.Sprintf("#%d", w.Index)
	}
	b.out.Left = append(b.out.Left, name)
	return nil
}

// resultSlot appends the result. Where it was to be stored Rust's functions are told, and do not tell again.
func (b *build) resultSlot() (err error) {
	pl := b.result
	if pl.hidden && b.p.Rust > 0 {
		if pl, err = b.saved(place{hidden: true, pieces: []piece{{src: capture.Source{Kind: capture.GPR, N: generalArgs()[0]}, bytes: 8}}}); err != nil {
			return err
		}
	}
	return b.slot(calls.ResultParam, b.p.Result, pl)
}

// onStack tells whether a part of a value is on the stack, where a result is not to be found.
func (pl place) onStack() bool {
	return slices.ContainsFunc(pl.pieces, func(q piece) bool { return q.src.Kind == capture.Stack })
}

// slot appends a value: to the program its items, to the signature how they make the value.
func (b *build) slot(param int, t calls.TypeID, pl place) error {
	s := calls.Slot{Param: int32(param), Type: t, Hidden: pl.hidden}
	var items []capture.Item
	if pl.hidden {
		size := b.c.Table.Type(t).Size
		target := &capture.Target{Size: max(size, 1), Len: capture.Length{Kind: capture.Fixed, N: 1}, Max: max(size, config.DefaultPointerBytes)}
		points, err := b.c.pointers(t)
		if err != nil {
			return err
		}
		target.Points = points
		items = append(items, capture.Item{Src: pl.pieces[0].src, Bytes: 8, Points: []capture.Pointer{{Target: target}}})
		s.Pieces = []calls.Piece{{Bytes: 8}}
	} else {
		var err error
		if items, err = b.items(t, pl); err != nil {
			return err
		}
		for _, p := range pl.pieces {
			s.Pieces = append(s.Pieces, calls.Piece{Offset: p.off, Bytes: p.bytes})
		}
	}
	if b.exit {
		b.exitItems[param] = len(b.out.Program.Exit)
		b.out.Program.Exit = append(b.out.Program.Exit, items...)
		b.out.Signature.Exit = append(b.out.Signature.Exit, s)
	} else {
		b.entryItems[param] = len(b.out.Program.Entry)
		b.out.Program.Entry = append(b.out.Program.Entry, items...)
		b.out.Signature.Entry = append(b.out.Signature.Entry, s)
	}
	return nil
}

// items makes the items of a value that lies in pieces.
func (b *build) items(t calls.TypeID, pl place) ([]capture.Item, error) {
	fields := b.c.fieldPointers(t)
	var items []capture.Item
	for _, p := range pl.pieces {
		it := capture.Item{Src: p.src, Bytes: p.bytes}
		for i := range fields {
			f := &fields[i]
			if f.off < p.off || f.off+8 > p.off+p.bytes {
				continue
			}
			target, err := b.target(f, pl, p)
			if err != nil {
				return nil, err
			}
			it.Points = append(it.Points, capture.Pointer{Off: f.off - p.off, Target: target})
		}
		items = append(items, it)
	}
	return items, nil
}

// saved is where a value of the entry is at return: in what the engine has saved of it.
func (b *build) saved(pl place) (place, error) {
	out := place{hidden: pl.hidden}
	for _, p := range pl.pieces {
		for at := uint32(0); at < p.bytes; at += 8 {
			src := p.src
			if src.Kind == capture.Stack {
				src.N += at
			} else if at > 0 {
				return out, fmt.Errorf("a vector register's value is not kept until the return: %w", ErrUnfit)
			}
			n, err := b.save(src)
			if err != nil {
				return out, err
			}
			out.pieces = append(out.pieces, piece{src: capture.Source{Kind: capture.Saved, N: n}, off: p.off + at, bytes: min(8, p.bytes-at)})
		}
	}
	return out, nil
}

// save has a source kept until the return, once.
func (b *build) save(src capture.Source) (uint32, error) {
	prog := b.out.Program
	for i, s := range prog.Saves {
		if s == src {
			return uint32(i), nil
		}
	}
	if len(prog.Saves) == capture.MaxSaves {
		return 0, errSaves
	}
	prog.Saves = append(prog.Saves, src)
	return uint32(len(prog.Saves) - 1), nil
}
