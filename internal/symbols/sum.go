package symbols

import (
	"encoding/binary"
	"hash/crc64"
	"math"
)

// Sum is a number that tells the image's table of functions from others: all bounds and names are in it, wherever those come from.
// Of a table that an earlier run has left it is known without the table.
func (im *Image) Sum() uint64 {
	if kept := im.keptTable(); kept != nil {
		return binary.LittleEndian.Uint64(kept)
	}
	im.Functions()
	im.sumOnce.Do(func() { im.sum = im.sumUp() })
	return im.sum
}

// NumFunctions is how many functions the table has, known as Sum is.
func (im *Image) NumFunctions() int {
	if kept := im.keptTable(); kept != nil {
		return int(min(binary.LittleEndian.Uint64(kept[8:]), math.MaxInt32))
	}
	return len(im.Functions())
}

// sumUp makes the sum.
func (im *Image) sumUp() uint64 {
	h, table := uint64(0), crc64.MakeTable(crc64.ECMA)
	fns := im.fns
	b := make([]byte, 0, 1<<12)
	for i := range fns {
		f := &fns[i]
		b = binary.LittleEndian.AppendUint64(b, f.Addr)
		b = binary.LittleEndian.AppendUint64(b, f.Size)
		for k := range f.Aliases {
			b = append(append(b, f.Aliases[k].Linked...), 0)
		}
		b = append(b, 0)
		if len(b) > 1<<11 {
			h, b = crc64.Update(h, table, b), b[:0]
		}
	}
	return crc64.Update(h, table, b)
}

// Index is the place of a function of the image in Functions.
func (im *Image) Index(f *Function) int {
	im.Functions() // f may have been found without them
	return im.index(f)
}
