package calls

import (
	"encoding/binary"
	"testing"
)

// TestEnumText writes values that have names, that are sets of bits, and that have none.
func TestEnumText(t *testing.T) {
	names := func(n ...Const) []Const { return n }
	plain := names(Const{"RED", 1}, Const{"GREEN", 2}, Const{"MINUS", -100})
	open := names(Const{"", 3}, Const{"O_RDONLY", 0}, Const{"", 3}, Const{"O_WRONLY", 1}, Const{"", 3}, Const{"O_RDWR", 2}, Const{"O_CREAT", 0x40}, Const{"O_SYNC", 0x101000}, Const{"O_DSYNC", 0x1000})
	prot := names(Const{"PROT_NONE", 0}, Const{"PROT_READ", 1}, Const{"PROT_WRITE", 2})
	for _, c := range []struct {
		names []Const
		count uint64
		value int32
		want  string
	}{
		{plain, 0, 1, "RED"}, {plain, 0, -100, "MINUS"}, {plain, 0, 3, "RED|GREEN"}, {plain, 0, 5, "5"}, {plain, 0, 0, "0"}, {plain, 0, -7, "-7"},
		{open, EnumBits, 0, "O_RDONLY"}, {open, EnumBits, 0x41, "O_WRONLY|O_CREAT"}, {open, EnumBits, 0x40, "O_RDONLY|O_CREAT"}, {open, EnumBits, 0x101002, "O_RDWR|O_SYNC"}, {open, EnumBits, 0x1002, "O_RDWR|O_DSYNC"},
		{open, EnumBits, 0x40000042, "O_RDWR|O_CREAT|0x40000000"}, {open, EnumBits, 3, "0x3"}, {open, EnumBits, -1, "O_CREAT|O_SYNC|0xffefefbf"},
		{prot, EnumBits, 0, "PROT_NONE"}, {prot, EnumBits, 3, "PROT_READ|PROT_WRITE"}, {nil, EnumBits, 0, "0"}, {nil, EnumBits, 9, "0x9"},
		{nil, EnumOctal, 0o644, "0644"}, {nil, EnumOctal, 0, "0"}, {nil, EnumHex, 255, "0xff"}, {nil, EnumHex, 0, "0"},
	} {
		table := &Table{}
		id := table.Add(Type{Kind: Enum, Name: "e", Size: 4, Align: 4, Elem: table.Add(Type{Kind: Signed, Size: 4}), Count: c.count, Names: c.names})
		v := Value{Table: table, Type: id, Data: binary.LittleEndian.AppendUint32(nil, uint32(c.value))}
		if got := string(Format{}.Append(nil, v)); got != c.want {
			t.Errorf("%d (%d): %s, want %s", c.value, c.count, got, c.want)
		}
	}
}

// TestUnreadMode: the mode of a file is shown where open reads it.
func TestUnreadMode(t *testing.T) {
	table := &Table{}
	number := table.Add(Type{Kind: Signed, Size: 4})
	open := table.Add(Type{Kind: Enum, Size: 4, Elem: number, Count: EnumBits, Names: []Const{{"O_WRONLY", 1}, {"O_CREAT", 0x40}}})
	other := table.Add(Type{Kind: Enum, Size: 4, Elem: number, Count: EnumBits, Names: []Const{{"F_OK", 0}}})
	mode := table.Add(Type{Kind: Enum, Size: 4, Elem: number, Count: EnumOctal})
	value := func(of TypeID, n uint32) *Value {
		return &Value{Table: table, Type: of, Data: binary.LittleEndian.AppendUint32(nil, n)}
	}
	for _, c := range []struct {
		first, second *Value
		want          bool
	}{
		{value(open, 1), value(mode, 0o644), true}, {value(open, 0x41), value(mode, 0o644), false}, {value(open, 0x410000), value(mode, 0o600), false},
		{value(other, 0), value(mode, 0o644), false}, {value(open, 0), value(number, 7), false}, {&Value{Table: table, Type: open}, value(mode, 0), false},
	} {
		if got := unread(c.first, c.second); got != c.want {
			t.Errorf("%x, %x: %t", c.first.Data, c.second.Data, got)
		}
	}
}
