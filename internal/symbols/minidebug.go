package symbols

import (
	"bytes"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

const (
	// maxMiniDebug bounds what .gnu_debugdata may unpack to. Fedora's largest
	// are a few megabytes; a damaged or hostile one could be anything.
	maxMiniDebug = 256 << 20
	// maxXZDict is the largest dictionary that the section is unpacked with;
	// xz -9 needs 64 MiB.
	maxXZDict = 64 << 20
)

// miniDebug reads the symbol table that Fedora and its relatives pack into
// stripped binaries: an ELF file with only a .symtab of what .dynsym lacks.
func (im *Image) miniDebug() ([]symbol, error) {
	s, ok := im.section(".gnu_debugdata")
	if !ok {
		return nil, nil
	}
	packed, err := im.contents(s)
	if err != nil {
		return nil, err
	}
	if dict := xzDictionary(packed); dict > maxXZDict {
		return nil, fmt.Errorf("%s: .gnu_debugdata wants a dictionary of %d bytes: %w", im.Name, dict, errTruncated)
	}
	// Unpacked into memory and dropped again: names are copies, and a temporary
	// file would have to be cleaned up after a crash.
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: unpack .gnu_debugdata: %w", im.Name, err)
	}
	b, err := io.ReadAll(io.LimitReader(r, maxMiniDebug+1))
	if err != nil || len(b) > maxMiniDebug {
		return nil, fmt.Errorf("%s: unpack .gnu_debugdata: %w", im.Name, err)
	}
	mini, err := newImage(source{r: bytes.NewReader(b), size: int64(len(b))}, im.Name+" (.gnu_debugdata)", Options{})
	if err != nil {
		return nil, err
	}
	return im.symbolsOf(mini, ".symtab", MiniDebug)
}

// xzDictionary finds the dictionary size in the header of the first block, 0
// where the header is not understood (the unpacker then says why). It is looked
// up beforehand because the unpacker allocates whatever the header asks for.
func xzDictionary(b []byte) uint64 {
	c := cursor{b: b}
	// Only the first block is looked at. xz makes several only for large inputs with
	// threads, and then all have the same filter.
	c.take(12 + 1) // stream header, size of the block header
	flags := c.u8()
	if flags&0x40 != 0 {
		c.uleb() // compressed size
	}
	if flags&0x80 != 0 {
		c.uleb() // uncompressed size
	}
	for range int(flags&3) + 1 {
		id, size := c.uleb(), c.uleb()
		props := c.take(size)
		// The size is coded as 2 or 3 shifted left (xz file format, 5.3.1).
		if id == 0x21 && size == 1 && len(props) == 1 { // LZMA2
			bits := uint64(props[0])
			if bits >= 40 {
				return 1<<32 - 1
			}
			return (2 | bits&1) << (bits/2 + 11)
		}
	}
	return 0
}
