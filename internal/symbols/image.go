package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// Prot says what may be done with the memory of a segment or a mapping.
type Prot uint8

// The bits of Prot. They are not the kernel's PROT_ values nor ELF's PF_ ones,
// which disagree with each other.
const (
	Read Prot = 1 << iota
	Write
	Exec
)

// String gives the protection as /proc/PID/maps writes it.
func (p Prot) String() string {
	s := []byte("---")
	for i, c := range "rwx" {
		if p&(1<<i) != 0 {
			s[i] = byte(c)
		}
	}
	return string(s)
}

// Segment is one PT_LOAD of an image.
type Segment struct {
	Offset   uint64 // in the file
	Vaddr    uint64 // as the file states it, before any load bias
	FileSize uint64
	MemSize  uint64 // at least FileSize, the rest is zeroes
	Prot     Prot
}

// contains reports whether the segment's memory holds the address.
func (s Segment) contains(vaddr uint64) bool {
	return vaddr-s.Vaddr < s.MemSize
}

// Image is an ELF file, opened. The exported fields are immutable.
type Image struct {
	Path     string    // as given to Open
	Name     string    // the file's own name, links resolved, as maps has it: the "image" of image+0xOFFSET
	Type     elf.Type  // ET_EXEC or ET_DYN, also ET_REL and ET_CORE for a file that cannot run
	Entry    uint64    // the first instruction, 0 in most libraries
	Segments []Segment // in the file's order, which is that of addresses
	Interp   string    // the dynamic loader asked for, empty when static
	BuildID  string    // in lower-case hexadecimal, empty when absent
	Dynamic  bool      // has a dynamic section, so a dynamic symbol table
	PIE      bool      // an ET_DYN that is meant to be executed

	elfFile
	functionTable
	symbolTables
	lineCache
	slotTable
}

// elfFile is where an image's bytes are, and what its headers say of them that is nobody else's
// business. It is immutable once newImage has returned.
type elfFile struct {
	src      source
	opened   time.Time
	opts     Options
	sections []section
	dyn      dynamic
	golang   bool   // made by the Go linker
	bias     uint64 // of addresses in the dynamic section, for images read from memory
}

// functionTable is an image's functions, made when the first is asked for (fnOnce), with their
// demangled names (nameOnce), its sum (sumOnce), an earlier run's (keptOnce) and an index of names (indexOnce); what each makes is immutable afterwards.
type functionTable struct {
	fnOnce sync.Once
	made   atomic.Bool  // the table of functions: it answers faster than a search of the symbols
	scans  atomic.Int32 // how often the symbols were searched instead
	// lookups are of exact names in the table of functions; byName is an index made after many.
	lookups   atomic.Int32
	indexOnce sync.Once
	byName    map[string][]int32

	fns     []Function
	maxEnd  []uint64 // maxEnd[i]: the highest end of fns[:i+1], what bounds a Lookup's way back
	problem error
	// kept is the table as an earlier run has left it, looked for by whoever needs some of it first (keptOnce); isKept: it is the one that fns are of.
	keptOnce sync.Once
	kept     []byte
	isKept   bool

	sumOnce sync.Once
	sum     uint64

	nameOnce  sync.Once
	demangled []demangledName
}

// symbolTables are the symbols as the file has them, for searches without the table of
// functions. The collector may take them between two searches.
type symbolTables struct {
	tablesMu sync.Mutex
	tables   weak.Pointer[[]nameTable] // guarded by tablesMu; see keptTables
}

// lineCache is the line table, once a line was asked for.
type lineCache struct {
	lineMu sync.Mutex
	lines  *lineTable // guarded by lineMu
}

// Options are what the search for names outside of the image depends on. The
// zero value is what the system has.
type Options struct {
	// DebugDirs hold .build-id/ and copies of the file system with separate
	// debug files; nil means /usr/lib/debug.
	DebugDirs []string
	// Fetcher gets debug files from elsewhere when no directory has them; nil
	// means no such search. package debuginfod has the usual one.
	Fetcher Fetcher
	// WholeTables has exact names, too, looked for in the table of functions: for
	// comparison.
	WholeTables bool
	// Kept is where tables of functions stay between runs (Cache.Keep); nil: nowhere.
	// KeptFor is what they depend on besides files: who makes them.
	Kept    Store
	KeptFor string
}

// Static reports whether the kernel starts the image by itself, without a
// dynamic loader.
func (im *Image) Static() bool { return im.Interp == "" }

// Open reads the headers of the ELF file at path, with the debug directories
// of the system. The file stays open until Close.
func Open(path string) (*Image, error) {
	return OpenWith(path, Options{})
}

// OpenWith is Open with other places to search.
func OpenWith(path string, opts Options) (*Image, error) {
	opened := time.Now()
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open image: %w", err)
	}
	// A FIFO or a device would block or never end; the kernel executes neither.
	if !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("open image %s: %w", path, ErrNotExecutable)
	}
	im, err := newImage(source{r: f, size: st.Size(), close: f.Close}, path, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	im.opened = opened
	// python3 is a link to python3.11, and that is what a process's maps say;
	// names made before and after the program has started have to agree.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		im.Name = filepath.Base(real)
	}
	return im, nil
}

