package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/live"
	"alleria/internal/session"
)

// Exit statuses besides the target's own. 125 to 127 are what env, nohup and
// timeout use, so that scripts already know them.
//
// They are documented in the help of the root and in the user guide, and never change
// meaning. A target's own status may be one of them too; standard error tells which.
const (
	statusUsage     = 2
	statusOwn       = 125
	statusNotTraced = 126
	statusNotFound  = 127
)

// statusError is an error with the exit status that it decides. Without err the
// status is no failure of ours (the target's own) and nothing is printed.
type statusError struct {
	status int
	err    error
}

// Error implements error.
func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

// Unwrap gives the reason to errors.Is.
func (e *statusError) Unwrap() error { return e.err }

// usagef is an error in what the user wrote.
func usagef(format string, args ...any) error {
	return &statusError{statusUsage, fmt.Errorf(format, args...)}
}

// markOwnErrors gives what a command's RunE returns the status of a failure of
// ours, unless it has one. Whatever else Execute returns then comes from cobra,
// and is about usage: there is no type to tell it by.
func markOwnErrors(c *cobra.Command) {
	for _, below := range c.Commands() {
		markOwnErrors(below)
	}
	inner := c.RunE
	if inner == nil {
		return
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		err := inner(cmd, args)
		var known *statusError
		if err == nil || errors.As(err, &known) {
			return err
		}
		return &statusError{statusOf(err), err}
	}
}

// statusOf sorts the errors of a recording, and of reading one: what is damaged is not our failure.
func statusOf(err error) int {
	switch {
	case errors.Is(err, session.ErrNotFound):
		return statusNotFound
	case errors.Is(err, session.ErrCannotTrace):
		return statusNotTraced
	case errors.Is(err, session.ErrUsage):
		return statusUsage
	}
	for _, damaged := range []error{abp.ErrCorrupt, abp.ErrCutOff, abp.ErrNotProfile, abp.ErrVersion, calls.ErrCorrupt, live.ErrFormat} {
		if errors.Is(err, damaged) {
			return statusUsage
		}
	}
	return statusOwn
}

// status prints the error, if there is one to print, and returns its status.
// It is the only place that prints errors, so that each is printed once.
func (a *app) status(err error) int {
	if err == nil {
		return 0
	}
	var known *statusError
	if !errors.As(err, &known) {
		known = &statusError{statusUsage, err}
	}
	var place *located
	switch {
	case known.err == nil:
	case errors.As(known.err, &place):
		fmt.Fprintln(a.stderr, known.err)
	default:
		fmt.Fprintf(a.stderr, "alleria: %v\n", known.err)
	}
	return known.status
}
