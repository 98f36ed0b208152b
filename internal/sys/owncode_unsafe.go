package sys

import (
	"debug/elf"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Entries of the auxiliary vector.
const (
	auxPhdr  = 3
	auxPhnum = 5
)

// ForgetOwnCode takes the pages of our executable's code out of what this process holds. What is used again is found in the page cache, sixteen pages with each fault.
//
// The start of a process runs through the initialisation of every package that is linked into it, also of those that the command at hand has no use for: half
// of the pages are not used again. Of the constants most are, so that they are left alone, and what may be written has to be: it would be as the file has it.
func ForgetOwnCode() error {
	vector, err := unix.Auxv()
	if err != nil {
		return fmt.Errorf("auxiliary vector: %w", err)
	}
	var at, n uintptr
	for _, entry := range vector {
		switch entry[0] {
		case auxPhdr:
			at = entry[1]
		case auxPhnum:
			n = entry[1]
		}
	}
	if at == 0 {
		return fmt.Errorf("auxiliary vector: no program headers")
	}
	headers := unsafe.Slice(*(**elf.Prog64)(unsafe.Pointer(&at)), n)
	var base uintptr // where the executable lies, less what it says itself
	for i := range headers {
		if elf.ProgType(headers[i].Type) == elf.PT_PHDR {
			base = at - uintptr(headers[i].Vaddr)
		}
	}
	const page = 4096
	for i := range headers {
		h := &headers[i]
		if elf.ProgType(h.Type) != elf.PT_LOAD || elf.ProgFlag(h.Flags)&(elf.PF_W|elf.PF_X) != elf.PF_X {
			continue
		}
		start := (base + uintptr(h.Vaddr)) &^ (page - 1)
		end := (base + uintptr(h.Vaddr+h.Memsz) + page - 1) &^ (page - 1)
		if _, _, errno := unix.RawSyscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}
