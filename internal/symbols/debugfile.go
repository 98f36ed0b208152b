package symbols

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoDebugInfo is a Fetcher's answer when it asked everybody and nobody has
// the file.
var ErrNoDebugInfo = errors.New("no debug information for this build-id")

// Fetcher gets separate debug files from somewhere else. Implementations may be
// called by several goroutines.
type Fetcher interface {
	// DebugInfo gives the path of the debug file for a build-id.
	DebugInfo(ctx context.Context, buildID string) (path string, err error)
}

// debugRoot is where Debian, Fedora and the rest install debug files.
const debugRoot = "/usr/lib/debug"

// debugImage opens the separate debug file of an image, nil when there is none.
// Order: by build-id in the debug directories, by .gnu_debuglink beside the
// image and in the debug directories, by the fetcher. The build-id goes first
// because it cannot be wrong; the fetcher last because it may use the network.
func (im *Image) debugImage() (*Image, error) {
	for _, path := range im.debugPaths() {
		if debug := im.openDebug(path); debug != nil {
			return debug, nil
		}
	}
	if im.BuildID == "" || im.opts.Fetcher == nil {
		return nil, nil
	}
	path, err := im.opts.Fetcher.DebugInfo(context.Background(), im.BuildID)
	if errors.Is(err, ErrNoDebugInfo) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("debug file of %s: %w", im.Name, err)
	}
	if debug := im.openDebug(path); debug != nil {
		return debug, nil
	}
	return nil, fmt.Errorf("debug file of %s: %s belongs to another build", im.Name, path)
}

// debugPaths lists where a debug file may be.
// The order is gdb's, so that both find the same file.
func (im *Image) debugPaths() []string {
	dirs := im.opts.DebugDirs
	if dirs == nil {
		dirs = []string{debugRoot}
	}
	var paths []string
	if len(im.BuildID) > 2 {
		for _, d := range dirs {
			paths = append(paths, filepath.Join(d, ".build-id", im.BuildID[:2], im.BuildID[2:]+".debug"))
		}
	}
	// The link's name is relative to where the image is, so one that was read from
	// memory or is known by a relative path alone has no place to start from.
	link, _ := im.debugLink()
	if link == "" || !filepath.IsAbs(im.Path) {
		return paths
	}
	for _, file := range im.realPaths() {
		dir := filepath.Dir(file)
		paths = append(paths, filepath.Join(dir, link), filepath.Join(dir, ".debug", link))
		for _, d := range dirs {
			paths = append(paths, filepath.Join(d, dir, link))
		}
	}
	return paths
}

// realPaths are the image's path as given and with links resolved: /lib is a
// link to /usr/lib, and debug packages install under one or the other.
func (im *Image) realPaths() []string {
	paths := []string{im.Path}
	if real, err := filepath.EvalSymlinks(im.Path); err == nil && real != im.Path {
		paths = append(paths, real)
	}
	return paths
}

// debugLink reads .gnu_debuglink: a file name, and the CRC-32 of that file.
func (im *Image) debugLink() (name string, sum uint32) {
	s, ok := im.section(".gnu_debuglink")
	if !ok || s.size > 4096 {
		return "", 0
	}
	b, err := im.contents(s)
	if err != nil {
		return "", 0
	}
	c := cursor{b: b}
	name = c.cstring()
	c.align(4)
	sum = c.u32()
	// A name with a directory in it would lead out of the debug directories.
	if c.bad || name == "" || strings.ContainsRune(name, '/') {
		return "", 0
	}
	return name, sum
}

// openDebug opens a candidate and checks that it belongs to the image: by the
// build-id where both have one, else by the checksum of the debug link.
// nil also for a file that cannot be read: the next candidate may do.
func (im *Image) openDebug(path string) *Image {
	// Most candidates don't exist; a stat is cheaper than a failing open with its
	// error value.
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	debug, err := OpenWith(path, Options{DebugDirs: im.opts.DebugDirs})
	if err != nil {
		return nil
	}
	// The checksum reads the whole file, 100 MB for a browser, so it is the last
	// resort; the build-id is the linker's word on the same question.
	match := debug.BuildID == im.BuildID
	if debug.BuildID == "" || im.BuildID == "" {
		_, sum := im.debugLink()
		match = debug.checksum() == sum
	}
	// An image is its own debug link's namesake when a debug directory is
	// misconfigured; opening it again would find nothing new.
	if !match || im.sameFile(debug) {
		debug.Close()
		return nil
	}
	return debug
}

// sameFile reports whether two images were opened from one file.
func (im *Image) sameFile(other *Image) bool {
	a, err := os.Stat(im.Path)
	if err != nil {
		return false
	}
	b, err := os.Stat(other.Path)
	return err == nil && os.SameFile(a, b)
}

// checksum is the CRC-32 of the whole file, which .gnu_debuglink states.
func (im *Image) checksum() uint32 {
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, io.NewSectionReader(im.src.r, 0, im.src.size)); err != nil {
		return 0
	}
	return h.Sum32()
}

// hasDebugLines reports whether the file has line tables of its own.
func (im *Image) hasDebugLines() bool {
	// .zdebug_ is how compressed sections were called before SHF_COMPRESSED; a
	// debug file's program sections are there as NOBITS and don't count.
	for _, s := range im.sections {
		if s.size > 0 && (s.name == ".debug_line" || s.name == ".zdebug_line") && s.kind != shtNoBits {
			return true
		}
	}
	return false
}

// shtNoBits is SHT_NOBITS.
const shtNoBits = 8
