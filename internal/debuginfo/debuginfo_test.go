package debuginfo

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypeUnits finds each type of a program's type units by its signature, whichever compiler and version wrote them.
func TestTypeUnits(t *testing.T) {
	src := filepath.Join(t.TempDir(), "p.cc")
	text := "struct first { int a; }; enum second { one = 7 }; namespace n { struct third { first f; third *next; }; }\n" +
		"int use(first a, second b, n::third *c) { return a.a + b + c->f.a; }\nint main() { n::third t{}; return use({1}, one, &t); }\n"
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"g++ -gdwarf-4", "g++ -gdwarf-5", "g++ -gdwarf-4 -gdwarf64", "g++ -gdwarf-5 -gdwarf64", "clang++ -gdwarf-4", "clang++ -gdwarf-5", "clang++ -gdwarf-5 -gz"} {
		argv := strings.Fields(way)
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue
		}
		bin := filepath.Join(t.TempDir(), "p")
		if out, err := exec.Command(argv[0], append(argv[1:], "-fdebug-types-section", "-o", bin, src)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", way, err, out)
		}
		f, err := elf.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(f)
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		if got := referred(t, d); got != "first second third" {
			t.Errorf("%s: signatures lead to %q", way, got)
		}
		f.Close()
	}
}

// referred names what signatures refer to in a program.
func referred(t *testing.T, d *Data) string {
	names := make(map[string]bool)
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		for _, f := range e.Field {
			if f.Class != dwarf.ClassReferenceSig {
				continue
			}
			off, ok := d.Ref(e, f.Attr)
			to := d.Entry(off)
			if !ok || to == nil {
				t.Fatalf("%v of the entry at %#x: nothing is at %#x", f.Attr, e.Offset, off)
			}
			names[to.Val(dwarf.AttrName).(string)] = true
		}
	}
	got := ""
	for _, name := range []string{"first", "second", "third"} {
		if names[name] {
			got += " " + name
		}
	}
	if len(names) != 3 {
		got += fmt.Sprint(names)
	}
	return strings.TrimSpace(got)
}

// typeUnit is a unit of .debug_types with a type at a place, and entries.
func typeUnit(signature uint64, place uint32, entries ...byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(19+len(entries)))
	b = append(b, 4, 0, 0, 0, 0, 0, 8)
	b = binary.LittleEndian.AppendUint64(b, signature)
	return append(binary.LittleEndian.AppendUint32(b, place), entries...)
}

// FuzzUnits takes damaged sections: what is found lies in them.
func FuzzUnits(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0}, typeUnit(1, 23, 1, 2, 3))
	f.Add([]byte{}, append(typeUnit(1, 26, 1, 2, 3), typeUnit(2, 25, 1, 2, 3)...))
	f.Add([]byte{30, 0, 0, 0, 5, 0, 2, 8, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 25, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []byte{})
	f.Add([]byte{255, 255, 255, 255, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0, 2, 8, 0, 0, 0, 0}, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, info, types []byte) {
		found := make(map[uint64]dwarf.Offset)
		signatures(info, found)
		for s, off := range found {
			if uint64(off) >= uint64(len(info)) {
				t.Fatalf("signature %#x leads to %#x of %#x", s, off, len(info))
			}
		}
		before := string(info)
		all := join(info, types, found)
		if len(all) > len(info)+len(types) || string(all[:len(info)]) != before {
			t.Fatal("units of .debug_info are others now")
		}
		for s, off := range found {
			if uint64(off) >= uint64(len(all)) {
				t.Fatalf("signature %#x leads to %#x of %#x", s, off, len(all))
			}
		}
	})
}
