package capture

const (
	pageSize  = 4096
	keptPages = 16 // of one capture
)

// pages has what one capture reads of memory: a page is read whole when something of it is wanted for the first time, and what is wanted of it later is had
// from there. Values of many levels lie close to each other, and each reading is a call of the kernel. So a capture sees each page as it was at one moment.
type pages struct {
	m    Machine
	at   [keptPages]uint64 // the number of each page, plus one; 0: none
	data []byte            // of them all, made when it is needed
}

// over is a Machine that reads memory by pages, for one capture of m's.
func (p *pages) over(m Machine) Machine {
	p.m, p.at = m, [keptPages]uint64{}
	if p.data == nil {
		p.data = make([]byte, keptPages*pageSize)
	}
	return p
}

// Value is Machine's.
func (p *pages) Value(src Source, b []byte) bool { return p.m.Value(src, b) }

// ReadAt is Machine's. What lies on two pages, or is as large as one, is read as it is; so is what lies on a page that cannot be had whole.
func (p *pages) ReadAt(b []byte, addr int64) (int, error) {
	off := uint64(addr) % pageSize
	if len(b) == 0 || off+uint64(len(b)) > pageSize || len(b) == pageSize {
		return p.m.ReadAt(b, addr)
	}
	page := uint64(addr) / pageSize
	k := page % keptPages
	kept := p.data[k*pageSize:][:pageSize]
	if p.at[k] != page+1 {
		p.at[k] = 0
		switch n, err := p.m.ReadAt(kept, int64(page*pageSize)); {
		case n == 0:
			return 0, err
		case n < pageSize:
			return p.m.ReadAt(b, addr)
		}
		p.at[k] = page + 1
	}
	return copy(b, kept[off:]), nil
}

var _ Machine = (*pages)(nil)
