package engine

// Launched is a target in its launcher stage, for those who control it by other
// means than a Tracer: the single-step oracle, and tests that compare with a
// native run. The alternative, a launcher of their own, would give the target
// another environment than the translator's and so another stack.
type Launched struct{ l *launched }

// Launch starts the launcher stage of o.Path. The process waits; seize it now,
// or not at all, and call Proceed.
func Launch(o *Options) (*Launched, error) {
	l, err := launch(o, false)
	if err != nil {
		return nil, err
	}
	return &Launched{l}, nil
}

// PID is the process's id.
func (l *Launched) PID() int { return l.l.pid }

// Proceed lets the launcher execute the target.
func (l *Launched) Proceed() error { return l.l.proceed() }

// ExecError returns why the target could not be executed, nil if it was. It
// blocks until the launcher has executed the target or ended.
func (l *Launched) ExecError() error { return l.l.execErrno() }
