package probe

import (
	"testing"

	"alleria/internal/capture"
)

// TestStackCheck captures functions behind their look at the stack, in each form that Go gives it, and those that only look as if they had one
// at their first instruction.
func TestStackCheck(t *testing.T) {
	const back = "\x48\x89\x44\x24\x08\xe8\x00\x00\x00\x00\x48\x8b\x44\x24\x08" // stores, call, loads
	for _, c := range []struct {
		name, code, grow string
		at               uint64
	}{
		{"small", "\x49\x3b\x66\x10\x76\x2a", back, 6},
		{"far", "\x49\x3b\x66\x10\x0f\x86\x26\x00\x00\x00", back, 10},
		{"system stack", "\x49\x3b\x66\x18\x76\x2a", back, 6},
		{"medium", "\x4c\x8d\x64\x24\xd8\x4d\x3b\x66\x10\x76\x25", back, 11},
		{"less small", "\x4c\x8d\xa4\x24\x58\xfe\xff\xff\x4d\x3b\x66\x10\x76\x22", back, 14},
		{"large", "\x49\x89\xe4\x49\x81\xec\xa8\x1f\x00\x00\x72\x24\x4d\x3b\x66\x10\x76\x1e", back, 18},
		{"arguments on the stack", "\x64\x4c\x8b\x34\x25\xf8\xff\xff\xff\x49\x3b\x66\x10\x76\x21", back, 15},
		{"before 1.17", "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff\x48\x3b\x61\x10\x76\x21", back, 15},
		{"medium, before 1.17", "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff\x48\x8d\x44\x24\xd8\x48\x3b\x41\x10\x76\x1c", back, 20},
		{"two places", "\x49\x89\xe4\x49\x81\xec\xa8\x1f\x00\x00\x72\x25\x4d\x3b\x66\x10\x76\x1e", back, 0},
		{"another field", "\x49\x3b\x66\x20\x76\x2a", back, 0},
		{"another condition", "\x49\x3b\x66\x10\x77\x2a", back, 0},
		{"no call", "\x49\x3b\x66\x10\x76\x2a", "\x48\x89\x44\x24\x08", 0},
		{"two calls", "\x49\x3b\x66\x10\x76\x2a", back + back, 0},
		{"a branch", "\x49\x3b\x66\x10\x76\x2a", back + "\x74\x00", 0},
		{"none", "\x55\x48\x89\xe5", back, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog, p := newProgram(t, true)
			code := []byte(c.code)
			for len(code) < 0x30 {
				code = append(code, 0x90)
			}
			code = append(code, c.grow...)
			code = append(code, 0xe9, 0, 0, 0, 0)
			code[len(code)-4] = byte(-len(code))
			for i := len(code) - 3; i < len(code); i++ {
				code[i] = 0xff
			}
			if _, err := prog.mem.WriteAt(code, f); err != nil {
				t.Fatal(err)
			}
			if err := p.Intercept(f, 1, &capture.Program{Go: true}); err != nil {
				t.Fatal(err)
			}
			if at := p.CapturedAt(f); at != f+c.at || prog.byteAt(at) != 0xcc {
				t.Errorf("it is captured %d bytes behind its first one instead of %d, with %#x there", at-f, c.at, prog.byteAt(at))
			}
			if p.Unintercept(f); prog.byteAt(f+c.at) == 0xcc || len(p.at) > 0 {
				t.Errorf("something is left")
			}
			p.off.BehindCheck = true
			if at := p.CapturedAt(f); at != f {
				t.Errorf("it is captured at %#x though that is switched off", at)
			}
		})
	}
}
