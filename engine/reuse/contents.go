package reuse

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"hash/crc64"
	"io"
	"os"

	"alleria/internal/sys"
)

// A file's times say whether it has changed on a disk that is written. In an image of a file system they are what its maker has put there, often the same in
// all versions, and one image may come to lie where another was. So what is to hold in the next run goes by the file's first page besides, in which linkers put the
// build-id, and, where it has none there, by all bytes of the mapping.

// contentKey is a piece of a file that was looked at.
type contentKey struct {
	id           FileVersion
	offset, size uint64
}

// content is a number that tells an image from others of the same version; 0 where nothing is kept between runs, or the file cannot be read.
func (d *Disk) content(path string, im *Image, id FileVersion) uint64 {
	if d == nil {
		return 0
	}
	key := contentKey{id, im.offset, im.End - im.Start}
	n, ok := d.contents[key]
	if !ok {
		n = contentOf(path, im.offset, im.End-im.Start)
		if d.contents == nil {
			d.contents = make(map[contentKey]uint64)
		}
		d.contents[key] = n
	}
	return n
}

// firstPage is how much of a file is looked at for its build-id.
const firstPage = 4096

// contentOf is content of a file.
func contentOf(path string, offset, size uint64) uint64 {
	f, err := sys.OpenPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	page := make([]byte, firstPage)
	n, err := io.ReadFull(f, page)
	if err != nil && err != io.ErrUnexpectedEOF {
		return 0
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	_, _ = sum.Write(page[:n])
	if !hasBuildID(page[:n]) {
		if _, err := io.Copy(sum, io.NewSectionReader(f, int64(offset), int64(size))); err != nil {
			return 0
		}
	}
	return max(sum.Sum64(), 1)
}

// Notes that hold build-ids, by name and type: of GNU's linkers, and of Go's.
const (
	noteGNU, noteGNUBuildID = "GNU\x00", 3
	noteGo, noteGoBuildID   = "Go\x00\x00", 4
)

// hasBuildID tells whether there is a build-id in the first page of an ELF file.
func hasBuildID(page []byte) bool {
	var head elf.Header64
	if _, err := binary.Decode(page, binary.LittleEndian, &head); err != nil || !bytes.HasPrefix(page, []byte(elf.ELFMAG)) || head.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return false
	}
	for i := range uint64(head.Phnum) {
		at := head.Phoff + i*uint64(head.Phentsize)
		var seg elf.Prog64
		if at >= uint64(len(page)) {
			return false
		}
		if _, err := binary.Decode(page[at:], binary.LittleEndian, &seg); err != nil {
			return false
		}
		if elf.ProgType(seg.Type) != elf.PT_NOTE || seg.Off >= uint64(len(page)) {
			continue
		}
		if notesHaveBuildID(page[seg.Off:min(uint64(len(page)), max(seg.Off+seg.Filesz, seg.Off))]) {
			return true
		}
	}
	return false
}

// notesHaveBuildID tells whether one of the notes is a build-id, and whole.
func notesHaveBuildID(notes []byte) bool {
	for len(notes) >= 16 {
		name, desc, kind := uint64(binary.LittleEndian.Uint32(notes)), uint64(binary.LittleEndian.Uint32(notes[4:])), binary.LittleEndian.Uint32(notes[8:])
		end := 12 + (name+3)&^3 + (desc+3)&^3
		if end > uint64(len(notes)) {
			return false
		}
		switch who := string(notes[12:16]); {
		case name == 4 && desc >= 8 && (who == noteGNU && kind == noteGNUBuildID || who == noteGo && kind == noteGoBuildID):
			return true
		}
		notes = notes[end:]
	}
	return false
}
