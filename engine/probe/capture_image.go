package probe

import (
	"encoding/binary"
	"sort"

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

// branchesOf returns the map of the image that holds addr, nil if it cannot be read.
func (p *Points) branchesOf(addr uint64) *branchMap {
	m := p.code.Mapping(addr)
	if m == nil {
		return nil
	}
	if b := p.captures.images[m.Start]; b != nil && b.end == m.End {
		return b
	}
	b := &branchMap{start: m.Start, end: m.End, bits: make([]uint64, (m.End-m.Start+63)/64)}
	code := make([]byte, m.End-m.Start)
	if _, err := p.mem.ReadAt(code, int64(m.Start)); err != nil {
		return nil
	}
	p.originals(code, m.Start)
	named := b.scanCode(code)
	maps, err := sys.Maps(p.pid)
	if err != nil {
		return nil
	}
	for i := range maps {
		if d := &maps[i]; d.Path == m.Path && d.Path != "" && d.Inode == m.Inode {
			p.scanData(b, d, named)
		}
	}
	if p.captures.images == nil {
		p.captures.images = make(map[uint64]*branchMap)
	}
	p.captures.images[m.Start] = b
	return b
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
