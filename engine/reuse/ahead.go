package reuse

import (
	"bytes"
	"runtime"
)

// The file of a run's first program is read while the launcher starts it: that takes as long as a small file, a millisecond, and a part of a compiler's. But what the file is called is
// known when the program has begun: by its path, and by what its blocks record in words that hold for its images (Name). So what the file was called is kept as well, for the path that was
// asked for and what was asked to be recorded (Disk.Asked), and taken from there. Where it is another one this time, what was read is thrown away.

// ahead is a file that is being read.
type ahead struct {
	asked string // key under which its name is kept
	name  Name   // as it was kept
	key   string
	data  []byte
	err   error
	done  chan struct{} // closed when the others are what they will be
}

// ReadAhead begins to read the file of a program that is about to be executed, by a path that need not be its own. Others of the disk's methods wait for it.
func (d *Disk) ReadAhead(path string) {
	if d == nil || d.Asked == "" || d.Dir.Alone || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	a := &ahead{done: make(chan struct{})}
	d.ahead = a
	go func() {
		defer close(a.done)
		own := OwnBinary()
		if own == "" {
			return
		}
		a.asked = "first 1\n" + own + "\n" + path + "\n" + d.Asked
		said, err := d.Dir.Load(a.asked)
		program, records, ok := bytes.Cut(said, []byte{0})
		if err != nil || !ok {
			return
		}
		a.name = Name{Program: string(program), Records: string(records)}
		a.key = d.keyOf(a.name)
		a.data, a.err = d.Dir.Load(a.key)
	}()
}

// takeAhead is the file of a name if that is the one that was read ahead. The first that is asked for is what will be kept as the program's.
func (d *Disk) takeAhead(name Name) (data []byte, err error, ok bool) {
	a := d.ahead
	if a == nil {
		return nil, nil, false
	}
	d.ahead = nil
	<-a.done
	if a.asked != "" && a.name != name {
		d.first = func() error {
			return d.Dir.Store(a.asked, "", [][]byte{[]byte(name.Program), {0}, []byte(name.Records)})
		}
	}
	if a.name != name {
		return nil, nil, false
	}
	return a.data, a.err, true
}

// keepFirst keeps what the first program's file was called, if that was not known.
func (d *Disk) keepFirst() {
	if d == nil {
		return
	}
	if a := d.ahead; a != nil { // nobody has asked for any
		<-a.done
		d.ahead = nil
	}
	if d.first != nil {
		d.log(d.first())
		d.first = nil
	}
}
