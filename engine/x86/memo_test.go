package x86

import (
	"bytes"
	"debug/elf"
	"math/rand"
	"os"
	"testing"
)

// same decodes code both ways and compares everything.
func same(t *testing.T, d *Decoder, code []byte, addr uint64) int {
	t.Helper()
	var a, b [64]Insn
	n, why := Decode(code, addr, a[:])
	k, also := d.Decode(code, addr, b[:])
	if n != k || why != also {
		t.Fatalf("% x: %d instructions, %v; with memory %d, %v", code[:min(len(code), 64)], n, why, k, also)
	}
	for i := range a[:n] {
		if a[i] != b[i] {
			at := a[i].Addr - addr
			t.Fatalf("% x at %#x:\n%+v, with memory\n%+v", code[at:at+uint64(a[i].Len)], a[i].Addr, a[i], b[i])
		}
	}
	if n == 0 {
		return 1
	}
	return int(a[n-1].Next() - addr)
}

// textOf is the code of an executable or library of the machine.
func textOf(t *testing.T, path string) ([]byte, uint64) {
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("no program to decode: %v", err)
	}
	defer f.Close()
	s := f.Section(".text")
	if s == nil {
		t.Skipf("%s has no .text", path)
	}
	text, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return text, s.Addr
}

// Real code, block by block, and the same from addresses in the middle of instructions.
func TestDecoderOnPrograms(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{self, "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"} {
		text, addr := textOf(t, path)
		text = text[:min(len(text), 256<<10)]
		var d Decoder
		for at := 0; at < len(text); {
			end := min(at+512, len(text))
			at += same(t, &d, text[at:end], addr+uint64(at))
		}
		for at := 0; at < len(text); at += 7 {
			end := min(at+64, len(text))
			same(t, &d, text[at:end], addr+uint64(at))
		}
	}
}

// Random bytes, prefixes more often than chance has them, with few different leading
// parts and many different constants.
func TestDecoderOnRandomBytes(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	prefixes := []byte{0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x65, 0x67, 0x48, 0x41, 0x4c, 0x0f, 0xc4, 0xc5, 0x62}
	var d Decoder
	for range 40_000 {
		var code [24]byte
		r.Read(code[:])
		n := r.Intn(4)
		for i := range n {
			code[i] = prefixes[r.Intn(len(prefixes))]
		}
		for range 3 {
			same(t, &d, code[:], r.Uint64()>>17)
			r.Read(code[n+2+r.Intn(5):])
		}
	}
}

// What the memory is for: nothing is decoded twice but what is rare.
func TestDecoderRemembers(t *testing.T) {
	var d Decoder
	for _, code := range [][]byte{
		{0x48, 0x8b, 0x44, 0x24, 0x10},             // mov rax, [rsp+16]
		{0x0f, 0x84, 1, 2, 3, 0},                   // je
		{0x74, 5},                                  // je
		{0xe8, 1, 2, 3, 4},                         // call
		{0x81, 0xbc, 0x24, 1, 0, 0, 0, 2, 0, 0, 0}, // cmp dword [rsp+1], 2
		{0xc5, 0xf8, 0x28, 0x05, 1, 2, 3, 4},       // vmovaps xmm0, [rip+…]
		{0xc3},
	} {
		padded := append(bytes.Clone(code), make([]byte, 16)...)
		same(t, &d, padded, 0x1000)
		key, n := leadingPart(padded)
		if n == 0 || d.find(key) == nil {
			t.Errorf("% x is not remembered", code)
		}
	}
	// An operand that is scaled, and an opcode in the constant, must not be.
	for _, code := range [][]byte{{0x62, 0xf1, 0x7c, 0x48, 0x28, 0x40, 1}, {0x0f, 0x0f, 0xc1, 0x9e}} {
		padded := append(bytes.Clone(code), make([]byte, 16)...)
		same(t, &d, padded, 0x1000)
		if key, n := leadingPart(padded); n > 0 && d.find(key) != nil {
			t.Errorf("% x is remembered", code)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	code := []byte{0x48, 0x8b, 0x44, 0x24, 0x10, 0x48, 0x89, 0xc7, 0x83, 0xc0, 0x01, 0x48, 0x85, 0xff, 0x0f, 0x84, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	var out [64]Insn
	for _, off := range []bool{true, false} {
		d := Decoder{Off: off}
		b.Run(map[bool]string{true: "anew", false: "remembered"}[off], func(b *testing.B) {
			for range b.N {
				d.Decode(code, 0x1000, out[:])
			}
		})
	}
}
