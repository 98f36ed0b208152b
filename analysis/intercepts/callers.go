package intercepts

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"alleria/abp"
	"alleria/analysis"
	"alleria/internal/symbols"
)

// Callers names return addresses, by the symbols of the images that they lie in. It remembers its answers.
type Callers struct {
	cache  *symbols.Cache
	images map[*abp.Image]*symbols.Image // nil: no file that fits
	finder map[*abp.Process]func(uint64) *abp.Image
	names  map[caller]string
}

type caller struct {
	p    *abp.Process
	addr uint64
}

// NewCallers opens nothing yet.
func NewCallers() *Callers {
	return &Callers{symbols.NewCache(symbols.Options{Fetcher: symbols.FetcherFromEnv()}), make(map[*abp.Image]*symbols.Image),
		make(map[*abp.Process]func(uint64) *abp.Image), make(map[caller]string)}
}

// Close closes the images.
func (c *Callers) Close() { _ = c.cache.Close() } // read only

// Name is the function that a return address lies in, with the offset: main+0x1f. The call is the instruction before.
func (c *Callers) Name(p *abp.Process, ret uint64) string {
	key := caller{p, ret}
	if s, ok := c.names[key]; ok {
		return s
	}
	s := c.name(p, ret)
	c.names[key] = s
	return s
}

func (c *Callers) name(p *abp.Process, ret uint64) string {
	find := c.finder[p]
	if find == nil {
		find = analysis.NewPlaces(p).ImageAt
		c.finder[p] = find
	}
	img := find(ret - 1)
	if img == nil {
		return fmt.Sprintf("%#x", ret)
	}
	if im := c.open(img); im != nil {
		if fn := im.Lookup(ret - 1 - img.Base); fn != nil && len(fn.Aliases) > 0 {
			return fmt.Sprintf("%s+%#x", fn.Name(), ret-img.Base-fn.Addr)
		}
	}
	return fmt.Sprintf("%s+%#x", filepath.Base(img.Path), ret-img.Base)
}

// open opens the file of an image, nil if it is not there or another one by now.
func (c *Callers) open(img *abp.Image) *symbols.Image {
	im, known := c.images[img]
	if !known {
		if opened, err := c.cache.Open(img.Path); err == nil && (len(img.BuildID) == 0 || opened.BuildID == hex.EncodeToString(img.BuildID)) {
			im = opened
		}
		c.images[img] = im
	}
	return im
}
