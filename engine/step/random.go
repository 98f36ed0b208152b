package step

import (
	"encoding/binary"
	"fmt"
	"os"
)

// atRandom is the auxiliary vector's entry that points to 16 random bytes.
// It is AT_RANDOM of <elf.h>; the vector is pairs of words, ended by a zero pair.
const atRandom = 25

// FixRandom replaces the random bytes that the kernel gave a process which
// stands before its first instruction. Programs take their stack protector's
// and their allocator's secrets from there. The caller traces the process.
func FixRandom(pid int) error {
	aux, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return fmt.Errorf("auxiliary vector: %w", err)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("memory of process %d: %w", pid, err)
	}
	defer mem.Close()
	for ; len(aux) >= 16; aux = aux[16:] {
		if binary.LittleEndian.Uint64(aux) != atRandom {
			continue
		}
		at := int64(binary.LittleEndian.Uint64(aux[8:]))
		if _, err := mem.WriteAt([]byte("sixteen bytes!!!"), at); err != nil {
			return fmt.Errorf("random bytes of process %d: %w", pid, err)
		}
	}
	return nil
}
