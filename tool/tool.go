package tool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"alleria/abp"
	"alleria/analysis/live"
	"alleria/config"
	"alleria/internal/against"
	"alleria/internal/session"
)

// Tool is an analysis of the user's own. It is for one run.
type Tool struct {
	// Flags are the command's: those that Main has already, and what the user adds.
	Flags *flag.FlagSet
	// Done, if set, is called when the program has ended and all buffers have been handed over, to write what was found.
	Done func(w io.Writer)
	// Limit is how long a callback may take over a buffer, 10 s unless it is set. Then the analysis is over.
	Limit time.Duration

	name   string
	types  []*bufferType
	fills  []*fill
	errs   []error // of definitions
	sites  session.Sites
	blocks bool // some fill is at blocks
	opts   options
	words  atomic.Uint64 // that the program's threads have recorded
	over   over
	beside *callbacks // who calls the callbacks, if they are another process's
}

// over says that the analysis has been ended by the user, or by a goroutine of the user's.
type over struct {
	once sync.Once
	done chan struct{} // closed by then
	err  error         // why; set before done is closed
}

// end ends the analysis, the first time.
func (o *over) end(err error) {
	o.once.Do(func() {
		o.err = err
		close(o.done)
	})
}

// Fail ends the analysis with an error. The program runs on, and Run returns the error behind its end. It may be called from any
// goroutine, and is what there is in place of log.Fatal: os.Exit, and so that, ends the program too.
func (t *Tool) Fail(err error) { t.over.end(fmt.Errorf("%w, at %s", err, caller())) }

// Go calls a function on a goroutine of its own. If it panics the analysis ends, and the program runs on. A panic on any
// other goroutine of the user's ends the program too, as nothing in Go can stop it.
func (t *Tool) Go(f func()) {
	place := caller()
	go func() {
		defer func() {
			if v := recover(); v != nil {
				t.over.end(fmt.Errorf("a goroutine begun at %s panicked: %v, at %s", place, v, live.PanicPlace(0)))
			}
		}()
		f()
	}()
}

// fill is one place where records of a type are made. Its number is its window's.
type fill struct {
	at     At
	of     *bufferType
	fields []field
	needs  needs
	place  string // in the user's code
}

// mostFills is how many windows a configuration may have.
const mostFills = 64

// New begins with a tool of that name.
func New(name string) *Tool {
	t := &Tool{name: name, Flags: flag.NewFlagSet(name, flag.ContinueOnError), Limit: 10 * time.Second, over: over{done: make(chan struct{})}}
	t.opts.register(t.Flags)
	return t
}

// Buffer says what the buffers of a record type are like.
type Buffer[R any] struct {
	// Records is how many a buffer holds, 16,384 unless it is set.
	Records int
	// Buffers is how many each thread of the program has, 2 unless it is set. With one, records wait while the callback
	// runs, with more, the next one is filled meanwhile.
	Buffers int
	// Most is how many buffers the user may have at a time besides those of threads, 256 unless it is set: more is a leak.
	Most int
	// Full gets each buffer that is full, and what a thread has filled when it ends. It returns the buffer that is to be
	// filled: the one that it got, or another one from Allocate; then the one that it got is the user's, until Free. With nil
	// the one that it got is the user's as well, and a new one is made.
	Full func(*Batch[R]) (next []R)
}

// Batch is a buffer with the records of one thread.
type Batch[R any] struct {
	Process uint32 // number in the tree, in order of creation
	Thread  uint32 // number in the process, likewise
	OSID    uint32 // the kernel's thread id
	Records []R
	Final   bool // the thread has ended

	names names
}

// names says what functions are called.
type names interface {
	function(number uint32) (name, image string)
}

// procNames asks the process's tables.
type procNames struct{ *abp.Process }

// function is of names.
func (p procNames) function(number uint32) (name, image string) {
	f := p.Function(number)
	if f == nil {
		return "", ""
	}
	if im := p.Image(f.Image); im != nil {
		image = filepath.Base(im.Path)
	}
	return f.Display(), image
}

// Function names a function by what a field got from the source Function, with the file name of its image. Code in no function has no names.
func (b *Batch[R]) Function(number uint32) (name, image string) { return b.names.function(number) }

