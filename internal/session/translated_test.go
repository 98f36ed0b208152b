package session

import (
	"bytes"
	"testing"
	"testing/iotest"
)

// TestHolds: bytes are found wherever they lie about the ends of what is read at once, and a text that cannot be read has none.
func TestHolds(t *testing.T) {
	what := []byte("__lsan_")
	for _, at := range []int{-1, 0, 64<<10 - 7, 64<<10 - 6, 64<<10 - 1, 64 << 10, 128<<10 - 9, 200 << 10} {
		text := bytes.Repeat([]byte("_"), 200<<10+len(what))
		if at >= 0 {
			copy(text[at:], what)
		}
		if got := holds(bytes.NewReader(text), what); got != (at >= 0) {
			t.Errorf("at %d: %t", at, got)
		}
	}
	if !holds(iotest.OneByteReader(bytes.NewReader([]byte("a__lsan_b"))), what) || holds(iotest.ErrReader(bytes.ErrTooLarge), what) {
		t.Error("read a byte at a time, or not at all")
	}
}
