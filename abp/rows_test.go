package abp

import (
	"testing"

	"alleria/abp/internal/wire"
)

// TestSyscallBefore18: rows of older files have no place.
func TestSyscallBefore18(t *testing.T) {
	row := (&Syscall{Number: 7, Errno: 2, Place: CallOwn}).Append(nil)
	d := wire.Decoder{B: row[rowHeader : len(row)-4]}
	var old Syscall
	old.decode(&d)
	if d.Err != nil || old != (Syscall{Number: 7, Errno: 2}) {
		t.Errorf("%+v, %v", old, d.Err)
	}
}
