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
//	12  checksum of what follows of the header, and of the texts
//	16  length of the key
//	20  length of what is said about the entry
//	24  length of the data
//	32  checksum of the data
//	36  zeros up to 64
//	64  the key, what is said about it, zeros up to a multiple of 64, the data
//
// Checksums are CRC-32C: of damage, not of malice, against which only the folder's owner helps.
const (
	magic    = "alleria\x01"
	version  = 1
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

// dataAt is where the data begin behind texts of a length.
func dataAt(texts int) int { return (headSize + texts + 63) &^ 63 }

// head is a header that was read.
type head struct {
	key, about, texts, data int
	sumTexts, sumData       uint32
}

// parseHead reads a header of a file of a size.
func parseHead(b []byte, size int64) (head, error) {
	if len(b) < headSize || string(b[:8]) != magic || binary.LittleEndian.Uint32(b[8:]) != version {
		return head{}, fmt.Errorf("%w: no header", ErrDamaged)
	}
	key, about, data := uint64(binary.LittleEndian.Uint32(b[16:])), uint64(binary.LittleEndian.Uint32(b[20:])), binary.LittleEndian.Uint64(b[24:])
	if key > mostText || about > mostText || key+about > mostText || data > 1<<40 || int64(dataAt(int(key+about)))+int64(data) != size {
		return head{}, fmt.Errorf("%w: it should have another size", ErrDamaged)
	}
	return head{int(key), int(about), int(key + about), int(data), binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint32(b[32:])}, nil
}

// parseTexts checks a header and its texts, which follow it in b.
func (h *head) parseTexts(b []byte) (key, about string, err error) {
	if len(b) < headSize+h.texts || crc32.Checksum(b[16:headSize+h.texts], castagnoli()) != h.sumTexts {
		return "", "", fmt.Errorf("%w: its header's checksum is another", ErrDamaged)
	}
	return string(b[headSize:][:h.key]), string(b[headSize+h.key:][:h.about]), nil
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
	data = file[dataAt(h.texts):][:h.data]
	if crc32.Checksum(data, castagnoli()) != h.sumData {
		return "", "", nil, fmt.Errorf("%w: its checksum is another", ErrDamaged)
	}
	return key, about, data, nil
}

// Load returns the data of an entry, nil if there is none. A damaged one is removed; the error says that. The entry has been used now.
func (d *Dir) Load(key string) ([]byte, error) {
	name := nameOf(key)
	file, err := d.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, _, data, err := Parse(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), d.remove(name))
	}
	if found != key {
		return nil, nil
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

// read reads a whole file.
func (d *Dir) read(name string) ([]byte, error) {
	f, info, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > d.MostEntry+mostText {
		return nil, errors.Join(fmt.Errorf("%s: %w: it is too large", name, ErrDamaged), d.remove(name))
	}
	file := sys.Buffer(int(info.Size()))
	if _, err := io.ReadFull(f, file); err != nil {
		return nil, fmt.Errorf("read what is kept: %w", err)
	}
	return file, nil
}

// readTexts reads a file's header and texts.
func (d *Dir) readTexts(name string) (key, about string, err error) {
	f, info, err := d.open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	b := make([]byte, min(info.Size(), headSize+mostText))
	if _, err := io.ReadFull(f, b); err != nil {
		return "", "", fmt.Errorf("read what is kept: %w", err)
	}
	h, err := parseHead(b, info.Size())
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
	texts := len(key) + len(about)
	head = make([]byte, dataAt(texts))
	copy(head, magic)
	sum, data := uint32(0), 0
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli(), p)
		data += len(p)
	}
	binary.LittleEndian.PutUint32(head[8:], version)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(key)))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(about)))
	binary.LittleEndian.PutUint64(head[24:], uint64(data))
	binary.LittleEndian.PutUint32(head[32:], sum)
	copy(head[headSize:], key)
	copy(head[headSize+len(key):], about)
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[16:headSize+texts], castagnoli()))
	return head, int64(len(head) + data)
}
