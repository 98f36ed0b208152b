package main

import (
	"errors"
	"io/fs"
	"os"
)

// createFile opens a file to be written, which must be a new one unless force: one that exists is
// somebody's work. Devices and pipes are written to as they are.
func createFile(path string, force bool) (*os.File, error) {
	// Not asked beforehand whether a file exists: between question and answer somebody may make it.
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		how = os.O_WRONLY
	case force:
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, existing(path)
	}
	if err != nil {
		return nil, usagef("output: %w", err)
	}
	return file, nil
}

// isFile tells whether there is an ordinary file of that name.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// existing refuses to write over a file.
func existing(path string) error { return usagef("%s exists; --force replaces it", path) }
