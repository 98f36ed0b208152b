package diskcache

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"

	"alleria/internal/sys"
)

// Data are read in pieces, each with a checksum of its own: a program waits for the translations of all of it, and a second thread takes some of the pieces while another processor
// has nothing to do. Whoever has to have them never waits for a thread that has no processor, but for the one piece that such a thread may have begun.
//
// Refused: a thread for each share of the file, for which the slowest is waited for.

// pieceBytes is the size of a piece but for the last: some fifty microseconds, as much as waking a thread takes.
const pieceBytes = 256 << 10

// largeFrom is from how many bytes on data are read into large pages, each by one thread: to give 32 MiB takes 2.8 ms in those and 9.6 in small ones, reading them 4.
// Less is left to small ones, as large ones may have to be made first.
const largeFrom = 2 * sys.HugePage

// piecesOf is how many pieces so many bytes have.
func piecesOf(data int) int { return (data + pieceBytes - 1) / pieceBytes }

// piece is one of the data's.
func piece(data []byte, n int) []byte {
	return data[n*pieceBytes : min((n+1)*pieceBytes, len(data))]
}

// putSums writes the checksums of the pieces of data that come in parts.
func putSums(to []byte, parts [][]byte) {
	sum, filled, n := uint32(0), 0, 0
	put := func() {
		if filled > 0 {
			binary.LittleEndian.PutUint32(to[4*n:], sum)
			sum, filled, n = 0, 0, n+1
		}
	}
	for _, p := range parts {
		for len(p) > 0 {
			here := p[:min(len(p), pieceBytes-filled)]
			sum, filled, p = crc32.Update(sum, castagnoli(), here), filled+len(here), p[len(here):]
			if filled == pieceBytes {
				put()
			}
		}
	}
	put()
}

// loading is data that are being read.
type loading struct {
	h     head
	head  []byte      // the header, with the checksums
	from  io.ReaderAt // the file
	data  []byte
	alone bool
	large bool // data lie in large pages
	mu    sync.Mutex
	next  int   // the first piece that nobody has begun; guarded by mu
	err   error // guarded by mu
}

// alonePieces is how many pieces are read in about the time that it takes to have another thread begin.
const alonePieces = 16

// read reads all pieces, with the help of another thread where there are enough of them.
func (l *loading) read() ([]byte, error) {
	helped := !l.alone && piecesOf(len(l.data)) > alonePieces && runtime.GOMAXPROCS(0) > 1
	var helps sync.Mutex // held while the other one reads a piece
	if helped {
		go func() {
			for more := true; more; {
				helps.Lock()
				more = l.one()
				helps.Unlock()
			}
		}()
	}
	for l.one() {
	}
	helps.Lock() // nobody begins another one
	defer helps.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	return l.data, nil
}

// one reads a piece that nobody has begun, or those of a large page; false if there is none.
func (l *loading) one() bool {
	l.mu.Lock()
	n, all := l.next, piecesOf(len(l.data))
	done := n >= all || l.err != nil
	end := min(n+l.atOnce(), all)
	if !done {
		l.next = end
	}
	l.mu.Unlock()
	if done {
		return false
	}
	sys.Ahead(l.data[n*pieceBytes : min(end*pieceBytes, len(l.data))])
	for ; n < end; n++ {
		if err := l.readPiece(n); err != nil {
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			return true
		}
	}
	return true
}

// atOnce is how many pieces a thread takes: two threads in one large page would both have it made.
func (l *loading) atOnce() int {
	if l.large {
		return sys.HugePage / pieceBytes
	}
	return 1
}

// readPiece reads a piece.
func (l *loading) readPiece(n int) error {
	b := piece(l.data, n)
	if _, err := l.from.ReadAt(b, int64(dataAt(l.h.texts, l.h.data)+n*pieceBytes)); err != nil {
		return fmt.Errorf("read what is kept: %w", err)
	}
	if crc32.Checksum(b, castagnoli()) != l.h.sumOf(l.head, n) {
		return errSum
	}
	return nil
}
