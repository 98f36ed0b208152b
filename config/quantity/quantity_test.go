package quantity

import "testing"

func TestQuantities(t *testing.T) {
	for in, want := range map[string]uint64{"0": 0, "17": 17, "0x10": 16, "5k": 5000, "2M": 2e6, "3G": 3e9, "1T": 1e12} {
		if got, err := Count(in); err != nil || got != want {
			t.Errorf("count %q: %d, %v; want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]int64{"1": 1, "64K": 65536, "64k": 65536, "10MB": 10 << 20, "2GiB": 2 << 30} {
		if got, err := Size(in); err != nil || got != want {
			t.Errorf("size %q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "-1", "1.5G", "99999999999999T", "1X"} {
		if got, err := Count(in); err == nil {
			t.Errorf("count %q was read as %d", in, got)
		}
	}
	if d, err := Duration("1.5"); err != nil || d.Milliseconds() != 1500 {
		t.Errorf("a bare number of seconds was read as %v, %v", d, err)
	}
}
