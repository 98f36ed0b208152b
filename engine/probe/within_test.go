package probe

import (
	"testing"

	"alleria/engine/x86"
)

// TestLevel: a jump by a register may lead to a function's first instruction unless the stack pointer is certainly lower there than at the function's start.
func TestLevel(t *testing.T) {
	const branch = "\x75\x00" // jne to what follows
	for _, c := range []struct {
		name, code string
		level      bool
	}{
		{"nothing", "", true},
		{"behind a branch", branch, true},
		{"push and pop", "\x50\x58" + branch, true},
		{"a push", "\x50" + branch, false},
		{"a push that is taken back in front of the jump", "\x50" + branch + "\x58", true},
		{"room", "\x48\x83\xec\x18" + branch + "\x90", false},                   // sub rsp, 24
		{"aligned", "\x55\x48\x83\xe4\xe0" + branch, false},                     // push rbp; and rsp, -32
		{"aligned without a branch", "\x48\x83\xe4\xe0\x48\x83\xec\x10", false}, // and rsp, -32; sub rsp, 16
		{"16 bits pushed and popped", "\x66\x50\x66\x5f" + branch, true},
		{"16 bits pushed and popped without a branch", "\x66\x50\x66\x5f", true},
		{"another stack", "\x48\x94" + branch, true}, // xchg rsp, rax
		{"aligned behind another stack", "\x48\x94\x48\x83\xe4\xe0" + branch, true},
		{"exchanged and back", "\x48\x94\x48\x94" + branch, true},
		{"no branch, lowered", "\x50", false},
		{"a jump by a return", "\x57\xc3", true}, // push rdi; ret
		{"a jump by a return that takes more", "\x57\x57\xc2\x08\x00", true},
		{"lowered behind a jump by a return", "\x57\x57\xc3", false},
		{"a call of what follows", "\xe8\x00\x00\x00\x00" + branch, false},
		{"a call of what follows, taken off", "\xe8\x00\x00\x00\x00\x58", true},
	} {
		run := stackRun{lowered: -1}
		run.begin()
		ins := make([]x86.Insn, 8)
		for code, at := []byte(c.code), 0; at < len(code); {
			n, _ := x86.Decode(code[at:], 0x1000+uint64(at), ins) // up to a branch
			if n == 0 {
				t.Fatalf("%s: no instruction at %d", c.name, at)
			}
			for i := range ins[:n] {
				run.step(&ins[i])
			}
			at = int(ins[n-1].Next() - 0x1000)
		}
		if got := run.level(); got != c.level {
			t.Errorf("%s: %v, want %v", c.name, got, c.level)
		}
	}
}
