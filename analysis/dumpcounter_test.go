package analysis

import (
	"strconv"
	"strings"
	"testing"
)

// TestCounterBeginsAgain: numbers that begin again behind longer ones, as in the next thread, are right where they get a digit more.
func TestCounterBeginsAgain(t *testing.T) {
	var c counter
	for _, from := range []uint64{0, 8, 98, 38_990, 7, 1_990, 8, 0, 99_999_998, 996, 8, 1<<64 - 9, 9, 99} {
		c.set(from)
		for n := from; n < from+8; n++ {
			c.set(n)
			if got, want := strings.TrimSpace(string(c.append(nil, n%2 == 0))), strconv.FormatUint(n, 10); got != want {
				t.Fatalf("%s instead of %s", got, want)
			}
		}
	}
}
