package calls

import (
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
)

// TestChangedRecord takes a record with changes through a block, whose bytes are given, and hears of damaged ones.
func TestChangedRecord(t *testing.T) {
	table := &Table{}
	num := table.Add(Type{Kind: Signed, Name: "s4", Size: 4, Align: 4})
	slot := Slot{Param: 0, Type: num, Pieces: []Piece{{Bytes: 4}}}
	sig := &Signature{Number: 1, Name: "f", Params: []Param{{Name: "n", Type: num}}, Result: Param{Type: num}, Entry: []Slot{slot}, Exit: []Slot{{Param: ResultParam, Type: num, Pieces: []Piece{{Bytes: 4}}}}, Returns: true}
	failed := uint64(uint32(0xffffffff)) | 2<<32 | 4<<40
	records := []Record{
		{Func: 1, TSC: 1, SP: 100, Ret: 5, Altered: true, Words: []uint64{1, 4 << 40, 0, 7, 9, 9}},
		{Exit: true, Func: 1, TSC: 2, SP: 100, Ret: 5, Altered: true, Words: []uint64{1, failed, 0, 0, 12, 0xffffffff}},
	}
	block := differencesOf(records)
	const want = "888080808001" + "02" + "c801" + "0a" + "06" + "81" + "02" + "0000000000040000" + "10" + "0e" + "11" + "12" + "12" +
		"898080808001" + "02" + "00" + "0a" + "06" + "81" + "02" + "ffffffff02040000" + "00" + "81" + "18" + "ffffffff00000000"
	if got := hex.EncodeToString(block); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := NewPairer(map[uint32]*Signature{1: sig}, 1)
	var text string
	var changes []Change
	p.Ended = func(c *Call) error {
		text, changes = string(Format{}.AppendCall(nil, c, table)), c.Clone().Changes
		return nil
	}
	d := NewDecoder(block, Differences)
	for {
		var r Record
		ok, err := d.Next(&r)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if err := p.Add(&r); err != nil {
			t.Fatal(err)
		}
	}
	if want := "f(n=9 [was 7]) = -1 ENOMEM (Cannot allocate memory) [made to fail]"; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if want := []Change{{Bytes: 4, Old: 7, New: 9}, {Param: ResultParam, How: Failed, Bytes: 4, New: 12, AtReturn: true}}; !reflect.DeepEqual(changes, want) {
		t.Errorf("got %+v, want %+v", changes, want)
	}
	for _, words := range [][]uint64{nil, {1}, {1 << 62, 0, 0, 0, 0}, {1, 4 << 32, 0, 0, 0}, {1, 9 << 40, 0, 0, 0}} {
		if err := p.Add(&Record{Func: 1, Altered: true, Words: words}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %v", words, err)
		}
	}
}
