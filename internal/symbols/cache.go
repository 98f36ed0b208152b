package symbols

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// fileKey identifies a file's contents well enough: a rebuilt program has
// another inode or another time.
type fileKey struct {
	dev, ino uint64
	size     int64
	mtime    int64
}

// Cache keeps images open, so that all processes of a tree share one C library.
// Failures are kept too: a mapped data file would otherwise be opened with every
// look at a process's maps.
// Memory goes with the number of different files; images are only closed all
// together, since any Loaded may still refer to them.
type Cache struct {
	opts Options

	mu     sync.Mutex
	images map[fileKey]cached // guarded by mu
}

// cached is an image or the reason why there is none.
type cached struct {
	image *Image
	err   error
}

// NewCache makes an empty cache.
func NewCache(opts Options) *Cache {
	return &Cache{opts: opts, images: make(map[fileKey]cached)}
}

// Open gives the image of a file, the same for every path to it. The image
// belongs to the cache: it must not be closed by the caller.
func (c *Cache) Open(path string) (*Image, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	return c.open(path, st)
}

// open is Open of a file that has been looked at.
func (c *Cache) open(path string, st os.FileInfo) (*Image, error) {
	key := fileKey{size: st.Size(), mtime: st.ModTime().UnixNano()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		key.dev, key.ino = sys.Dev, sys.Ino
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Opening reads a few hundred bytes, so that holding the mutex is cheaper
	// than letting two goroutines open the same file.
	e, ok := c.images[key]
	if !ok {
		e.image, e.err = OpenWith(path, c.opts)
		c.images[key] = e
	}
	return e.image, e.err
}

// Keep leaves tables of functions that were made to later runs, in Options.Kept.
// It returns the first error: a run without them is as good.
func (c *Cache) Keep() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first error
	for _, e := range c.images {
		if e.image == nil || c.opts.Kept == nil {
			continue
		}
		if err := e.image.keep(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Made says of how many images the table of functions was taken from an earlier run, and of how many it was made.
func (c *Cache) Made() (taken, made int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.images {
		switch {
		case e.image == nil || !e.image.made.Load():
		case e.image.isKept:
			taken++
		default:
			made++
		}
	}
	return taken, made
}

// Close closes all images.
// It returns the first error; the others would be the same.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first error
	for key, e := range c.images {
		if e.image != nil {
			if err := e.image.Close(); err != nil && first == nil {
				first = err
			}
		}
		delete(c.images, key)
	}
	return first
}
