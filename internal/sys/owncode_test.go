package sys

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// ownCode is our executable's code, and how many kilobytes of it this process holds.
func ownCode(t *testing.T) (start, end int64, held int) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inCode := false
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 6 && f[1] == "r-xp" && f[5] == self:
			if _, err := fmt.Sscanf(f[0], "%x-%x", &start, &end); err != nil {
				t.Fatal(err)
			}
			inCode = true
		case inCode && f[0] == "Rss:":
			if _, err := fmt.Sscanf(f[1], "%d", &held); err != nil {
				t.Fatal(err)
			}
			return start, end, held
		}
	}
	t.Fatal("no mapping of our code")
	return 0, 0, 0
}

// Our own code is forgotten and goes on: what was used by nobody but the kernel, which read all of it here, is not held any more. What others of the process execute meanwhile
// comes back, so that it is tried again.
func TestForgetOwnCode(t *testing.T) {
	start, end, _ := ownCode(t)
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for n := 1; ; n++ {
		if _, err := mem.ReadAt(make([]byte, end-start), start); err != nil {
			t.Fatal(err)
		}
		_, _, before := ownCode(t)
		if err := ForgetOwnCode(); err != nil {
			t.Fatal(err)
		}
		_, _, after := ownCode(t)
		if before*1024 >= int(end-start)/2 && after <= before/4*3 {
			return
		}
		if n == 10 {
			// As the linker has just written it the file lies in the page cache in large pieces, and a fault maps a whole one; a copy of it does not.
			t.Skipf("%d kilobytes of %d are held, of %d: a file that was just linked comes back in large pieces", after, before, (end-start)/1024)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
