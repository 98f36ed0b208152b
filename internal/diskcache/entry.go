package diskcache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"alleria/internal/sys"
)

// An entry's file, numbers in little endian:
//
//	 0  magic, 8 bytes
//	 8  version of this layout
//	12  checksum of what follows of the header, of the texts, and of the pieces' checksums
//	16  length of the key
//	20  length of what is said about the entry
//	24  length of the data
//	32  zeros up to 64
//	64  the key, what is said about it, a checksum of each piece of the data (pieces.go), zeros up to a multiple of 64, the data
//
// Checksums are CRC-32C: of damage, not of malice, against which only the folder's owner helps.
const (
	magic    = "alleria\x01"
	version  = 2
	headSize = 64
	mostText = 64 << 10 // of the two texts together
)

// ErrDamaged means that a file is no entry, or not the one that was written.
var ErrDamaged = errors.New("damaged")

// castagnoli is the polynomial that processors have an instruction for.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// nameOf is the file of a key.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16]) + suffix
}

// dataAt is where the data begin, which are so many bytes, behind texts of a length.
func dataAt(texts, data int) int { return (headSize + texts + 4*piecesOf(data) + 63) &^ 63 }

// head is a header that was read.
type head struct {
	key, about, texts, data int
	sum                     uint32
}

// end is where the header's texts and checksums end.
func (h *head) end() int { return headSize + h.texts + 4*piecesOf(h.data) }

// parseHead reads a header of a file of a size.
func parseHead(b []byte, size int64) (head, error) {
	if len(b) < headSize || string(b[:8]) != magic || binary.LittleEndian.Uint32(b[8:]) != version {
		return head{}, fmt.Errorf("%w: no header", ErrDamaged)
	}
	key, about, data := uint64(binary.LittleEndian.Uint32(b[16:])), uint64(binary.LittleEndian.Uint32(b[20:])), binary.LittleEndian.Uint64(b[24:])
	if key > mostText || about > mostText || key+about > mostText || data > 1<<40 || int64(dataAt(int(key+about), int(data)))+int64(data) != size {
		return head{}, fmt.Errorf("%w: it should have another size", ErrDamaged)
	}
	return head{int(key), int(about), int(key + about), int(data), binary.LittleEndian.Uint32(b[12:])}, nil
}

// parseTexts checks a header, its texts and its checksums, which follow it in b.
func (h *head) parseTexts(b []byte) (key, about string, err error) {
	if len(b) < h.end() || crc32.Checksum(b[16:h.end()], castagnoli()) != h.sum {
		return "", "", fmt.Errorf("%w: its header's checksum is another", ErrDamaged)
	}
	return string(b[headSize:][:h.key]), string(b[headSize+h.key:][:h.about]), nil
}

// sumOf is the checksum of a piece of the data, in a header that was checked.
func (h *head) sumOf(b []byte, piece int) uint32 {
	return binary.LittleEndian.Uint32(b[headSize+h.texts+4*piece:])
}

// Parse takes a whole file apart. The data are part of it, at an address that is a multiple of 64 if the file's is.
func Parse(file []byte) (key, about string, data []byte, err error) {
	h, err := parseHead(file, int64(len(file)))
	if err != nil {
		return "", "", nil, err
	}
	if key, about, err = h.parseTexts(file); err != nil {
		return "", "", nil, err
	}
	data = file[dataAt(h.texts, h.data):][:h.data]
	for n := range piecesOf(h.data) {
		if crc32.Checksum(piece(data, n), castagnoli()) != h.sumOf(file, n) {
			return "", "", nil, errSum
		}
	}
	return key, about, data, nil
}

// errSum means that a piece of the data has another checksum.
var errSum = fmt.Errorf("%w: its checksum is another", ErrDamaged)

// Load returns the data of an entry, nil if there is none. A damaged one is removed; the error says that. The entry has been used now.
func (d *Dir) Load(key string) ([]byte, error) {
	name := nameOf(key)
	data, err := d.read(name, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrDamaged):
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), d.remove(name))
	case data == nil || err != nil:
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(d.path, name), now, now) // it may have been removed
	return data, nil
}

// Drop removes the entry of a key, of which the data turned out to be of no use.
func (d *Dir) Drop(key string) error { return d.remove(nameOf(key)) }

// open opens a file that is the user's own.
func (d *Dir) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := sys.OpenPlain(filepath.Join(d.path, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("read what is kept: %w", err)
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !ours(info)) {
		err = fmt.Errorf("%s: %w", f.Name(), ErrRefused)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// read reads the data of a key's file, nil where it is another key's.
func (d *Dir) read(name, key string) ([]byte, error) {
	f, info, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > d.MostEntry+mostText {
		return nil, fmt.Errorf("%w: it is too large", ErrDamaged)
	}
	b, h, err := readHead(f, info.Size())
	if err != nil {
		return nil, err
	}
	found, _, err := h.parseTexts(b)
	if err != nil || found != key {
		return nil, err
	}
	l := loading{h: h, head: b, from: f, alone: d.Alone, large: h.data >= largeFrom && !d.Small}
	if l.large {
		l.data = sys.LargeBuffer(h.data)
	} else {
		l.data = make([]byte, h.data)
	}
	return l.read()
}

// readHead reads a header with all that is checked with it, of a file of a size.
func readHead(f *os.File, size int64) ([]byte, head, error) {
	b := make([]byte, min(size, firstRead))
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, head{}, fmt.Errorf("read what is kept: %w", err)
	}
	h, err := parseHead(b, size)
	if err != nil || h.end() <= len(b) {
		return b, h, err
	}
	more := make([]byte, h.end())
	if _, err := io.ReadFull(f, more[copy(more, b):]); err != nil {
		return nil, head{}, fmt.Errorf("read what is kept: %w", err)
	}
	return more, h, nil
}

// firstRead is as much as most headers have.
const firstRead = 4 << 10

// readTexts reads a file's header and texts.
func (d *Dir) readTexts(name string) (key, about string, err error) {
	f, info, err := d.open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b, h, err := readHead(f, info.Size())
	if err != nil {
		return "", "", err
	}
	return h.parseTexts(b)
}

// Store writes an entry of data that come in parts, in place of what its key had. What is too large is not kept.
func (d *Dir) Store(key, about string, parts [][]byte) error {
	head, size := header(key, about, parts)
	if size > d.MostEntry || len(key)+len(about) > mostText {
		return nil
	}
	f, err := os.CreateTemp(d.path, begun) // mode 0600
	if err != nil {
		return fmt.Errorf("keep for later runs: %w", err)
	}
	_, err = f.Write(head)
	for _, p := range parts {
		if err == nil {
			_, err = f.Write(p)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.path, nameOf(key)))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep for later runs: %w", err)
	}
	return d.evict()
}

// header is what stands in front of the data, and the size of the file.
func header(key, about string, parts [][]byte) (head []byte, size int64) {
	texts, data := len(key)+len(about), 0
	for _, p := range parts {
		data += len(p)
	}
	head = make([]byte, dataAt(texts, data))
	copy(head, magic)
	binary.LittleEndian.PutUint32(head[8:], version)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(key)))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(about)))
	binary.LittleEndian.PutUint64(head[24:], uint64(data))
	copy(head[headSize:], key)
	copy(head[headSize+len(key):], about)
	putSums(head[headSize+texts:], parts)
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[16:headSize+texts+4*piecesOf(data)], castagnoli()))
	return head, int64(len(head) + data)
}
