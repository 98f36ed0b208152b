package calls

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"alleria/internal/errno"
)

// How is how something of a call was changed while the program ran. The numbers are the file's.
type How uint8

// The ways.
const (
	Replaced How = iota // the value itself
	Contents            // bytes of what a pointer leads to
	Failed              // the function was not executed; New is the error
	Told                // nothing was: the function has failed, and New is errno
)

// Change is one change that was made of a call.
type Change struct {
	Param    int32 // index in Signature.Params, or ResultParam
	How      How
	Bytes    uint8  // of Old and New that mean something, 1 to 8
	Offset   uint64 // Contents: where they are in what the pointer leads to
	Old, New uint64
	AtReturn bool // not at entry
}

// changeWords is how many words a change takes in front of a record's values.
const changeWords = 4

// changesOf takes the changes off the words of a record.
func changesOf(words []uint64) ([]Change, []uint64, error) {
	if len(words) == 0 || words[0] > uint64(len(words)-1)/changeWords {
		return nil, nil, fmt.Errorf("changes of a call: %w", ErrCorrupt)
	}
	n := words[0]
	words = words[1:]
	out := make([]Change, 0, n)
	for range n {
		c := Change{Param: int32(words[0]), How: How(words[0] >> 32), Bytes: uint8(words[0] >> 40), Offset: words[1], Old: words[2], New: words[3]}
		if c.How > Told || c.Bytes > 8 {
			return nil, nil, fmt.Errorf("change of a call %#x: %w", words[0], ErrCorrupt)
		}
		out, words = append(out, c), words[changeWords:]
	}
	return out, words, nil
}

// Failed is the error with which a call was made to fail, 0: it was executed.
func (c *Call) Failed() uint32 {
	for _, ch := range c.Changes {
		if ch.How == Failed {
			return uint32(ch.New)
		}
	}
	return 0
}

// Errno is the C library's error number of a call that has failed by itself; 0: it has not, or is none of a function of which that is known.
func (c *Call) Errno() uint32 {
	for _, ch := range c.Changes {
		if ch.How == Told {
			return uint32(ch.New)
		}
	}
	return 0
}

// ErrorName is the name of an error number, or the number where it has none.
func ErrorName(number uint32) string {
	if name := errno.Name(number); name != "" {
		return name
	}
	return strconv.FormatUint(uint64(number), 10)
}

// ErrorText words an error number.
func ErrorText(errno uint32) string { return syscall.Errno(errno).Error() }

// Was is the value of a parameter at entry, or of the result, before it was replaced; false: it was not.
func (c *Call) Was(a *Argument) (Value, bool) {
	if a.Extra > 0 {
		return Value{}, false
	}
	for _, ch := range c.Changes {
		if ch.How == Replaced && ch.Param == a.Param {
			b := binary.LittleEndian.AppendUint64(nil, ch.Old)
			v := Value{Table: a.Value.Table, Type: a.Value.Type, Data: b[:min(int(a.Value.Table.Type(a.Value.Type).Size), 8)]}
			return v, true
		}
	}
	return Value{}, false
}

// appendWas appends what was changed of an argument at a moment.
func (f Format) appendWas(dst []byte, c *Call, a *Argument, atReturn bool) []byte {
	if v, ok := c.Was(a); ok && atReturn == (a.Param == ResultParam) {
		dst = append(dst, " [was "...)
		if v.Table.Type(v.Type).Kind == Pointer {
			dst = appendAddress(dst, v.Uint())
		} else {
			dst = f.Append(dst, v)
		}
		dst = append(dst, ']')
	}
	for _, ch := range c.Changes {
		if ch.How == Contents && ch.AtReturn == atReturn && ch.Param == a.Param && a.Extra == 0 {
			dst = fmt.Appendf(dst, " [byte %d was 0x%0*x, is 0x%0*x]", ch.Offset, 2*ch.Bytes, ch.Old, 2*ch.Bytes, ch.New)
		}
	}
	return dst
}

// appendFailed appends why a call has failed, and whether it was made to.
func (c *Call) appendFailed(dst []byte) []byte {
	made := c.Failed()
	if e := max(c.Errno(), made); e != 0 {
		text := ErrorText(e)
		dst = append(append(dst, ' '), ErrorName(e)...)
		dst = append(append(append(append(dst, " ("...), strings.ToUpper(text[:1])...), text[1:]...), ')')
	}
	if made != 0 {
		dst = append(dst, " [made to fail]"...)
	}
	return dst
}
