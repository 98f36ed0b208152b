package intercepts

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis"
	"alleria/internal/symbols"
)

// Callers names return addresses, by the symbols of the images that they lie in. It remembers its answers.
type Callers struct {
	cache  *symbols.Cache
	images map[*abp.Image]*symbols.Image // nil: no file that fits
	finder map[*abp.Process]func(uint64) *abp.Image
	names  map[caller]string
	starts map[*calls.Signature]bool
}

type caller struct {
	p    *abp.Process
	addr uint64
}

// NewCallers opens nothing yet. fetcher, which may be nil, gets separate debug files.
func NewCallers(fetcher symbols.Fetcher) *Callers {
	return &Callers{symbols.NewCache(symbols.Options{Fetcher: fetcher}), make(map[*abp.Image]*symbols.Image),
		make(map[*abp.Process]func(uint64) *abp.Image), make(map[caller]string), make(map[*calls.Signature]bool)}
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

// Of names the caller of a call; empty: it has none. The first instruction of a program, or of its dynamic linker, is come to from the kernel, and where others
// find a return address the number of arguments lies.
func (c *Callers) Of(i *Item) string {
	is, known := c.starts[i.Call.Sig]
	if !known {
		is = c.isStart(i)
		c.starts[i.Call.Sig] = is
	}
	if is && c.imageAt(i.Process, i.Call.Caller-1) == nil {
		return ""
	}
	return c.Name(i.Process, i.Call.Caller)
}

// isStart tells whether a call's function begins with the first instruction of an image.
func (c *Callers) isStart(i *Item) bool {
	if i.Call.Sig.Name == "_start" { // where the file is not there any more
		return true
	}
	img := c.imageAt(i.Process, i.Call.Sig.Addr)
	if img == nil {
		return false
	}
	im := c.open(img)
	return im != nil && im.Entry != 0 && im.Entry == i.Call.Sig.Addr-img.Base
}

// imageAt is the image that an address lies in; nil: none.
func (c *Callers) imageAt(p *abp.Process, addr uint64) *abp.Image {
	find := c.finder[p]
	if find == nil {
		find = analysis.NewPlaces(p).ImageAt
		c.finder[p] = find
	}
	return find(addr)
}

func (c *Callers) name(p *abp.Process, ret uint64) string {
	img := c.imageAt(p, ret-1)
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
