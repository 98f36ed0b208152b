// Command figures measures how large the parts of the source are, and holds them to limits.
//
// In a nutshell: it parses every Go file below a root, measures structs, functions and folders, and
// compares each with the limit of its kind. What is over the limit must stand in known.txt, with its
// figure of today; a figure there may become smaller and never larger. So what is too large can be cut
// piece by piece, and nothing else becomes so meanwhile. The directions of imports, which are
// internal/importcheck's, are held by the same call.
//
//	go run ./internal/figures          compare; "make lint" and CI do this
//	go run ./internal/figures -lower   write what has become smaller to known.txt
//	go run ./internal/figures -json    everything that was measured, as JSON
//
// Exit statuses: 0 all is within its limit, 1 something is not, 2 it could not be found out.
//
// Parsing is enough: nothing is built and no type is looked up (go/ast alone). The refused
// alternative, one of the linters for complexity, knows no list of today's figures that only shrinks, and has
// neither fields of structs nor files of a folder. Tests are not measured: a table of cases may be long. It
// judges size only, not whether something is well cut.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"alleria/internal/importcheck"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its surroundings: the arguments behind the name, and where to write.
func run(args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("figures", flag.ContinueOnError)
	fl.SetOutput(stderr)
	root := fl.String("root", ".", "`folder` of the module")
	list := fl.String("known", "", "`file` of what is over its limit (internal/figures/known.txt below the root)")
	lower := fl.Bool("lower", false, "write figures that have become smaller to the list")
	asJSON := fl.Bool("json", false, "print everything that was measured, as JSON")
	if err := fl.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0
		}
		return 2
	}
	if *list == "" {
		*list = filepath.Join(*root, "internal", "figures", "known.txt")
	}
	ok, err := hold(*root, *list, *lower, *asJSON, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "figures:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

// hold measures, compares and prints.
func hold(root, list string, lower, asJSON bool, out io.Writer) (ok bool, err error) {
	all, err := measure(root)
	if err != nil {
		return false, err
	}
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return true, e.Encode(all)
	}
	known, err := readKnown(list)
	if err != nil {
		return false, err
	}
	imports, err := importcheck.Check(root)
	if err != nil {
		return false, err
	}
	summary(out, all, len(imports))
	for _, v := range imports {
		fmt.Fprintln(out, v)
	}
	j := judge(all, known)
	if lower {
		if err := writeKnown(list, j.now); err != nil {
			return false, err
		}
		j.smaller = nil
	}
	for _, m := range append(j.larger, j.smaller...) {
		fmt.Fprintln(out, m)
	}
	return len(j.larger)+len(j.smaller)+len(imports) == 0, nil
}
