package tool

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// frame is what the tracer and the process of the callbacks tell each other. What its numbers mean its kind says.
type frame struct {
	kind frameKind
	id   uint32
	a, b uint64
	text []byte
}

// frameKind says what a frame is about.
type frameKind uint8

// To the tracer.
const (
	askRun    frameKind = iota + 1 // text: a request
	askCancel                      // the analysis is to end
	askFail                        // the user has ended the analysis; text: why
	askName                        // id: of the question; a: table of names, b: function
	sayNext                        // id: filler; a: the buffer to fill
	sayFail                        // id: filler; text: why
	sayEnd                         // id: filler; nothing comes behind this
)

// From the tracer.
const (
	tellBegin   frameKind = iota + 32 // id: filler; text: begun
	tellFull                          // id: filler; a: the buffer; b: how many records, times two, and whether it is the last one
	tellClose                         // id: filler; nothing comes behind this
	tellMessage                       // text: for the user
	tellName                          // id: of the question; text: named
	tellResult                        // text: a result
)

// request is what the tracer is asked to run.
type request struct {
	Name  string
	Dir   string
	Env   []string
	Args  []string // of the program
	Flags []string // of the tool's own ones
	Limit int64    // nanoseconds
	Types []requestType
	Fills []requestFill
}

// requestType is a type of records, as far as the tracer fills it.
type requestType struct {
	Name, Callback string
	Size           uintptr
	Records        int
	Buffers        int
}

// requestFill is a place where records are made.
type requestFill struct {
	At     At // its conditions are in If
	Point  point
	If     []requestCondition
	Type   int
	Fields []requestField
	Place  string
}

// requestSource is a Source.
type requestSource struct {
	Kind     kind
	Constant uint64
	Register string
}

type requestCondition struct {
	Of          requestSource
	Least, Most uint64
}

type requestField struct {
	Offset, Size uintptr
	Truth        bool
	From         requestSource
}

// begun is a thread's first buffer of a type.
type begun struct {
	Type                  int
	Names                 uint64 // which table of names
	Process, Thread, OSID uint32
}

// named is what a function is called.
type named struct{ Name, Image string }

// result is how a run has ended.
type result struct {
	Exit  int
	Err   string // empty: none
	Kind  int    // of the error: its index in errorKinds, from 1
	Words uint64
}

const headBytes = 32

// conn carries frames. Several goroutines may send; one receives.
type conn struct {
	file *os.File
	in   *bufio.Reader

	mu    sync.Mutex
	out   []byte        // guarded by mu, as all below
	wait  time.Duration // how long sending may take; 0: as long as it takes
	stuck func()        // called when it takes longer; nothing is sent any more
	mute  bool
}

// patience says how long sending may take, and what is called then.
func (c *conn) patience(wait time.Duration, stuck func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait, c.stuck = wait, stuck
}

func newConn(file *os.File) *conn { return &conn{file: file, in: bufio.NewReaderSize(file, 1<<16)} }

// send sends a frame. That nobody receives it is told by receive.
func (c *conn) send(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mute {
		return
	}
	if c.wait > 0 {
		_ = c.file.SetWriteDeadline(time.Now().Add(c.wait))
	}
	b := binary.LittleEndian.AppendUint32(c.out[:0], uint32(len(f.text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.kind))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.id))
	b = binary.LittleEndian.AppendUint64(b, f.a)
	b = binary.LittleEndian.AppendUint64(b, f.b)
	c.out = append(b, f.text...)
	if _, err := c.file.Write(c.out); errors.Is(err, os.ErrDeadlineExceeded) {
		c.mute = true // half a frame may be there
		c.stuck()
	}
}

// sendAs sends a frame with a text in JSON.
func (c *conn) sendAs(f frame, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	f.text = text
	c.send(f)
}

// receive returns the next frame, and an error if the other side has ended.
func (c *conn) receive() (f frame, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return f, err
	}
	f = frame{kind: frameKind(head[4]), id: binary.LittleEndian.Uint32(head[8:]), a: binary.LittleEndian.Uint64(head[16:]), b: binary.LittleEndian.Uint64(head[24:])}
	if n := binary.LittleEndian.Uint32(head[:]); n > 0 {
		f.text = make([]byte, n)
		_, err = io.ReadFull(c.in, f.text)
	}
	return f, err
}

// as reads a frame's text.
func (f *frame) as(v any) error {
	if err := json.Unmarshal(f.text, v); err != nil {
		return fmt.Errorf("frame %d: %w", f.kind, err)
	}
	return nil
}
