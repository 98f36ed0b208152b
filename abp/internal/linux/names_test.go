package linux

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestSyscallNames holds the table against the numbers that another package
// has of the kernel.
func TestSyscallNames(t *testing.T) {
	for nr, name := range map[uint32]string{unix.SYS_READ: "read", unix.SYS_CLONE: "clone", unix.SYS_EXIT_GROUP: "exit_group",
		unix.SYS_OPENAT: "openat", unix.SYS_RSEQ: "rseq", unix.SYS_PIDFD_SEND_SIGNAL: "pidfd_send_signal", unix.SYS_CLONE3: "clone3",
		unix.SYS_FUTEX_WAITV: "futex_waitv", unix.SYS_MSEAL: "mseal", unix.SYS_MAP_SHADOW_STACK: "map_shadow_stack"} {
		if got := SyscallName(nr); got != name {
			t.Errorf("%d is %q, not %q", nr, got, name)
		}
		if got, ok := SyscallNumber(name); !ok || got != nr {
			t.Errorf("%s is %d, not %d", name, got, nr)
		}
	}
	if SyscallName(400) != "" || SyscallName(1<<31) != "" {
		t.Error("a number without call has a name")
	}
	if _, ok := SyscallNumber("no_such_call"); ok {
		t.Error("a name without call has a number")
	}
}
