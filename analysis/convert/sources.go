package convert

import (
	"encoding/hex"
	"strings"

	"alleria/abp"
	"alleria/internal/symbols"
)

// sources finds lines and inlined functions in the images that a profile names.
type sources struct {
	cache  *symbols.Cache
	images map[imageKey]*symbols.Image // nil: it cannot be used
	note   func(format string, args ...any)
}

// imageKey is a version of a file.
type imageKey struct{ path, buildID string }

func newSources(o *Options) *sources {
	return &sources{symbols.NewCache(symbols.Options{}), map[imageKey]*symbols.Image{}, o.Note}
}

// close closes the images. Nothing was written to them, so that nothing is lost by an error.
func (s *sources) close() { _ = s.cache.Close() }

// open returns the file of an image, nil where it is none, or another one than was recorded.
func (s *sources) open(img *abp.Image) *symbols.Image {
	if img == nil || !strings.HasPrefix(img.Path, "/") {
		return nil
	}
	k := imageKey{img.Path, hex.EncodeToString(img.BuildID)}
	im, known := s.images[k]
	if known {
		return im
	}
	im, err := s.cache.Open(img.Path)
	switch {
	case err != nil:
		im = nil
		s.note("no source lines of %s: %v", img.Path, err)
	case im.BuildID != k.buildID:
		im = nil
		s.note("no source lines of %s: it is not the file that was recorded (its build-id differs)", img.Path)
	}
	s.images[k] = im
	return im
}

// frames returns the inlined functions at an address, innermost first, and the function itself
// last; a frame without a line where nothing is known. The function's name is the profile's,
// since the debug information's lacks what the compiler made of it.
func (s *sources) frames(img *abp.Image, addr uint64, function, linked string) []symbols.Frame {
	last := symbols.Frame{Function: linked}
	if last.Function == "" {
		last.Function = function
	}
	im := s.open(img)
	if im == nil {
		return []symbols.Frame{last}
	}
	list, err := im.Frames(addr - img.Base)
	if err != nil || len(list) == 0 {
		return []symbols.Frame{last}
	}
	list[len(list)-1].Function = last.Function
	return list
}
