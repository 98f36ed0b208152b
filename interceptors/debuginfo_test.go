package interceptors

import (
	"debug/dwarf"
	"encoding/binary"
	"testing"

	"alleria/internal/debuginfo"
)

// The abbreviations of FuzzDescribed's entries: tag, whether there are children, attributes with their forms.
const (
	aUnit, aStruct, aMember, aTypedef, aArray, aRange, aFunction, aParameter, aPointer, aBase, aUnion = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	formRef4, formData1                                                                               = 0x13, 0x0b
)

// abbrevs are they, as a file has them.
func abbrevs() (b []byte) {
	const yes, no = 1, 0
	for _, a := range [][]byte{
		{aUnit, 0x11, yes}, {aStruct, 0x13, yes, 0x0b, formData1}, {aMember, 0x0d, no, 0x49, formRef4, 0x38, formData1}, {aTypedef, 0x16, no, 0x49, formRef4},
		{aArray, 0x01, yes, 0x49, formRef4}, {aRange, 0x21, no, 0x37, formData1}, {aFunction, 0x2e, yes}, {aParameter, 0x05, no, 0x49, formRef4},
		{aPointer, 0x0f, no, 0x49, formRef4}, {aBase, 0x24, no, 0x0b, formData1, 0x3e, formData1}, {aUnion, 0x17, yes, 0x0b, formData1},
	} {
		b = append(append(b, a...), 0, 0)
	}
	return append(b, 0)
}

// unit puts entries into a unit.
func unit(entries []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(entries)+7))
	return append(append(b, 4, 0, 0, 0, 0, 0, 8), entries...)
}

// ref is a reference to the entry at an offset in the unit.
func ref(at int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(at)) }

// function is a unit with a function whose parameter is of the type at the first of the entries behind it, which is at firstType.
func function(entries ...byte) []byte {
	b := append([]byte{aUnit, aFunction, aParameter}, ref(firstType)...)
	return append(append(b, 0), append(entries, 0)...)
}

const firstType = 11 + 1 + 1 + 5 + 1

// FuzzDescribed takes damaged debug information: types that lie within themselves, or have anything for a size, end no process, and what comes of them readers take.
func FuzzDescribed(f *testing.F) {
	record := func(kind byte, members ...byte) []byte { return append(append([]byte{kind, 8}, members...), 0) }
	f.Add(function(record(aStruct, append(append([]byte{aMember}, ref(firstType)...), 0)...)...), 2) // it holds itself
	f.Add(function(append([]byte{aTypedef}, ref(firstType)...)...), 2)                               // a typedef that leads to itself
	f.Add(function(append(append([]byte{aArray}, ref(firstType)...), aRange, 9, 0)...), 2)           // an array of itself
	f.Add(function(append([]byte{aPointer}, ref(firstType)...)...), 3)                               // a pointer to itself
	f.Add(function(record(aUnion, append(append(append(append([]byte{aMember}, ref(firstType+14)...), 0, aMember), ref(firstType+14)...), 0)...)...), 1)
	f.Add(function(append(record(aUnion, append(append(append(append([]byte{aMember}, ref(firstType+15)...), 0, aMember), ref(firstType+15)...), 4)...), aBase, 4, encSigned)...), 1)
	f.Fuzz(func(t *testing.T, entries []byte, depth int) {
		data, err := dwarf.New(abbrevs(), nil, nil, unit(entries), nil, nil, nil, nil)
		if err != nil {
			return
		}
		c, info := NewCompiler(), debuginfo.Of(data)
		r := data.Reader()
		for range 100 {
			e, err := r.Next()
			if err != nil || e == nil {
				break
			}
			if e.Tag != dwarf.TagSubprogram {
				continue
			}
			if p, err := c.Described(info, e, depth&3); err == nil {
				_, _ = c.Compile(p)
			}
		}
		if err := c.Table.Check(); err != nil {
			t.Error(err)
		}
	})
}
