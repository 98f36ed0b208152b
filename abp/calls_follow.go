package abp

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"alleria/abp/calls"
)

// CallFollower reads a process's captured calls while they are being recorded.
//
// A thread's blocks come in the order of their places as long as one processing thread has it; where another takes over,
// the first one's last block is written before. What comes later than it should is handed on later.
type CallFollower struct {
	calls   *Calls
	path    string
	pairers map[uint32]*calls.Pairer
}

// FollowCalls begins to follow the process's calls; nil if there is no file yet.
func (p *Process) FollowCalls() (*CallFollower, error) {
	path := filepath.Join(filepath.Dir(p.main.path), InterceptorsFile)
	c, err := OpenCalls(path)
	if err != nil || c == nil {
		return nil, err
	}
	return &CallFollower{calls: c, path: path, pairers: make(map[uint32]*calls.Pairer)}, nil
}

// Calls is what was read so far of types and signatures.
func (f *CallFollower) Calls() *Calls { return f.calls }

// Close closes the file.
func (f *CallFollower) Close() error { return f.calls.Close() }

// Next hands on what was recorded since the last time; over: calls that have not ended never will.
func (f *CallFollower) Next(h CallHandler, over bool) error {
	var cursors []*callCursor
	for _, b := range f.calls.blocks {
		k := slices.IndexFunc(cursors, func(c *callCursor) bool { return c.blocks[0].Thread == b.Thread })
		if k >= 0 {
			cursors[k].blocks = append(cursors[k].blocks, b)
			continue
		}
		pairer := f.pairers[b.Thread]
		if pairer == nil {
			pairer = calls.NewPairer(f.calls.Signatures, b.Thread)
			f.pairers[b.Thread] = pairer
		}
		cursors = append(cursors, &callCursor{of: f.calls, blocks: []callBlock{b}, pairer: pairer})
	}
	for _, p := range f.pairers {
		p.Entered, p.Ended = h.Entered, h.Ended
	}
	if err := mergeCalls(cursors, false); err != nil {
		return err
	}
	f.calls.blocks = nil
	more, err := f.reopen()
	switch {
	case err != nil:
		return err
	case more:
		return f.Next(h, over)
	case over:
		for _, p := range f.pairers {
			if err := p.Finish(); err != nil {
				return err
			}
		}
		clear(f.pairers)
	}
	return nil
}

// reopen looks what the file has by now.
func (f *CallFollower) reopen() (more bool, err error) {
	file, err := OpenFile(f.path)
	if err != nil {
		return false, err
	}
	if len(file.sections) < f.calls.read {
		return false, errors.Join(fmt.Errorf("%s has become shorter: %w", f.path, ErrCorrupt), file.Close())
	}
	old := f.calls.file
	f.calls.file = file
	if err := f.calls.load(); err != nil {
		return false, errors.Join(err, old.Close())
	}
	return len(f.calls.blocks) > 0, old.Close()
}
