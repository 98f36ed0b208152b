package analysis

import "testing"

func TestDisassembler(t *testing.T) {
	for _, c := range []struct {
		syntax Syntax
		code   []byte
		want   string
	}{
		{Intel, []byte{0x48, 0x8b, 0x45, 0xf8}, "mov rax, [rbp-0x8]"},
		{ATT, []byte{0x48, 0x8b, 0x45, 0xf8}, "mov -0x8(%rbp), %rax"},
		{Intel, []byte{0xe8, 0xfb, 0x0f, 0, 0}, "call 0x402000"},
		{Intel, []byte{0xf3, 0x0f, 0x1e, 0xfa}, "endbr64"},
		{Intel, []byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, "mov rax, fs:[0x28]"},
		{Intel, []byte{0x06}, "(bad)"},
		{Intel, nil, "(bad)"},
	} {
		d, err := NewDisassembler(c.syntax)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Text(c.code, 0x401000); got != c.want {
			t.Errorf("% x in %s: %q, want %q", c.code, c.syntax, got, c.want)
		}
		d.Close()
	}
}
