package diskcache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The bounds that a folder has where nothing else is said.
const (
	DefaultMost      = 512 << 20 // bytes of all entries
	DefaultMostEntry = 128 << 20 // of one
)

// Dir is a folder of entries. Its methods may be called by several goroutines.
type Dir struct {
	path      string
	Most      int64 // bytes of all entries
	MostEntry int64 // of one
	Alone     bool  // nobody helps who reads an entry
	Small     bool  // no large pages for what is read
}

// ErrRefused means that a folder is not the user's alone, or that the process has other rights than who started it.
var ErrRefused = errors.New("not the user's alone")

// DefaultPath is where the user's folder is: $XDG_CACHE_HOME/alleria, else ~/.cache/alleria.
func DefaultPath() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder for what is kept between runs: %w", err)
	}
	return filepath.Join(dir, "alleria"), nil
}

// Open opens a folder, and makes it where it is missing.
func Open(path string) (*Dir, error) {
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return nil, fmt.Errorf("%s: %w: the command runs with another user's or group's rights", path, ErrRefused)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("folder for what is kept between runs: %w", err)
	}
	return open(path)
}

// OpenExisting opens a folder; the error is fs.ErrNotExist where there is none.
func OpenExisting(path string) (*Dir, error) { return open(path) }

func open(path string) (*Dir, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("folder for what is kept between runs: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: %w: it is not a directory itself", path, ErrRefused)
	}
	if !ours(info) {
		return nil, fmt.Errorf("%s: %w: it is to belong to the user and to have mode 0700", path, ErrRefused)
	}
	return &Dir{path: path, Most: DefaultMost, MostEntry: DefaultMostEntry}, nil
}

// ours tells whether a file belongs to the user and nobody else can read or write it.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// Path is where the folder is.
func (d *Dir) Path() string { return d.path }

// suffix is that of entries, and begun of files that become some.
const (
	suffix = ".entry"
	begun  = "begun-"
)

// staleAfter is when a file that was begun belongs to nobody any more: its writer was killed.
const staleAfter = time.Hour

// Listed is an entry as List finds it.
type Listed struct {
	Key, About string
	Size       int64
	Used       time.Time
	name       string
}

// List returns the entries that can be read, those that were used last first.
func (d *Dir) List() ([]Listed, error) {
	var list []Listed
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	for _, l := range files {
		if key, about, err := d.readTexts(l.name); err == nil {
			l.Key, l.About = key, about
			list = append(list, l)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// files returns the entries' files, those that were not used for longest first. What was begun long ago is removed.
func (d *Dir) files() ([]Listed, error) {
	all, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("list what is kept: %w", err)
	}
	var list []Listed
	for _, e := range all {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() { // removed meanwhile
			continue
		}
		switch {
		case strings.HasPrefix(e.Name(), begun) && time.Since(info.ModTime()) > staleAfter:
			_ = os.Remove(filepath.Join(d.path, e.Name()))
		case strings.HasSuffix(e.Name(), suffix):
			list = append(list, Listed{Size: info.Size(), Used: info.ModTime(), name: e.Name()})
		}
	}
	slices.SortStableFunc(list, func(a, b Listed) int { return a.Used.Compare(b.Used) })
	return list, nil
}

// evict removes what was not used for longest until the rest is within the bound.
func (d *Dir) evict() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	all := int64(0)
	for _, l := range files {
		all += l.Size
	}
	for _, l := range files {
		if all <= d.Most {
			break
		}
		if err := d.remove(l.name); err != nil {
			return err
		}
		all -= l.Size
	}
	return nil
}

// Clear removes all entries, and says how many there were and how large.
func (d *Dir) Clear() (n int, bytes int64, err error) {
	files, err := d.files()
	for _, l := range files {
		if err = d.remove(l.name); err != nil {
			break
		}
		n, bytes = n+1, bytes+l.Size
	}
	return n, bytes, err
}

// remove removes a file, which another process may have done meanwhile.
func (d *Dir) remove(name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is kept: %w", err)
	}
	return nil
}
