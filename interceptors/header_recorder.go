//go:build recorder

package interceptors

import (
	"errors"
	"fmt"
)

// This stands for header.go in the form of the command that only runs programs (cmd/alleria/recorder.go): the library that reads C takes longer to initialise itself than all of
// ours. Where a header is named the whole command is executed before this is called.

// Declarations are files that somebody gave, which declare functions. They belong to one goroutine, and any number of
// Compilers may use them.
type Declarations struct{ Prototypes }

// cKey stands for types of C, of which there are none.
type cKey struct{}

// Header refuses to read a C file.
func (c *Declarations) Header(path string) error {
	return fmt.Errorf("%s: C headers: %w", path, errors.ErrUnsupported)
}

// declared is what headers say of a function: nothing.
func (c *Compiler) declared([]string, int) *Prototype { return nil }
