package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"

	"alleria/internal/session"
)

// user is what the process of the callbacks knows of the tracer. Only one run is at work at a time.
type user struct {
	*conn
	arena *arena

	mu        sync.Mutex
	current   *userRun              // guarded by mu, as all below
	questions map[uint32]chan named // for names
	asked     uint32                // questions so far
	over      bool                  // the tracer has ended
}

// userRun is a run, as the process of the callbacks sees it.
type userRun struct {
	tool     *Tool
	messages io.Writer
	runners  map[uint32]*runner // by filler; the receiver's only
	names    map[uint64]*userNames
	done     chan result
}

// newUser is the user's side, if this process is that one.
func newUser(side string) *user {
	if !strings.HasPrefix(side, sideUser) {
		return nil
	}
	files := inherited(side)
	if err := debug.SetCrashOutput(files[fileCrash], debug.CrashOptions{}); err == nil {
		files[fileCrash].Close() // the runtime has a copy
	}
	u := &user{conn: newConn(files[fileConn]), arena: newArena([2]*os.File{files[fileOwn], files[fileUsers]}, 1), questions: map[uint32]chan named{}}
	go u.serve()
	return u
}

// errTracerEnded: the process that traces the program has ended, and the program with it.
var errTracerEnded = errors.New("the process that traces the program has ended")

// run has the tracer run a program.
func (u *user) run(ctx context.Context, t *Tool, argv []string, messages io.Writer) (exit int, err error) {
	r := &userRun{tool: t, messages: messages, runners: map[uint32]*runner{}, names: map[uint64]*userNames{}, done: make(chan result, 1)}
	u.mu.Lock()
	busy, over := u.current != nil, u.over
	if !busy {
		u.current = r
	}
	u.mu.Unlock()
	switch {
	case busy:
		return 0, errors.New("another Run is at work")
	case over:
		return 0, errTracerEnded
	}
	defer func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.current = nil
	}()
	for _, c := range t.types {
		c.share(u.arena)
	}
	request, err := t.request(argv)
	if err != nil {
		return 0, err
	}
	u.sendAs(frame{kind: askRun}, request)
	stop := context.AfterFunc(ctx, func() { u.send(frame{kind: askCancel}) })
	defer stop()
	for over := t.over.done; ; {
		select {
		case <-over:
			u.send(frame{kind: askFail, text: []byte(t.over.err.Error())})
			over = nil
		case res := <-r.done:
			t.words.Add(res.Words)
			return res.Exit, res.error()
		}
	}
}

// serve takes what the tracer tells.
func (u *user) serve() {
	for {
		f, err := u.receive()
		u.mu.Lock()
		r := u.current
		if err != nil {
			u.over = true
			for _, q := range u.questions {
				close(q)
			}
			u.questions = nil
		}
		u.mu.Unlock()
		switch {
		case err != nil && r != nil:
			r.done <- result{Exit: 128 + 9, Err: errTracerEnded.Error()}
			return
		case err != nil:
			return
		case r != nil || f.kind == tellName:
			u.take(r, &f)
		}
	}
}

// take takes one frame.
func (u *user) take(r *userRun, f *frame) {
	switch f.kind {
	case tellBegin:
		var b begun
		if f.as(&b) == nil && b.Type < len(r.tool.types) {
			r.runners[f.id] = u.begin(r, f.id, &b)
		}
	case tellFull:
		u.full(r, f)
	case tellClose:
		if n := r.runners[f.id]; n != nil {
			delete(r.runners, f.id)
			n.close()
		}
	case tellMessage:
		_, _ = r.messages.Write(f.text)
	case tellName:
		var n named
		_ = f.as(&n)
		u.mu.Lock()
		q := u.questions[f.id]
		delete(u.questions, f.id)
		u.mu.Unlock()
		if q != nil {
			q <- n
		}
	case tellResult:
		var res result
		if err := f.as(&res); err != nil {
			res.Err = err.Error()
		}
		r.done <- res
	}
}

