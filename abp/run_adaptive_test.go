package abp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestReadAdaptive(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadAdaptive(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
	want := []Adaptation{{Event: EventStart, Threads: 2, Settings: &AdaptiveSettings{TP: 0.5}}, {Time: 1, Event: EventTimer, Phase: "X", Next: "Z", PTIT: 0.5}}
	var b bytes.Buffer
	for _, a := range want {
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	whole := b.Bytes()
	for cut := len(whole); cut > 0; cut-- { // killed at any byte
		if err := os.WriteFile(filepath.Join(dir, AdaptiveFile), whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadAdaptive(dir)
		if err != nil || len(got) > 2 || cut == len(whole) && !reflect.DeepEqual(got, want) {
			t.Fatalf("of %d bytes: %+v, %v", cut, got, err)
		}
	}
}

func FuzzAdaptive(f *testing.F) {
	f.Add([]byte(`{"t":1,"event":"timer"}` + "\n"))
	f.Add([]byte("{}\n{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rows, err := decodeAdaptive(bytes.NewReader(b)); err != nil && (rows != nil || !errors.Is(err, ErrCorrupt)) {
			t.Errorf("%v and %v", rows, err)
		}
	})
}
