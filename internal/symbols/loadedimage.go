package symbols

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// vdso reads the kernel's image out of the process. It is the same for all
// processes, but nothing says so, and it is small.
func (m *Map) vdso(p *Mapping) *Loaded {
	if m.opts.Memory == nil {
		return nil
	}
	for _, l := range m.Images() {
		if l.Path == p.Path && l.Start == p.Start {
			return l
		}
	}
	// The kernel maps whole pages, of which the image need not fill the last.
	size := min(p.End-p.Start, 1<<20)
	im, err := OpenReader(io.NewSectionReader(m.opts.Memory, int64(p.Start), int64(size)), p.Path)
	if err != nil {
		return nil
	}
	l := m.newLoaded(im, p.Path, p.Start-im.MinVaddr(), false)
	l.System, l.Main = true, false
	return l
}

// open opens the file of a mapping, and tells whether it had to be read from
// memory because the file is gone or another one has its place.
// files is what is known of the files already: nil of one that is no image, or not at its path any more.
func (m *Map) open(mappings []Mapping, at int, files map[mappedFile]*Image) (im *Image, stale bool) {
	p := &mappings[at]
	path := p.Path
	if m.opts.Root != "" {
		path = filepath.Join(m.opts.Root, path)
	}
	file := mappedFile{p.Path, p.Inode}
	if im := files[file]; im != nil && !p.Deleted {
		return im, false
	}
	if st := statInode(path, p.Inode); st != nil && !p.Deleted {
		im, _ = m.opts.Cache.open(path, st)
		files[file] = im
		return im, false
	}
	// Later mappings of the same file follow it without a gap in the list.
	// The first mapping of the file has its headers.
	first := at
	for first > 0 && mappings[first].Offset != 0 && mappings[first-1].Inode == p.Inode && mappings[first-1].Dev == p.Dev {
		first--
	}
	if m.opts.Memory == nil || mappings[first].Offset != 0 {
		return nil, true
	}
	for _, l := range m.Images() { // read before
		if l.Deleted && l.Path == p.Path && l.Start == mappings[first].Start {
			return l.Image, true
		}
	}
	im, err := openMemory(m.opts.Memory, mappings[first].Start, p.Path)
	if err != nil {
		return nil, true
	}
	return im, true
}

// mappedFile is a file as mappings name it.
type mappedFile struct {
	path  string
	inode uint64
}

// statInode describes the file at a path if it still is the one that is mapped, else nil.
// The device is not compared: on overlay and btrfs file systems maps and stat
// disagree about it.
func statInode(path string, inode uint64) os.FileInfo {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || sys.Ino != inode {
		return nil
	}
	return st
}

// placement is a load bias that a mapping would have if it showed a certain
// segment, and whether there is code in what it then shows.
type placement struct {
	bias uint64
	code bool
}

// placements lists the load biases under which a mapping fits the image; a page
// of a small file may belong to several segments. Protections are not looked at:
// a tracer may have taken the right to execute away, and merged the mapping with
// its neighbours by that. What counts is that the pages of the mapping lie where
// the segments say; a file that is merely read through a mapping covers its
// section table or lacks the distances between segments, and so fits nowhere.
func (im *Image) placements(p *Mapping) []placement {
	var out []placement
	for i, s := range im.Segments {
		if p.Offset < pageDown(s.Offset) || p.Offset >= pageUp(s.Offset+s.FileSize) {
			continue
		}
		delta := pageDown(s.Vaddr) - pageDown(s.Offset) // from offsets to addresses
		bias := p.Start - p.Offset - delta
		if im.Type == elfExec && bias != 0 {
			continue
		}
		// A mapping may begin behind its segment's first page, when mprotect has split
		// it; the bias is the same.
		start, end := p.Offset+delta, p.Offset+delta+(p.End-p.Start)
		if fits, code := im.covers(i, start, end); fits {
			out = append(out, placement{bias, code})
		}
	}
	return out
}

// elfExec is ET_EXEC.
const elfExec = 2

// covers reports whether [start, end) lies within segment i and those that
// continue it in file and memory alike, and whether it shows some code.
func (im *Image) covers(i int, start, end uint64) (fits, code bool) {
	limit := uint64(0)
	delta := im.Segments[i].Vaddr - im.Segments[i].Offset
	for _, s := range im.Segments[i:] {
		low, high := pageDown(s.Vaddr), pageUp(s.Vaddr+s.FileSize)
		if s.Vaddr-s.Offset != delta || limit != 0 && low > limit {
			break
		}
		limit = max(limit, high)
		code = code || s.Prot&Exec != 0 && start < high && end > low
	}
	return end <= limit, code
}

// openMemory reads an image that a process has loaded at base, through the
// segments' places in memory.
func openMemory(memory io.ReaderAt, base uint64, path string) (*Image, error) {
	view := &memoryView{memory: memory}
	view.segments = []memorySegment{{0, pageSize, base}}
	im, err := newImage(source{r: view, size: -1}, path, Options{})
	if err != nil {
		return nil, err
	}
	// In two steps, because the places of everything else are in the headers:
	// Only the headers could be read yet; now that they say where the rest
	// is, once more.
	bias := base - im.MinVaddr()
	view.segments = view.segments[:0]
	for _, s := range im.Segments {
		view.segments = append(view.segments, memorySegment{s.Offset, s.FileSize, s.Vaddr + bias})
	}
	fresh := &Image{Path: path, Name: im.Name, elfFile: elfFile{src: im.src, bias: bias}}
	head, err := fresh.readHeader()
	if err == nil {
		err = fresh.readSegments(head)
	}
	if err != nil {
		return nil, err
	}
	fresh.note(fresh.readDynamic())
	fresh.synthesize()
	return fresh, nil
}

// memoryView shows a loaded image's file contents, as far as they are loaded.
type memoryView struct {
	memory   io.ReaderAt
	segments []memorySegment
}

type memorySegment struct{ offset, size, addr uint64 }

// ReadAt implements io.ReaderAt with file offsets.
func (v *memoryView) ReadAt(p []byte, off int64) (int, error) {
	// A segment's pages overlap with its neighbour's in the file; the first one
	// that has the offset is as good as any, unless written to.
	for _, s := range v.segments {
		if at := uint64(off) - s.offset; at < s.size {
			n := min(uint64(len(p)), s.size-at)
			got, err := v.memory.ReadAt(p[:n], int64(s.addr+at))
			if err == nil && got < len(p) {
				err = io.EOF
			}
			return got, err
		}
	}
	return 0, io.EOF
}