// begin begins with a thread's buffers of one type.
func (u *user) begin(r *userRun, id uint32, b *begun) *runner {
	n := r.names[b.Names]
	if n == nil {
		n = &userNames{user: u, table: b.Names, known: map[uint32]named{}}
		r.names[b.Names] = n
	}
	c := r.tool.types[b.Type]
	return newRunner(c, &remoteFiller{u, c, id}, handed{process: b.Process, thread: b.Thread, osid: b.OSID, names: n})
}

// full has a buffer's callback called.
func (u *user) full(r *userRun, f *frame) {
	n := r.runners[f.id]
	if n == nil {
		return
	}
	b, err := n.of.named(f.a)
	if err != nil {
		n.to.fail(err)
		return
	}
	b.n = int(min(f.b>>1, uint64(n.of.records)))
	h := n.common
	h.buffer, h.final = b, f.b&1 != 0
	n.call(h)
}

// remoteFiller is a filler of the tracer's.
type remoteFiller struct {
	user *user
	of   *bufferType
	id   uint32
}

func (f *remoteFiller) next(b buffer) { f.user.send(frame{kind: sayNext, id: f.id, a: f.of.known(b)}) }

func (f *remoteFiller) fail(err error) {
	f.user.send(frame{kind: sayFail, id: f.id, text: []byte(err.Error())})
}

func (f *remoteFiller) end() { f.user.send(frame{kind: sayEnd, id: f.id}) }

// userNames are names of functions, asked for once each.
type userNames struct {
	user  *user
	table uint64

	mu    sync.Mutex
	known map[uint32]named // guarded by mu
}

// function is of names.
func (n *userNames) function(number uint32) (name, image string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[number]
	if !ok {
		known = n.user.ask(n.table, number)
		n.known[number] = known
	}
	return known.Name, known.Image
}

// ask asks the tracer for a function's name.
func (u *user) ask(table uint64, number uint32) named {
	q := make(chan named, 1)
	u.mu.Lock()
	if u.over {
		u.mu.Unlock()
		return named{}
	}
	u.asked++
	id := u.asked
	u.questions[id] = q
	u.mu.Unlock()
	u.send(frame{kind: askName, id: id, a: table, b: uint64(number)})
	return <-q
}

// request is what the tracer is asked for.
func (t *Tool) request(argv []string) (r request, err error) {
	if r.Dir, err = os.Getwd(); err != nil {
		return r, fmt.Errorf("working directory: %w", err)
	}
	r.Name, r.Env, r.Args, r.Limit = t.name, os.Environ(), argv, int64(t.Limit)
	for _, name := range ownFlags() {
		if f := t.Flags.Lookup(name); f != nil {
			r.Flags = append(r.Flags, "-"+name+"="+f.Value.String())
		}
	}
	for _, c := range t.types {
		r.Types = append(r.Types, requestType{c.name, c.callback, c.size, c.records, c.buffers})
	}
	for _, f := range t.fills {
		one := requestFill{At: f.at, Point: f.at.point, Type: f.of.index, Place: f.place}
		one.At.If = nil
		for _, c := range f.at.If {
			one.If = append(one.If, requestCondition{asked(c.Of), c.Least, c.Most})
		}
		for _, fd := range f.fields {
			one.Fields = append(one.Fields, requestField{fd.offset, fd.size, fd.truth, asked(fd.from)})
		}
		r.Fills = append(r.Fills, one)
	}
	_, err = json.Marshal(r)
	return r, err
}

// asked is a source, as requests have it.
func asked(s Source) requestSource { return requestSource{s.kind, s.constant, s.name} }

// errorKinds are the errors that Run tells apart.
func errorKinds() []error {
	return []error{session.ErrNotFound, exec.ErrNotFound, session.ErrCannotTrace, session.ErrUsage, session.ErrIncomplete}
}

// toldError is an error of the tracer's.
type toldError struct {
	text string
	kind error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.kind }

// error is what a run has ended with.
func (r *result) error() error {
	if r.Err == "" {
		return nil
	}
	kinds := errorKinds()
	if r.Kind < 1 || r.Kind > len(kinds) {
		return errors.New(r.Err)
	}
	return &toldError{r.Err, kinds[r.Kind-1]}
}
