package probe

import (
	"encoding/binary"
	"os"
	"sort"
	"syscall"

	"alleria/internal/sys"
)

// Where branches of an image may lead: one look for all of its functions. Found are the targets of direct branches with long displacements, by looking at every
// byte; what tables of addresses hold, for switches, computed jumps and functions that are called by pointers; and what tables of
// distances hold, by looking what lies at each address that code names. It is more than there is. Short branches are looked for by
// decoding around a function (nearBranch).

// branchMap is where branches of one executable mapping may lead: a bit each byte.
type branchMap struct {
	start, end uint64
	bits       []uint64
}

func (m *branchMap) mark(addr uint64) {
	if off := addr - m.start; off < m.end-m.start {
		m.bits[off>>6] |= 1 << (off & 63)
	}
}

// leads tells whether a branch may lead to a byte of [from, to).
func (m *branchMap) leads(from, to uint64) bool {
	for a := from; a < to; a++ {
		off := a - m.start
		if off >= m.end-m.start || m.bits[off>>6]>>(off&63)&1 != 0 {
			return true
		}
	}
	return false
}

// scanOf is what a scan of an image depends on: the version of its file, and what of it is mapped.
type scanOf struct {
	dev, inode   uint64
	size, time   int64
	offset, maps uint64
}

// Scans are where branches of images may lead, for all processes of a run: a C library takes some milliseconds. Relative to where it begins, the
// code of one version of a file is the same in each, and so is what its tables hold.
type Scans struct{ bits map[scanOf][]uint64 }

// Share has the points look for scans, and leave theirs, there.
func (p *Points) Share(s *Scans) {
	if !p.off.Scans {
		p.scans = s
	}
}

// scanKey names a mapping's scan; false: nothing is known of it but its contents.
func (p *Points) scanKey(m *sys.Mapping) (scanOf, bool) {
	if p.scans == nil || m.Inode == 0 || m.Writable() {
		return scanOf{}, false
	}
	st, err := os.Stat(m.Path)
	if err != nil {
		return scanOf{}, false
	}
	is, ok := st.Sys().(*syscall.Stat_t)
	if !ok || is.Ino != m.Inode { // of another root, or replaced
		return scanOf{}, false
	}
	return scanOf{dev: is.Dev, inode: is.Ino, size: is.Size, time: st.ModTime().UnixNano(), offset: m.Offset, maps: m.End - m.Start}, true
}

// branchesOf returns the map of the image that holds addr, nil if it cannot be read.
func (p *Points) branchesOf(addr uint64) *branchMap {
	m := p.code.Mapping(addr)
	if m == nil {
		return nil
	}
	if b := p.captures.images[m.Start]; b != nil && b.end == m.End {
		return b
	}
	key, ok := p.scanKey(m)
	b := &branchMap{start: m.Start, end: m.End, bits: p.scans.find(key)}
	if b.bits == nil {
		if !p.scan(b, m) {
			return nil
		}
		if ok {
			p.scans.keep(key, b.bits)
		}
	}
	if p.captures.images == nil {
		p.captures.images = make(map[uint64]*branchMap)
	}
	p.captures.images[m.Start] = b
	return b
}

// find returns a scan; nil: there is none.
func (s *Scans) find(key scanOf) []uint64 {
	if s == nil {
		return nil
	}
	return s.bits[key]
}

// keep leaves a scan to others.
func (s *Scans) keep(key scanOf, bits []uint64) {
	if s.bits == nil {
		s.bits = make(map[scanOf][]uint64)
	}
	s.bits[key] = bits
}

// scan looks for branches of a mapping's image; false if that cannot be read.
func (p *Points) scan(b *branchMap, m *sys.Mapping) bool {
	b.bits = make([]uint64, (m.End-m.Start+63)/64)
	code := make([]byte, m.End-m.Start)
	if _, err := p.mem.ReadAt(code, int64(m.Start)); err != nil {
		return false
	}
	p.originals(code, m.Start)
	named := b.scanCode(code)
	maps, err := sys.Maps(p.pid)
	if err != nil {
		return false
	}
	for i := range maps {
		if d := &maps[i]; d.Path == m.Path && d.Path != "" && d.Inode == m.Inode {
			p.scanData(b, d, named)
		}
	}
	return true
}

// scanCode marks the targets of branches, and returns the addresses that code names, in order.
func (b *branchMap) scanCode(code []byte) []uint64 {
	seen := make(map[uint64]bool)
	for i := 2; i+4 <= len(code); i++ {
		op, before := code[i-1], code[i-2]
		branch := op&0xfe == 0xe8 || op == 0xf8 && before == 0xc7 || op&0xf0 == 0x80 && before == 0x0f
		lea := before == 0x8d && op&0xc7 == 5
		if !branch && !lea {
			continue
		}
		target := b.start + uint64(i) + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i:]))))
		if branch {
			b.mark(target)
		} else {
			b.mark(target) // a label, or a function whose address is taken
			seen[target] = true
		}
	}
	named := make([]uint64, 0, len(seen))
	for a := range seen {
		named = append(named, a)
	}
	sort.Slice(named, func(i, k int) bool { return named[i] < named[k] })
	return named
}

// scanData marks what addresses and distances in a mapping of the same file lead to. Where it is executable, too, it may hold tables.
func (p *Points) scanData(b *branchMap, m *sys.Mapping, named []uint64) {
	data := make([]byte, m.End-m.Start)
	n, _ := p.mem.ReadAt(data, int64(m.Start))
	data = data[:n]
	p.originals(data, m.Start)
	for i := 0; i+8 <= len(data); i += 8 {
		b.mark(binary.LittleEndian.Uint64(data[i:]))
	}
	from := sort.Search(len(named), func(i int) bool { return named[i] >= m.Start })
	for _, table := range named[from:] {
		if table >= m.Start+uint64(len(data)) {
			return
		}
		for off := table - m.Start; off+4 <= uint64(len(data)); off += 4 {
			target := table + uint64(int64(int32(binary.LittleEndian.Uint32(data[off:]))))
			if target < b.start || target >= b.end {
				break
			}
			b.mark(target)
		}
	}
}