// OpenReader reads an image that is no file of its own, such as the vdso copied
// from memory. A reader with a Size method (bytes.Reader, io.SectionReader)
// is spared reads past its end.
func OpenReader(r io.ReaderAt, name string) (*Image, error) {
	size := int64(-1)
	if s, ok := r.(interface{ Size() int64 }); ok {
		size = s.Size()
	}
	return newImage(source{r: r, size: size}, name, Options{})
}

// newImage parses the headers. It does not close src on error: the caller
// opened it.
func newImage(src source, path string, opts Options) (*Image, error) {
	im := &Image{Path: path, Name: filepath.Base(path), elfFile: elfFile{src: src, opts: opts}}
	head, err := im.readHeader()
	if err != nil {
		return nil, fmt.Errorf("open image %s: %w", path, err)
	}
	if err := im.readSegments(head); err != nil {
		return nil, fmt.Errorf("open image %s: %w", path, err)
	}
	// Neither the section table nor the dynamic section is needed to run a
	// program, so damage in them costs names and is no error.
	im.note(im.readSections(head))
	im.note(im.readDynamic())
	im.synthesize()
	if im.BuildID == "" {
		im.buildIDFromSections()
	}
	return im, nil
}

// Close lets go of the file. Functions already made stay valid, as their names
// are copies; tables not yet read come out empty.
func (im *Image) Close() error {
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	err := im.lines.close()
	if im.src.close != nil {
		err = errors.Join(err, im.src.close())
	}
	return err
}

// Problem says what could not be read of the image's tables, nil when all was
// well. It makes the function table if there is none yet.
func (im *Image) Problem() error {
	im.Functions()
	return im.problem
}

// note remembers damage that costs names only. Called while the image or its
// function table is being made, so never by two goroutines.
func (im *Image) note(err error) {
	if err != nil {
		im.problem = errors.Join(im.problem, err)
	}
}

// MinVaddr is the lowest address that the image states, rounded down to its
// page: what a load bias is added to for the lowest address in a process.
func (im *Image) MinVaddr() uint64 {
	if len(im.Segments) == 0 {
		return 0
	}
	low := ^uint64(0)
	for _, s := range im.Segments {
		low = min(low, s.Vaddr)
	}
	return pageDown(low)
}

// segment finds the segment of an address.
func (im *Image) segment(vaddr uint64) (Segment, bool) {
	for _, s := range im.Segments {
		if s.contains(vaddr) {
			return s, true
		}
	}
	return Segment{}, false
}

// executable reports whether an address is in code. A symbol that isn't is no
// function, whatever its type says.
func (im *Image) executable(vaddr uint64) bool {
	s, ok := im.segment(vaddr)
	return ok && s.Prot&Exec != 0
}

// ReadVaddr fills p from the file's contents at a virtual address, as much as
// the segment's file part has, and returns how much that was.
func (im *Image) ReadVaddr(p []byte, vaddr uint64) (int, error) {
	s, ok := im.segment(vaddr)
	if !ok || vaddr-s.Vaddr >= s.FileSize {
		return 0, fmt.Errorf("read %s at %#x: no file contents there", im.Name, vaddr)
	}
	at := vaddr - s.Vaddr
	n, err := im.src.readAt(p[:min(uint64(len(p)), s.FileSize-at)], s.Offset+at)
	if n > 0 {
		return n, nil // a short read is for the caller to notice by n
	}
	return 0, fmt.Errorf("read %s at %#x: %w", im.Name, vaddr, err)
}

// offsetOf turns an address into a file offset.
func (im *Image) offsetOf(vaddr uint64) (uint64, bool) {
	// An image read from a process has been relocated: some loaders add the
	// load bias to the pointers of the dynamic section in place, some don't,
	// so either has to be taken.
	for _, v := range []uint64{vaddr, vaddr - im.bias} {
		if s, ok := im.segment(v); ok && v-s.Vaddr < s.FileSize {
			return s.Offset + v - s.Vaddr, true
		}
	}
	return 0, false
}

// parseBuildID finds the GNU build-id among the notes.
func parseBuildID(notes []byte) string {
	c := cursor{b: notes}
	for c.left() >= 12 {
		nameSize, descSize, kind := c.u32(), c.u32(), c.u32()
		name := c.take(uint64(nameSize))
		c.align(4)
		desc := c.take(uint64(descSize))
		c.align(4)
		if c.bad {
			return ""
		}
		if kind == ntGNUBuildID && bytes.Equal(name, []byte("GNU\x00")) {
			return hex.EncodeToString(desc)
		}
	}
	return ""
}

// ntGNUBuildID is NT_GNU_BUILD_ID of <elf.h>.
const ntGNUBuildID = 3

// Go tells whether the image was made by Go's linker.
func (im *Image) Go() bool { return im.golang }
