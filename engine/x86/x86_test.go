package x86

import "testing"

// TestLayout compares the structures that cross from C with their mirror.
func TestLayout(t *testing.T) {
	if err := CheckLayout(); err != nil {
		t.Fatal(err)
	}
}

// TestDecode checks where decoding stops and what it says then.
func TestDecode(t *testing.T) {
	code := assemble(t, []string{"nop", "add eax, 1", "jmp 0x10", "nop"})
	var ins [8]Insn
	if n, why := Decode(code, 0, ins[:]); n != 3 || why != EndOfBlock {
		t.Errorf("%d instructions, %v", n, why)
	}
	if n, why := Decode(code, 0, ins[:2]); n != 2 || why != Full {
		t.Errorf("with room for two: %d instructions, %v", n, why)
	}
	if n, why := Decode(code[:3], 0, ins[:]); n != 1 || why != OutOfBytes {
		t.Errorf("cut short: %d instructions, %v", n, why)
	}
	if n, why := Decode([]byte{0x90, 0x06}, 0, ins[:]); n != 1 || why != Undecodable {
		t.Errorf("no instruction: %d instructions, %v", n, why)
	}
	// jkzd and others of a processor that executed nothing else of today
	for _, c := range [][]byte{{0xc5, 0xd8, 0x84, 0x08, 0, 0, 0}, {0xc5, 0xd8, 0x74, 0x08}, {0xc5, 0xfa, 0xae, 0xf0}} {
		if n, why := Decode(c, 0, ins[:]); n != 0 || why != Undecodable {
			t.Errorf("% x: %d instructions, %v", c, n, why)
		}
	}
	if n, why := Decode(nil, 0, ins[:]); n != 0 || why != OutOfBytes {
		t.Errorf("nothing: %d instructions, %v", n, why)
	}
}

// TestFlags checks what liveness of flags rests on.
func TestFlags(t *testing.T) {
	const of, sf, zf, af, pf, cf = 1, 2, 4, 8, 16, 32
	for _, c := range []struct {
		text         string
		read, always uint8
	}{
		{"add eax, ebx", 0, AllFlags},
		{"adc eax, ebx", cf, AllFlags},
		{"inc eax", 0, AllFlags &^ cf},
		{"and eax, ebx", 0, AllFlags},
		{"test eax, ebx", 0, AllFlags},
		{"xor eax, eax", 0, AllFlags},
		{"mov eax, ebx", 0, 0},
		{"shl eax, cl", 0, 0},
		{"shl eax, 5", 0, 0},
		{"shld eax, ebx, 3", 0, 0},
		{"bt eax, 5", 0, cf},
		{"bsf eax, ebx", 0, zf},
		{"imul eax, ebx", 0, of | cf},
		{"rep cmpsb", zf, 0},
		{"cmpsb", 0, AllFlags},
		{"jbe 0", zf | cf, 0},
		{"jl 0", of | sf, 0},
		{"setp al", pf, 0},
		{"pushfq", AllFlags, 0},
		{"popfq", 0, AllFlags},
		{"lahf", sf | zf | af | pf | cf, 0},
		{"sahf", 0, sf | zf | af | pf | cf},
		{"syscall", AllFlags, 0},
		{"stc", 0, cf},
		{"cmc", cf, cf},
		{"adox eax, ebx", of, of},
		{"comiss xmm0, xmm1", 0, AllFlags},
		{"loope .", zf, 0},
	} {
		var one [1]Insn
		if n, _ := Decode(assemble(t, []string{c.text}), 0, one[:]); n != 1 {
			t.Fatalf("%s: not decoded", c.text)
		}
		if one[0].FlagsRead != c.read || one[0].FlagsAlways() != c.always {
			t.Errorf("%s: reads %06b, always writes %06b; want %06b, %06b", c.text, one[0].FlagsRead, one[0].FlagsAlways(), c.read, c.always)
		}
	}
}

// TestStringPointers: what walks through memory moves its pointers, comparisons too.
func TestStringPointers(t *testing.T) {
	for text, want := range map[string]uint16{
		"cmpsb": 1<<RSI | 1<<RDI, "repe cmpsq": 1<<RSI | 1<<RDI | 1<<RCX, "scasw": 1 << RDI,
		"repne scasb": 1<<RDI | 1<<RCX, "movsb": 1<<RSI | 1<<RDI, "stosd": 1 << RDI, "lodsq": 1<<RSI | 1<<RAX,
	} {
		var one [1]Insn
		if n, _ := Decode(assemble(t, []string{text}), 0, one[:]); n != 1 {
			t.Fatalf("%s: not decoded", text)
		}
		if one[0].GPRWrite != want {
			t.Errorf("%s writes registers %016b, want %016b", text, one[0].GPRWrite, want)
		}
	}
}
