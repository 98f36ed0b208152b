package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultName is the file that is looked for where none is named.
const DefaultName = "alleria.config"

// Find returns the configuration file to load: the explicit one if any, else
// alleria.config in the working directory, else in the output directory. Empty
// means that there is none and that Default applies. An explicit file is not
// looked at: that it is missing is for Load to say, never a reason to fall back.
func Find(explicit, workdir, outdir string) string {
	if explicit != "" {
		return explicit
	}
	// The working directory first: the output directory holds the copy of an earlier
	// run when it is used again.
	for _, dir := range []string{workdir, outdir} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, DefaultName)
		// A file that is there and cannot be read is still the one to load: falling
		// back to the default would record everything instead of an error.
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return path
		}
	}
	return ""
}

// Load reads and validates a file. The error, if any, is Errors, also when the
// file cannot be read; then there is no Config. Warnings come in either case.
func Load(path string) (*Config, []Warning, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	defer f.Close()
	// One byte beyond the limit tells Parse that there is more; a device or a
	// pipe without end must not be read to exhaustion.
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	return Parse(path, data)
}

// unreadable wraps a system error so that Load has one type of error only. The
// system's words are cut down to the reason: the path stands at the front of the
// line already.
func unreadable(path string, err error) Errors {
	right := "name a readable file"
	what := err
	var pe *fs.PathError
	if errors.As(err, &pe) {
		what = pe.Err
	}
	return Errors{{Pos: Pos{File: path}, What: "the configuration cannot be read: " + what.Error(), Right: right, Err: err}}
}

// Parse validates a configuration; name is what positions call the file. It
// returns a Config or an error, which is Errors, and never panics.
func Parse(name string, data []byte) (*Config, []Warning, error) {
	f := &faults{}
	// A Config comes out even of a faulty file, since the passes go on; it is dropped
	// here, so that nobody runs half of what was meant.
	c := parse(f, name, data)
	f.sort()
	if len(f.errs) > 0 {
		return nil, f.warns, f.errs
	}
	return c, f.warns, nil
}

// parse runs the passes. Each one needs what the one before vouches for: a tree
// needs well-formed text, the shape check a tree, and decoding a root of the
// right name. Between shape and decoding nothing stops it, so that a misspelt
// attribute does not hide a broken rule elsewhere.
func parse(f *faults, name string, data []byte) *Config {
	start := Pos{File: name, Line: 1, Col: 1}
	if len(data) > maxBytes {
		f.rule(start, fmt.Sprintf("the file is larger than %d MiB", maxBytes>>20), "a configuration is a short text written by hand")
		return nil
	}
	data, converted, err := toUTF8(data)
	if err != nil {
		f.rule(start, err.Error(), "save it as UTF-8")
		return nil
	}
	s := newScanner(name, data, f)
	s.converted = converted
	// What is not well-formed has no elements to check; the message is about the text.
	if !s.scan() {
		return nil
	}
	root, err := buildTree(s)
	if err != nil {
		f.rule(start, err.Error(), "the file must be well-formed XML")
		return nil
	}
	checkShape(f, root)
	if root.spec == nil {
		return nil
	}
	return (&decoder{faults: f}).config(root)
}
