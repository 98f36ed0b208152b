package frame

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var vectors = flag.Bool("vectors", false, "print the bodies of the format's test vectors")

// vector is one of the test vectors of docs/format.md.
type vector struct {
	name    string
	version uint16
	shapes  map[uint32]*Shape
	words   []uint64
	body    []byte
}

// readVectors takes them out of the page: blocks of code that begin with "vector".
func readVectors(t *testing.T) (all []vector) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```vector\n")[1:] {
		part, _, _ = strings.Cut(part, "```")
		v := vector{name: fmt.Sprint(i + 1), shapes: map[uint32]*Shape{}}
		for line := range strings.Lines(part) {
			f := strings.Fields(line)
			switch f[0] {
			case "name":
				v.name = strings.Join(f[1:], " ")
			case "version":
				v.version = uint16(number(t, f[1]))
			case "block":
				v.shapes[uint32(number(t, f[1]))] = shapeOf(t, f[2:])
			case "words":
				for _, w := range f[1:] {
					v.words = append(v.words, number(t, w))
				}
			case "body":
				b, err := hex.DecodeString(strings.Join(f[1:], ""))
				if err != nil {
					t.Fatal(err)
				}
				v.body = append(v.body, b...)
			}
		}
		all = append(all, v)
	}
	return all
}

func number(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// shapeOf reads words=2 addr=0x1000 stack=0 time=1 branch=1 cond target=0x2000 value=1@0+8.
func shapeOf(t *testing.T, fields []string) *Shape {
	s := &Shape{StackWord: -1, TimeWord: -1, BranchWord: -1}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "words":
			s.Words = int32(number(t, value))
		case "addr":
			s.Addr = number(t, value)
		case "target":
			s.Target = number(t, value)
		case "stack":
			s.StackWord = int16(number(t, value))
		case "time":
			s.TimeWord = int16(number(t, value))
		case "branch":
			s.BranchWord = int16(number(t, value))
		case "cond":
			s.Conditional = true
		case "value":
			word, rest, _ := strings.Cut(value, "@")
			addr, off, _ := strings.Cut(rest, "+")
			s.Values = append(s.Values, ValueWord{Word: int16(number(t, word)), AddrWord: int16(number(t, addr)), Offset: number(t, off)})
		default:
			t.Fatalf("%s", f)
		}
	}
	return s
}

// TestVectors decodes the test vectors of the format's page, and encodes them again: whoever writes a
// reader from that page has the same to compare with.
func TestVectors(t *testing.T) {
	all := readVectors(t)
	if len(all) < 6 {
		t.Fatalf("%d vectors in the page", len(all))
	}
	for _, v := range all {
		shape := func(id uint32) *Shape { return v.shapes[id] }
		e, err := NewEncoderOf(v.version, shape, -1)
		if err != nil {
			t.Fatal(err)
		}
		e.Begin()
		if err := e.Chunk(v.words, 0x10, 0x20); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		body := e.Finish(nil)
		if *vectors {
			fmt.Printf("%s\nbody %x\n", v.name, body)
		}
		if !slices.Equal(body, v.body) {
			t.Errorf("%s: encoded\n%x\nthe page has\n%x", v.name, body, v.body)
			continue
		}
		d := NewDecoder(shape)
		if err := d.Start(v.body, v.version); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		var words []uint64
		for {
			w, err := d.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			words = append(words, w...)
		}
		if want := append([]uint64{Mark(MarkChunk, 0), 0x10, 0x20}, v.words...); !slices.Equal(words, want) {
			t.Errorf("%s: decoded %x, want %x", v.name, words, want)
		}
	}
}

// TestLaterMarks: a mark of a later version says how long it is.
func TestLaterMarks(t *testing.T) {
	for kind := MarkLater; kind <= 0xff; kind++ {
		words := []uint64{Mark(uint8(kind), 2<<48|77), 1, 2, 3}
		if n := MarkLen(words); n != 3 {
			t.Errorf("%#x: %d words", kind, n)
		}
		if n := MarkLen(words[:2]); n != 0 {
			t.Errorf("%#x, cut short: %d words", kind, n)
		}
	}
	if n := MarkLen([]uint64{Mark(0x9f, 0), 1}); n != 0 {
		t.Errorf("0x9f: %d words", n)
	}
}
