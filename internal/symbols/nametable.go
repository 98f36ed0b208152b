package symbols

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"weak"
)

// nameTable is a symbol table of an image with its strings.
type nameTable struct {
	im      *Image
	file    *Image // that it is in: im, or its debug file
	section section
	names   string
	from    Source
	// of dynamic symbols, read when the first is asked for
	versions     []byte
	versionNames map[uint16]string
	versionsRead bool
}

// keptTables is nameTables, read anew only if the collector has taken them since: the names
// that a configuration has are looked up one after the other, and then hardly ever again.
func (im *Image) keptTables() ([]nameTable, bool) {
	im.tablesMu.Lock()
	defer im.tablesMu.Unlock()
	if t := im.tables.Value(); t != nil {
		return slices.Clone(*t), true
	}
	t, ok := im.nameTables()
	if ok {
		im.tables = weak.Make(&t)
	}
	return slices.Clone(t), ok
}

// nameTables gives the symbol tables that collect would read. ok is false where names come
// from elsewhere, or a table cannot be read. A debug file that some are in stays open until
// the collector finds that nobody has them.
func (im *Image) nameTables() (tables []nameTable, ok bool) {
	read := func(file *Image, name string, from Source) bool {
		s, found := file.section(name)
		if !found || s.kind != elf.SHT_SYMTAB && s.kind != elf.SHT_DYNSYM {
			return true
		}
		if uint64(s.link) >= uint64(len(file.sections)) {
			return false
		}
		names, err := file.readString(file.sections[s.link])
		tables = append(tables, nameTable{im: im, file: file, section: s, names: names, from: from})
		return err == nil
	}
	if !read(im, ".symtab", SymbolTable) {
		return nil, false
	}
	functions := false
	for i := range tables {
		err := im.records(tables[i].section, func(_ uint64, b []byte) bool {
			_, functions = im.function(b, tables[i].names, im)
			return !functions
		})
		if err != nil {
			return nil, false
		}
	}
	ok = read(im, ".dynsym", DynamicTable)
	if functions || !ok {
		return tables, ok
	}
	if _, found := im.section(".gnu_debugdata"); found || im.golang {
		return nil, false
	}
	debug, err := im.debugImage()
	if debug == nil || err != nil {
		return tables, err == nil
	}
	return tables, read(debug, ".symtab", DebugFile)
}

// called calls f with the functions whose names contain a text; false where the table
// cannot be read.
func (t *nameTable) called(text string, f func(symbol)) bool {
	where := occurrences(t.names, text)
	if len(where) == 0 {
		return true
	}
	err := t.file.records(t.section, func(i uint64, b []byte) bool {
		off := binary.LittleEndian.Uint32(b)
		// The last stretch that does not begin behind it.
		k := sort.Search(len(where), func(k int) bool { return where[k].start > off })
		if k > 0 && off <= where[k-1].last {
			t.pass(i, b, f)
		}
		return true
	})
	return err == nil
}

// at calls f with the functions at these addresses, which are sorted; false where the
// table cannot be read.
func (t *nameTable) at(addrs []uint64, f func(symbol)) bool {
	err := t.file.records(t.section, func(i uint64, b []byte) bool {
		if _, ok := slices.BinarySearch(addrs, binary.LittleEndian.Uint64(b[8:])); ok {
			t.pass(i, b, f)
		}
		return true
	})
	return err == nil
}

// each calls f with all functions. What cannot be read is left out.
func (t *nameTable) each(f func(symbol)) {
	_ = t.file.records(t.section, func(i uint64, b []byte) bool {
		t.pass(i, b, f)
		return true
	})
}

// pass decodes a symbol and hands it on if it is a function's.
func (t *nameTable) pass(i uint64, b []byte, f func(symbol)) {
	s, ok := t.im.function(b, t.names, t.file)
	if !ok {
		return
	}
	if t.section.kind == elf.SHT_DYNSYM && !t.versionsRead {
		t.versionsRead = true
		t.versions, t.versionNames = t.file.versions()
	}
	s.source = t.from
	s.setVersion(i, t.versions, t.versionNames)
	f(s)
}

// stretch is where names in a string table begin that contain a text: linkers let names
// share their ends, so that one may begin anywhere up to the text's last occurrence.
type stretch struct{ start, last uint32 }

// occurrences finds a text in a table of strings that end in zero bytes.
//
// What is looked for is the byte of the text that names have least of: strings.Index, which
// looks for the first, was five times as slow, as most names begin alike.
func occurrences(names, text string) []stretch {
	var out []stretch
	rare := rarest(text)
	for from := rare; from < len(names); {
		at := strings.IndexByte(names[from:], text[rare])
		if at < 0 {
			break
		}
		at += from - rare
		from = at + rare + 1
		if !strings.HasPrefix(names[at:], text) {
			continue
		}
		start := strings.LastIndexByte(names[:at], 0) + 1
		if last := len(out) - 1; last >= 0 && out[last].start == uint32(start) {
			out[last].last = uint32(at)
		} else {
			out = append(out, stretch{uint32(start), uint32(at)})
		}
	}
	slices.SortFunc(out, func(x, y stretch) int { return cmp.Compare(x.start, y.start) })
	return out
}

// rarest is the place of the byte in a text that is met least often in names.
func rarest(text string) int {
	// Mangled names' bytes in order, as counted in those of a compiler, a C library and a browser.
	const common = "_eitrnasocdNSEplKmTugfRPIZ1h230bvCLkyBx4w5F6vMVAzqjD78G9OUWHJXYQ"
	best, place := -1, 0
	for i := range len(text) {
		rank := strings.IndexByte(common, text[i])
		if rank < 0 {
			return i
		}
		if rank > best {
			best, place = rank, i
		}
	}
	return place
}
