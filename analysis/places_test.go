package analysis

import (
	"testing"

	"alleria/abp"
)

func TestRegionsWithoutSnapshot(t *testing.T) {
	p := openDemo(t).Process(1)
	name := func(addr uint64) string {
		for _, r := range layoutRegions(p) {
			if addr >= r.Lo && addr < r.Hi {
				return r.Name
			}
		}
		return ""
	}
	for addr, want := range map[uint64]string{
		0x401000:       "demo",
		0x4c0000:       "[heap]",
		0x7ffff7c01000: "libc.so.6",
		0x7fffffffe000: "[stack]",
		0x7ffff0000000: "", // a mapping below the libraries
		0x10000:        "",
	} {
		if got := name(addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	pl := newPlaces(openDemo(t).Process(1))
	for addr, want := range map[uint64]string{
		0x401000:       "main",
		0x4010ff:       "main+0xff",
		0x401100:       "demo::work",
		0x401140:       "demo+0x1140",
		0x400000:       "demo",
		0x3fffff:       "",
		0x7ffff7c01000: "memcpy",
		0x7ffff7dfffff: "libc.so.6+0x1fffff",
		0x7ffff7e00000: "",
	} {
		if got := pl.describe(addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
	if img := pl.image(&abp.Block{Addr: 0x401000}); img == nil || !img.Main {
		t.Errorf("a block without an image's number: %+v", img)
	}
	if imageName(nil) != noImage {
		t.Error("code in no image has no name")
	}
}