// Type is a type of records, with its buffers.
type Type[R any] struct{ core *bufferType }

// Define defines a type of records: a struct of integers, bools and arrays of bytes. What is wrong with it, Main and Run say.
func Define[R any](t *Tool, b Buffer[R]) *Type[R] {
	rt := reflect.TypeFor[R]()
	c := &bufferType{tool: t, index: len(t.types), name: rt.Name(), place: caller(), size: rt.Size(), record: rt, records: b.Records, buffers: b.Buffers, most: b.Most}
	c.defaults()
	if err := checkRecord(rt); err != nil {
		t.wrong(c.place, err)
	}
	if b.Full == nil {
		t.wrong(c.place, errors.New("nobody gets the buffers: Full is missing"))
	} else {
		f := runtime.FuncForPC(reflect.ValueOf(b.Full).Pointer())
		file, line := f.FileLine(f.Entry())
		c.callback = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	erase(c, b.Full)
	t.types = append(t.types, c)
	return &Type[R]{c}
}

// Fill has records made: at says where, fields what they hold. It may be called several times for one type.
func (y *Type[R]) Fill(at At, fields Fields) {
	t := y.core.tool
	f := &fill{at: at, of: y.core, place: caller()}
	var err error
	if f.fields, err = fieldsOf(y.core.record, fields, at.point, &f.needs); err != nil {
		t.wrong(f.place, err)
	}
	for _, c := range at.If {
		if err := f.needs.add(c.Of, at.point); err != nil {
			t.wrong(f.place, fmt.Errorf("condition: %w", err))
		}
	}
	f.needs.addresses = f.needs.addresses || at.point == atAccess
	t.fills = append(t.fills, f)
}

// Allocate makes a buffer, which is the user's until a callback returns it or Free gets it. It may be called from any goroutine.
func (y *Type[R]) Allocate() []R { return slice[R](y.core.allocate(caller()), y.core.records) }

// Free gives a buffer back that is the user's.
func (y *Type[R]) Free(buffer []R) { y.core.release(address(buffer), caller()) }

// wrong notes what is wrong with a definition.
func (t *Tool) wrong(place string, err error) {
	t.errs = append(t.errs, fmt.Errorf("%s: %w", place, err))
}

// caller is the place in the user's code that called a function of this package.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "a place that is not known"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// config makes the configuration: a window for each fill.
func (t *Tool) config() (*config.Config, error) {
	text := `<AlleriaConfig version="1.0">` + "\n"
	errs := t.errs
	if len(t.fills) == 0 || len(t.fills) > mostFills {
		errs = append(errs, fmt.Errorf("there are %d places to fill buffers at; 1 to %d can be", len(t.fills), mostFills))
	}
	t.sites.Entries, t.sites.Blocks, t.sites.If = 0, 0, make([][]session.Condition, len(t.fills))
	for i, f := range t.fills {
		w, err := f.at.window(fmt.Sprintf("%s-%d", f.of.name, i+1), &f.needs)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.place, err))
		}
		text += w
		t.sites.If[i] = inApplication(f.at.If)
		switch f.at.point {
		case atEntry:
			t.sites.Entries |= 1 << i
		case atBlock:
			t.sites.Blocks |= 1 << i
			t.blocks = true
		}
	}
	if t.blocks { // where one begins is known by the block that was executed before
		t.sites.If = nil
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	c, warnings, err := config.Parse(t.name, []byte(text+"</AlleriaConfig>\n"))
	if err != nil {
		return nil, fmt.Errorf("windows of the places to fill buffers at: %w", err)
	}
	return c, t.unmatched(append(warnings, against.UnknownClasses(c)...))
}

// unmatched says which places no instruction can match.
func (t *Tool) unmatched(warnings []config.Warning) error {
	var errs []error
	for _, w := range warnings {
		if i := w.Pos.Line - 2; w.Unmatched && i >= 0 && i < len(t.fills) { // a line each, behind the first
			errs = append(errs, fmt.Errorf("%s: %s; %s", t.fills[i].place, w.What, w.Right))
		}
	}
	return errors.Join(errs...)
}

// spec is the tool as an analysis beside the program.
func (t *Tool) spec() live.Spec {
	return live.Custom(t.name, func(p *abp.Process) live.Analysis { return &analysis{t, p} })
}
