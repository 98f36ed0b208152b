package sys

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"
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
	vmaReadable, vmaWritable, vmaExecutable, vmaShared, vmaNext = 1, 2, 4, 8, 16

	mapNameMost = 4096 // PATH_MAX
)

// mapQuery asks the kernel for single mappings of a process.
type mapQuery struct {
	pid, fd int
	procmap
	name [mapNameMost]byte
}

// newMapQuery is to be closed.
func newMapQuery(pid int) (*mapQuery, error) {
	fd, err := openReserved(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, fmt.Errorf("address space of process %d: %w", pid, err)
	}
	return &mapQuery{pid: pid, fd: fd}, nil
}

func (q *mapQuery) close() { closeShort(q.fd) }

// find is ask without the name.
func (q *mapQuery) find(addr, flags uint64) (m Mapping, ok bool, err error) {
	return q.answer(procmap{addr: addr, flags: flags})
}

// ask returns the mapping at addr, or with vmaNext among the flags the first one from there on, that has the rights the flags name.
func (q *mapQuery) ask(addr, flags uint64) (m Mapping, ok bool, err error) {
	return q.answer(procmap{addr: addr, flags: flags, nameSize: uint32(len(q.name)), name: unsafe.Pointer(&q.name[0])})
}

// answer has the kernel answer a question.
func (q *mapQuery) answer(question procmap) (m Mapping, ok bool, err error) {
	q.procmap = question
	q.size = uint64(unsafe.Sizeof(q.procmap))
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(q.fd), procmapQuery, uintptr(unsafe.Pointer(&q.procmap)))
	runtime.KeepAlive(q)
	switch e {
	case 0:
	case unix.ENOENT:
		return m, false, nil
	default:
		return m, false, fmt.Errorf("address space of process %d at %#x: %w", q.pid, question.addr, e)
	}
	m = Mapping{Start: q.start, End: q.end, Offset: q.offset, Dev: fmt.Sprintf("%02x:%02x", q.major, q.minor), Inode: q.inode}
	if q.nameSize > 0 {
		path := string(bytes.TrimRight(q.name[:min(int(q.nameSize), len(q.name))], "\x00"))
		m.Path = strings.ReplaceAll(path, "\n", `\012`) // as the text has it
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

// MapAt returns the mapping of a process that an address lies in; false where there is none. Kernels before 6.11 have to be asked
// for all mappings.
func MapAt(pid int, addr uint64) (Mapping, bool, error) {
	q, err := newMapQuery(pid)
	if err != nil {
		return Mapping{}, false, err
	}
	defer q.close()
	m, ok, err := q.ask(addr, 0)
	if errors.Is(err, unix.ENOTTY) {
		return mapAmongAll(pid, addr)
	}
	return m, ok, err
}

// CodeMaps is Maps of what may be executed, without [vsyscall], which is no mapping of the process's. The text of all mappings takes the kernel
// as long as they are many, mostly for the names of files whose data nobody wants: 0.2 ms for 60, where a few questions take 0.01.
func CodeMaps(pid int) ([]Mapping, error) { return codeMaps(pid, (*mapQuery).ask) }

// CodeFiles is CodeMaps without the names, of which most are known by device and number: they take the kernel as long as all else. An older kernel tells them.
func CodeFiles(pid int) ([]Mapping, error) { return codeMaps(pid, (*mapQuery).find) }

func codeMaps(pid int, ask func(q *mapQuery, addr, flags uint64) (Mapping, bool, error)) ([]Mapping, error) {
	q, err := newMapQuery(pid)
	if err != nil {
		return nil, err
	}
	defer q.close()
	var maps []Mapping
	for at := uint64(0); ; {
		m, ok, err := ask(q, at, vmaExecutable|vmaNext)
		if err != nil { // an older kernel, or the process's first thread has ended
			return codeAmongAll(pid)
		}
		if !ok {
			return maps, nil
		}
		maps = append(maps, m)
		at = m.End
	}
}

// codeAmongAll is CodeMaps by the text of all mappings.
func codeAmongAll(pid int) ([]Mapping, error) {
	maps, err := Maps(pid)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(maps, func(m Mapping) bool { return !m.Exec() || m.Path == "[vsyscall]" }), nil
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
