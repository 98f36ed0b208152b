package emit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/internal/sys"
)

// Errors of output directories. NewRun wraps them; each is the user's to put right.
var (
	// ErrExists: the output directory holds something already.
	ErrExists = errors.New("output exists")
	// ErrForeign: what would be replaced was not written by a run, or is no directory.
	ErrForeign = errors.New("not the output of a run")
	// ErrRunning: a recording that has not ended is written there.
	ErrRunning = errors.New("a recording is being written there")
)

// Files of a directory that are told by their names.
const (
	configName = "alleria.config" // a directory may hold it and still count as new
	usedConfig = "window.xml"     // the configuration as used, beside run.json
)

// prepareDir makes a directory, or takes one that holds nothing but a
// configuration. With force the files of an earlier run are removed, and
// nothing else: a mistyped path must not cost more than that.
//
// Everything is looked at before anything is removed, so that a directory which is
// refused stays as it was. The directory is locked: run.json does not tell a run that is being recorded from one whose recorder
// was killed.
func prepareDir(dir string, force bool) (lock *os.File, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: %w", dir, ErrForeign)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, ok, err := sys.TryLockFolder(dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrRunning)
	}
	if err := clearDir(dir, force); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// clearDir removes from a directory what an earlier run has written.
func clearDir(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Name() != configName {
			names = append(names, e.Name())
		}
	}
	if len(names) > 0 && !force {
		return fmt.Errorf("%s: %w", dir, ErrExists)
	}
	old, err := earlier(dir, names)
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// earlier returns which of a directory's entries an earlier run wrote, and
// ErrForeign, wrapped, where somebody else's has a name that this run needs.
//
// Names alone don't tell: a configuration is often called window.xml by the one who
// wrote it, and the first of many directories p1. So the former is a run's only beside run.json, the latter
// only with nothing but profiles in it. The second disk of a run has no run.json.
func earlier(dir string, names []string) ([]string, error) {
	ran := slices.Contains(names, abp.RunFile)
	var old []string
	for _, name := range names {
		switch {
		case name == abp.RunFile, name == usedConfig && ran, name == abp.AdaptiveFile && ran:
		case name == usedConfig:
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), ErrForeign)
		case processDir(name):
			if err := onlyProfiles(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		default:
			continue
		}
		old = append(old, name)
	}
	return old, nil
}

// processDir tells whether a process's directory could have this name.
func processDir(name string) bool {
	number, ok := strings.CutPrefix(name, "p")
	number, _, _ = strings.Cut(number, ".") // further programs of the process
	_, err := strconv.ParseUint(number, 10, 32)
	return ok && err == nil
}

// analysisFile tells whether the result of an analysis beside the program could have this name, or one that a run was killed over.
func analysisFile(name string) bool {
	if rest, ok := strings.CutPrefix(name, "."); ok {
		name = strings.TrimSuffix(rest, ".new")
	}
	return strings.HasPrefix(name, "analysis-") && filepath.Ext(name) == ".json"
}

// onlyProfiles returns ErrForeign, wrapped, for what is not a directory of profiles.
func onlyProfiles(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	for _, f := range files {
		if f.IsDir() || filepath.Ext(f.Name()) != filepath.Ext(abp.MainFile) && !analysisFile(f.Name()) {
			return fmt.Errorf("%s: %w", filepath.Join(dir, f.Name()), ErrForeign)
		}
	}
	return nil
}
