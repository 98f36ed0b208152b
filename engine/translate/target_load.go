package translate

import (
	"strings"

	"alleria/engine/asm"
	"alleria/engine/x86"
)

// A branch to an address that is not canonical faults at itself, not at its target. Translated code looks the target up, in tables and target checks that all
// branches share, and when that fails nothing says any more which branch it was. So a return, and an indirect jump, loads a byte from its target first, which
// nobody uses: a target that is not canonical faults there, in the branch's own code. Calls need none, since they leave their return address; nor does code
// that records, whose record says where it was.
//
// The load is on no path that anything waits for. Refused: a store of the branch's number (fib(40) took 1.19 times as long); comparisons, which change flags. With the
// stack pointer moved by pop, where it had been a load and an lea, fib(40) takes 0.97 times as long as without the load (see docs/internal/engine/translate.md).
//
// Other faults of the load are not the branch's: what cannot be read may be what is executed (execute-only pages, the vsyscall page), or fault when it is. The
// tracer has the thread go on behind it.

// What the load is: with and without a prefix that means nothing, which says that the branch is a return, whose address has been popped.
const (
	jumpLoad   = "\x0f\xb6\x11" // movzx edx, byte [rcx]
	returnLoad = "\x40" + jumpLoad
)

// seeTarget writes the load of a byte at the target in rcx, with rdx in its word; ret: of a return.
func (u *Translator) seeTarget(ret bool) {
	switch {
	case u.NoTargetLoad:
	case ret:
		u.asm.LoadRex(x86.RDX, asm.At(x86.RCX, 0), 1)
	default:
		u.asm.Load(x86.RDX, asm.At(x86.RCX, 0), 1)
	}
}

// TargetLoad is the size of the load from a branch's target with which code begins, 0 if it is none, and by how much the branch has moved the
// stack pointer in front of it.
func TargetLoad(code []byte) (size int, popped uint64) {
	first := string(code[:min(len(code), len(returnLoad))])
	switch {
	case first == returnLoad:
		return len(returnLoad), 8
	case strings.HasPrefix(first, jumpLoad):
		return len(jumpLoad), 0
	}
	return 0, 0
}
