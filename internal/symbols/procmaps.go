package symbols

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Mapping is one line of /proc/PID/maps.
// Start is the first address, End the one behind the last; both are multiples of a
// page.
type Mapping struct {
	Start, End uint64 // End is not included
	Prot       Prot
	Shared     bool   // MAP_SHARED
	Offset     uint64 // in the file
	Dev        string // major:minor, as the kernel writes it
	Inode      uint64
	Path       string // also [heap], [vdso] and the like; empty for anonymous memory
	Deleted    bool   // the file has no name any more; Path is the one it had
}

// deletedMark is what the kernel appends to the path of an unlinked file. A file
// that is really called so can't be told apart, in maps by nobody.
const deletedMark = " (deleted)"

// maxMapsLine is longer than any path.
const maxMapsLine = 64 << 10

// ParseMaps reads the format of /proc/PID/maps.
// What was read before an error is returned with it.
func ParseMaps(r io.Reader) ([]Mapping, error) {
	var out []Mapping
	// The file is not a snapshot: a process that maps memory meanwhile may show a
	// mapping twice or not at all. Callers read it while the process is stopped.
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMapsLine)
	for lines.Scan() {
		m, err := ParseMapping(lines.Text())
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
	if err := lines.Err(); err != nil {
		return out, fmt.Errorf("read maps: %w", err)
	}
	return out, nil
}

// ParseMapping reads one line:
//
//	55d0a0000000-55d0a0002000 r-xp 00001000 fe:01 1234   /usr/bin/gzip
func ParseMapping(line string) (Mapping, error) {
	var m Mapping
	// Written by the kernel, so damage means that somebody passed something else;
	// the whole line in the message shows what.
	bad := func() (Mapping, error) {
		return Mapping{}, fmt.Errorf("maps line %q: not in the kernel's format", line)
	}
	rest := line
	field := func() string {
		word, after, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		rest = after
		return word
	}
	// Fields are separated by single blanks, the path by enough to be in a column.
	span, prot, offset := field(), field(), field()
	m.Dev = field()
	inode := field()
	start, end, ok := strings.Cut(span, "-")
	if !ok || len(prot) != 4 {
		return bad()
	}
	var err error
	if m.Start, err = strconv.ParseUint(start, 16, 64); err != nil {
		return bad()
	}
	if m.End, err = strconv.ParseUint(end, 16, 64); err != nil || m.End <= m.Start {
		return bad()
	}
	if m.Offset, err = strconv.ParseUint(offset, 16, 64); err != nil {
		return bad()
	}
	if m.Inode, err = strconv.ParseUint(inode, 10, 64); err != nil {
		return bad()
	}
	for i, c := range "rwx" {
		if prot[i] == byte(c) {
			m.Prot |= 1 << i
		}
	}
	m.Shared = prot[3] == 's'
	// The path may hold blanks; of all else only a newline is escaped.
	m.Path = strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n")
	// Shared memory made by memfd_create is always marked so, too.
	if path, ok := strings.CutSuffix(m.Path, deletedMark); ok && m.Inode != 0 {
		m.Path, m.Deleted = path, true
	}
	return m, nil
}

// isVDSO recognises the code that the kernel maps into every process.
func (m *Mapping) isVDSO() bool { return m.Path == "[vdso]" }

// isFile reports whether the mapping shows a file that could be an image.
func (m *Mapping) isFile() bool { return m.Inode != 0 && strings.HasPrefix(m.Path, "/") }
