package tool

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"alleria/abp"
	"alleria/internal/session"
)

// callbacks is what the tracer knows of the process that calls the callbacks.
type callbacks struct {
	*conn
	arena  *arena
	crash  *os.File
	keeper *os.File // who has started both, and says how the other one has ended

	mu      sync.Mutex
	fillers map[uint32]*remoteRunner // guarded by mu, as all below
	last    uint32                   // filler
	names   []*abp.Process           // tables of names
	run     *tracerRun               // that is at work; nil: none
	gone    error                    // why the other process is not there any more; nil: it is
	hung    bool                     // it is there and answers nothing
}

// tracerRun is a run, as the tracer sees it.
type tracerRun struct {
	tool   *Tool
	cancel context.CancelFunc
	done   chan struct{} // closed when the result is there
	result result
}

// trace is the tracer's process. It returns its exit status.
func trace(files [sideFiles]*os.File) int {
	_, stop := session.Outlive() // the user's process is sent the same
	defer stop()
	c := &callbacks{conn: newConn(files[fileConn]), arena: newArena([2]*os.File{files[fileOwn], files[fileUsers]}, 0), crash: files[fileCrash],
		keeper: files[fileKeeper], fillers: map[uint32]*remoteRunner{}}
	for {
		f, err := c.receive()
		if err != nil {
			break
		}
		c.take(&f)
	}
	c.mu.Lock()
	r := c.run
	c.mu.Unlock()
	if r == nil {
		return 0 // as the user's process has ended
	}
	err := c.lost()
	<-r.done
	text := r.result.Err
	if r.result.Kind == 0 && text == "" { // nobody was waiting for a buffer
		text = fmt.Sprintf("analysis %s ended: %v", r.tool.name, err)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", r.tool.name, text)
	exit := r.result.Exit
	if exit == 0 {
		exit = statusOf(r.result.error())
	}
	fmt.Fprintf(c.keeper, "%d\n", exit)
	return 0
}

// lost ends the analysis, since the other process has ended: why, and at which callbacks.
func (c *callbacks) lost() error {
	how, _ := bufio.NewReader(c.keeper).ReadString('\n')
	crash, _ := io.ReadAll(io.NewSectionReader(c.crash, 0, 1<<20))
	err := ended(strings.TrimSpace(how), string(crash))
	c.mu.Lock()
	err = fmt.Errorf("%w%s", err, c.busy())
	c.gone = err
	t := c.run.tool
	c.mu.Unlock()
	t.over.end(err)
	return err
}

// stuck ends the analysis: the other process is there and answers nothing, as it is stopped, or busy beyond any measure.
func (c *callbacks) stuck() {
	c.mu.Lock()
	c.hung = true
	t, at := c.run.tool, c.busy()
	c.mu.Unlock()
	t.over.end(fmt.Errorf("the process of its callbacks does not answer%s", at))
}

// busy says which callbacks have buffers, to be appended to a reason. c.mu is held.
func (c *callbacks) busy() string {
	var at []string
	for _, r := range c.fillers {
		if place := fmt.Sprintf("%s at %s", r.f.of.name, r.f.of.callback); r.out > 0 && !slices.Contains(at, place) {
			at = append(at, place)
		}
	}
	if len(at) == 0 {
		return ""
	}
	slices.Sort(at)
	return "; buffers were with the callback of " + strings.Join(at, ", and of ")
}

// take takes one frame.
func (c *callbacks) take(f *frame) {
	switch f.kind {
	case askRun:
		c.start(f)
	case askCancel, askFail:
		c.mu.Lock()
		r := c.run
		c.mu.Unlock()
		switch {
		case r == nil:
		case f.kind == askCancel:
			r.cancel()
		default:
			r.tool.over.end(errors.New(string(f.text)))
		}
	case askName:
		var p *abp.Process
		c.mu.Lock()
		if f.a < uint64(len(c.names)) {
			p = c.names[f.a]
		}
		c.mu.Unlock()
		var n named
		if p != nil {
			n.Name, n.Image = procNames{p}.function(uint32(f.b))
		}
		c.sendAs(frame{kind: tellName, id: f.id}, n)
	case sayNext, sayFail, sayEnd:
		c.answer(f)
	}
}

// answer passes on what came of a callback.
func (c *callbacks) answer(f *frame) {
	c.mu.Lock()
	r := c.fillers[f.id]
	if r != nil && f.kind == sayNext {
		r.out--
	}
	if f.kind == sayEnd {
		delete(c.fillers, f.id)
	}
	c.mu.Unlock()
	if r == nil {
		return
	}
	switch f.kind {
	case sayFail:
		r.f.fail(errors.New(string(f.text)))
	case sayEnd:
		r.f.end()
	default:
		b, err := r.f.of.named(f.a)
		if err != nil {
			r.f.fail(err)
			return
		}
		r.f.next(b)
	}
}

// remoteRunner is a runner of the other process's.
type remoteRunner struct {
	c   *callbacks
	id  uint32
	f   *filler
	out int // buffers that it has; guarded by c.mu
}

// begin begins with a filler.
func (c *callbacks) begin(f *filler) *remoteRunner {
	p := f.handed.names.(procNames).Process
	c.mu.Lock()
	c.last++
	r := &remoteRunner{c: c, id: c.last, f: f}
	c.fillers[r.id] = r
	table := slices.Index(c.names, p)
	if table < 0 {
		table = len(c.names)
		c.names = append(c.names, p)
	}
	c.mu.Unlock()
	c.sendAs(frame{kind: tellBegin, id: r.id}, begun{f.of.index, uint64(table), f.handed.process, f.handed.thread, f.handed.osid})
	return r
}

// call is of callee.
func (r *remoteRunner) call(h handed) {
	r.c.mu.Lock()
	r.out++
	r.c.mu.Unlock()
	final := uint64(0)
	if h.final {
		final = 1
	}
	r.c.send(frame{kind: tellFull, id: r.id, a: r.f.of.known(h.buffer), b: uint64(h.n)<<1 | final})
}

// close is of callee.
func (r *remoteRunner) close() { r.c.send(frame{kind: tellClose, id: r.id}) }

// late is of callee.
func (r *remoteRunner) late() { r.c.stuck() }

// start starts what is asked for.
func (c *callbacks) start(f *frame) {
	var q request
	if err := f.as(&q); err != nil {
		c.sendAs(frame{kind: tellResult}, result{Err: err.Error()})
		return
	}
	t := q.tool(c)
	ctx, cancel := context.WithCancel(context.Background())
	r := &tracerRun{tool: t, cancel: cancel, done: make(chan struct{})}
	c.patience(2*t.Limit+unanswered, c.stuck)
	c.mu.Lock()
	c.run = r
	c.mu.Unlock()
	go func() {
		defer cancel()
		exit, err := t.traced(ctx, &q, c)
		r.result = resultOf(exit, err)
		r.result.Words = t.words.Load()
		c.mu.Lock()
		if c.gone == nil && !c.hung {
			c.run = nil
		}
		hung := c.hung
		c.mu.Unlock()
		c.sendAs(frame{kind: tellResult}, r.result)
		close(r.done)
		if hung {
			fmt.Fprintln(c.keeper, toldHung)
		}
	}()
}

// traced runs the program. What it is told with -v goes the way that the user's messages go.
func (t *Tool) traced(ctx context.Context, q *request, c *callbacks) (exit int, err error) {
	if err := os.Chdir(q.Dir); err != nil {
		return 0, err
	}
	os.Clearenv()
	for _, v := range q.Env {
		if name, value, ok := strings.Cut(v, "="); ok {
			_ = os.Setenv(name, value)
		}
	}
	if err := t.Flags.Parse(q.Flags); err != nil {
		return 0, fmt.Errorf("%w: %w", session.ErrUsage, err)
	}
	o, err := t.session(q.Args, c)
	if err != nil {
		return 0, err
	}
	o.Env = q.Env
	return t.record(ctx, o)
}

// Write has the user's process write a message.
func (c *callbacks) Write(text []byte) (int, error) {
	c.send(frame{kind: tellMessage, text: text})
	return len(text), nil
}

// tool is the tool as the tracer has it: everything but what is called.
func (q *request) tool(c *callbacks) *Tool {
	t := New(q.Name)
	t.Limit, t.beside = time.Duration(q.Limit), c
	for i := range q.Types {
		y := &q.Types[i]
		b := &bufferType{tool: t, index: i, name: y.Name, callback: y.Callback, size: y.Size, records: y.Records, buffers: y.Buffers}
		b.defaults()
		b.share(c.arena)
		t.types = append(t.types, b)
	}
	for i := range q.Fills {
		one := &q.Fills[i]
		f := &fill{at: one.At, of: t.types[one.Type], place: one.Place}
		f.at.point = one.Point
		f.needs.addresses = f.at.point == atAccess
		for _, c := range one.If {
			f.at.If = append(f.at.If, Condition{c.Of.source(), c.Least, c.Most})
		}
		for _, fd := range one.Fields {
			f.fields = append(f.fields, field{fd.Offset, fd.Size, fd.Truth, fd.From.source()})
		}
		f.need(t)
		t.fills = append(t.fills, f)
	}
	return t
}

// need notes what has to be recorded for the fields and conditions. The other process has looked at what is wrong.
func (f *fill) need(t *Tool) {
	for i := range f.fields {
		if err := f.needs.add(f.fields[i].from, f.at.point); err != nil {
			t.wrong(f.place, err)
		}
	}
	for i := range f.at.If {
		if err := f.needs.add(f.at.If[i].Of, f.at.point); err != nil {
			t.wrong(f.place, fmt.Errorf("condition: %w", err))
		}
	}
}

// source is what was asked for.
func (s *requestSource) source() Source {
	if s.Kind == isRegister {
		return Register(s.Register)
	}
	return Source{kind: s.Kind, constant: s.Constant}
}

// resultOf is what is told of a run's end.
func resultOf(exit int, err error) result {
	r := result{Exit: exit}
	if err == nil {
		return r
	}
	r.Err = err.Error()
	for i, kind := range errorKinds() {
		if errors.Is(err, kind) {
			r.Kind = i + 1
			break
		}
	}
	return r
}

// ownFlags are the names of the flags that every tool has.
func ownFlags() (names []string) {
	fl := flag.NewFlagSet("", flag.ContinueOnError)
	new(options).register(fl)
	fl.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}
