//go:build recorder

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// This is the command without all that a recording does not need: what reads profiles, libraries of other tools' formats, and the reader of C headers. A third of
// what a start of the whole takes is these libraries' initialisation and pages, also where none of them is used. Everything else is done by the whole command, which is
// executed in this one's place and lies beside it.
//
// Refused: to cut imports alone, since what initialises itself are libraries within libraries; to load these parts at run time (plugins), for
// which everything would be linked at each start.

// elsewhere executes the whole command where the line asks for something that is not in here. It returns where the line is for this one, or with an error.
func elsewhere(args []string) error {
	if isForRecorder(args) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return &statusError{statusOwn, fmt.Errorf("this program's own file: %w", err)}
	}
	whole := self + wholeSuffix
	runtime.LockOSThread()
	sys.OwnSlack() // the whole command inherits the thread's
	err = syscall.Exec(whole, os.Args, os.Environ())
	return &statusError{statusOwn, fmt.Errorf("this needs %s in %s, beside %s, which only runs programs; \"make build\" makes both: %w",
		filepath.Base(whole), filepath.Dir(whole), filepath.Base(self), err)}
}

// isForRecorder tells whether a command line is one for this form: a command of its own, with the root's flags in front of it at most, and without C headers.
// What is meant for the traced program may look like one, and costs the start of the other form then.
func isForRecorder(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--log":
			i++
		case arg == "-q" || arg == "--quiet" || strings.HasPrefix(arg, "--log="):
		default:
			return slices.Contains([]string{"record", "tree", "version"}, arg) &&
				!slices.ContainsFunc(args[i:], func(a string) bool { return a == "--header" || strings.HasPrefix(a, "--header=") })
		}
	}
	return false
}

// fetcher is what commands of the whole form look for debug files with.
func fetcher() symbols.Fetcher { return nil }

// subcommands makes the commands, each by its name.
func (a *app) subcommands(*cobra.Command) []subcommand {
	return []subcommand{{"record", a.recordCommand}, {"tree", a.treeCommand}, {"version", a.versionCommand}}
}
