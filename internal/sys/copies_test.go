package sys

import (
	"os"
	"testing"
)

func TestFaultsOf(t *testing.T) {
	const stat = "12 (a) b (c) S 1 2 3 4 5 6 700 8 30 9 10 11"
	if n, ok := faultsOf([]byte(stat)); n != 730 || !ok {
		t.Errorf("%d, %t", n, ok)
	}
	for _, bad := range []string{"", "12 (a) S 1 2", "12 (a) S 1 2 3 4 5 6 x 8 30 9 10"} {
		if _, ok := faultsOf([]byte(bad)); ok {
			t.Errorf("%q has faults", bad)
		}
	}
	c := OpenCopies(os.Getpid())
	defer c.Close()
	before, ok := c.Faults()
	touch := make([]byte, 64<<20)
	for i := 0; i < len(touch); i += PageSize {
		touch[i] = 1
	}
	if after, _ := c.Faults(); !ok || after <= before {
		t.Errorf("%d faults, then %d", before, after)
	}
}

// TestCopiesOfNobody: where the kernel does not say, all pages may be copies.
func TestCopiesOfNobody(t *testing.T) {
	c := OpenCopies(1 << 30)
	defer c.Close()
	const pages = 3000 // more than one question
	got := c.In(0x1000, 0x1000+pages*PageSize, nil)
	if len(got) != pages || got[0] != 0x1000 || got[pages-1] != pages*PageSize {
		t.Errorf("%d pages", len(got))
	}
	if _, ok := c.Faults(); ok {
		t.Error("it has faults")
	}
}
