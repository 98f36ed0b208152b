package sys

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64 // End is not included
	Prot       string // such as "r-xp"
	Offset     uint64
	Dev        string
	Inode      uint64
	Path       string // "[heap]", "[vdso]", a file's path, or ""
}

// Exec tells whether the mapping may be executed.
func (m *Mapping) Exec() bool { return len(m.Prot) > 2 && m.Prot[2] == 'x' }

// Writable tells whether the mapping may be written.
func (m *Mapping) Writable() bool { return len(m.Prot) > 1 && m.Prot[1] == 'w' }

// Shared tells whether what is written in another mapping of the same memory
// shows here.
func (m *Mapping) Shared() bool { return len(m.Prot) > 3 && m.Prot[3] == 's' }

// readProc reads a short file of /proc. os.ReadFile asks the kernel six times more of each, which is a third of the time that some take.
func readProc(name string) ([]byte, error) {
	fd, err := openReserved(name)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: orGone(name, err)}
	}
	defer closeShort(fd)
	text := make([]byte, 0, 4<<10)
	for {
		text = slices.Grow(text, 1<<10)
		n, err := readShort(fd, text[len(text):cap(text)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case n == 0:
			return text, nil
		default:
			text = text[:len(text)+n]
		}
	}
}

// orGone is an error of a file of /proc. That there is none of a thread means that the thread does not exist any more, which any other request answers by ESRCH (Gone): so does the read of a file that was
// opened before.
func orGone(name string, err error) error {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if tid, _, under := strings.Cut(rest, "/"); ok && under && errors.Is(err, unix.ENOENT) {
		if n, isNumber := strconv.Atoi(tid); isNumber == nil && unix.Access(fmt.Sprintf("/proc/%d", n), unix.F_OK) == unix.ENOENT {
			return fmt.Errorf("%w: %w", err, unix.ESRCH)
		}
	}
	return err
}

// ReadProc is readProc for those that know files of /proc which nobody else reads.
func ReadProc(name string) ([]byte, error) { return readProc(name) }

// OpenPlain is os.OpenFile of a file that is always ready, a regular one or one of memory. os.OpenFile offers each file to the runtime's poller first, which refuses these:
// five questions to the kernel for nothing, as many as a small file is read with.
func OpenPlain(name string, how int, mode uint32) (*os.File, error) {
	fd, err := unix.Open(name, how|unix.O_CLOEXEC, mode)
	for err == unix.EINTR {
		fd, err = unix.Open(name, how|unix.O_CLOEXEC, mode)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: orGone(name, err)}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// ReadMaps reads /proc/PID/maps. Once the first thread has ended while others live
// on, the process's own file is empty: any other thread's has the address space.
func ReadMaps(pid int) ([]byte, error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/maps", pid))
	if err == nil && len(text) == 0 {
		// An error here, as no thread at all, means what an empty file does: nothing is
		// mapped any more.
		others, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/maps", pid))
		for _, name := range others {
			if b, err := readProc(name); err == nil && len(b) > 0 {
				return b, nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("address space of process %d: %w", pid, err)
	}
	return text, nil
}

// Maps reads the address space of a process.
// A process that runs may map meanwhile: the kernel gives each page of the file as
// one moment, not the whole. A line of a path with a newline in it is escaped by
// the kernel (\012).
func Maps(pid int) ([]Mapping, error) {
	text, err := ReadMaps(pid)
	if err != nil {
		return nil, err
	}
	maps, err := ParseMaps(text)
	if err != nil {
		return nil, fmt.Errorf("address space of process %d: %w", pid, err)
	}
	return maps, nil
}

// ParseMaps takes what ReadMaps has read apart.
func ParseMaps(text []byte) ([]Mapping, error) {
	var maps []Mapping
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		m, err := parseMapping(sc.Text())
		if err != nil {
			return nil, err
		}
		maps = append(maps, m)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("maps: %w", err)
	}
	return maps, nil
}

// parseMapping takes "start-end prot offset dev inode   path".
func parseMapping(line string) (Mapping, error) {
	var m Mapping
	f := strings.SplitN(line, " ", 6)
	if len(f) < 5 {
		return m, fmt.Errorf("maps line %q", line)
	}
	lo, hi, ok := strings.Cut(f[0], "-")
	var errs [4]error
	m.Start, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.End, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Prot = f[1]
	m.Offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	m.Dev = f[3]
	m.Inode, errs[3] = strconv.ParseUint(f[4], 10, 64)
	if len(f) == 6 {
		m.Path = strings.TrimLeft(f[5], " ")
	}
	for _, err := range errs {
		if err != nil || !ok {
			return m, fmt.Errorf("maps line %q", line)
		}
	}
	return m, nil
}
