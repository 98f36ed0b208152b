package sys

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"unsafe"

	"golang.org/x/sys/unix"
)

// procmapQuery is PROCMAP_QUERY of <linux/fs.h>, since Linux 6.11: what one address is, without the text of all mappings.
const procmapQuery = 0xc0686611

// procmap is struct procmap_query, as the kernel reads and fills it in.
type procmap struct {
	size, flags, addr              uint64
	start, end, vmaFlags, page     uint64
	offset, inode                  uint64
	major, minor, nameSize, idSize uint32
	name                           unsafe.Pointer
	buildID                        uint64
}

const (
	vmaReadable, vmaWritable, vmaExecutable, vmaShared = 1, 2, 4, 8

	mapNameMost = 4096 // PATH_MAX
)

// MapAt returns the mapping of a process that an address lies in; false where there is none. Kernels before 6.11 have to be asked
// for all mappings.
func MapAt(pid int, addr uint64) (Mapping, bool, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return Mapping{}, false, fmt.Errorf("address space of process %d: %w", pid, err)
	}
	defer f.Close()
	var name [mapNameMost]byte
	q := procmap{addr: addr, nameSize: uint32(len(name)), name: unsafe.Pointer(&name[0])}
	q.size = uint64(unsafe.Sizeof(q))
	_, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), procmapQuery, uintptr(unsafe.Pointer(&q)))
	switch e {
	case 0:
	case unix.ENOENT:
		return Mapping{}, false, nil
	case unix.ENOTTY:
		return mapAmongAll(pid, addr)
	default:
		return Mapping{}, false, fmt.Errorf("address space of process %d at %#x: %w", pid, addr, e)
	}
	m := Mapping{Start: q.start, End: q.end, Offset: q.offset, Dev: fmt.Sprintf("%02x:%02x", q.major, q.minor), Inode: q.inode}
	if q.nameSize > 0 {
		m.Path = string(bytes.TrimRight(name[:min(int(q.nameSize), len(name))], "\x00"))
	}
	prot := []byte("---p")
	for i, right := range [...]struct {
		bit  uint64
		char byte
	}{{vmaReadable, 'r'}, {vmaWritable, 'w'}, {vmaExecutable, 'x'}, {vmaShared, 's'}} {
		if q.vmaFlags&right.bit != 0 {
			prot[i] = right.char
		}
	}
	m.Prot = string(prot)
	return m, true, nil
}

// mapAmongAll is MapAt by the text of all mappings.
func mapAmongAll(pid int, addr uint64) (Mapping, bool, error) {
	maps, err := Maps(pid)
	if err != nil {
		return Mapping{}, false, err
	}
	i := sort.Search(len(maps), func(i int) bool { return maps[i].End > addr })
	if i == len(maps) || maps[i].Start > addr {
		return Mapping{}, false, nil
	}
	return maps[i], true, nil
}
