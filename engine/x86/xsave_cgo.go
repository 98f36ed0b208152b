package x86

/*
#include <cpuid.h>
static void xcomp(unsigned n, unsigned *size, unsigned *off, unsigned *flags) {
	unsigned a = 0, b = 0, c = 0, d = 0;
	__get_cpuid_count(0xd, n, &a, &b, &c, &d);
	*size = a; *off = b; *flags = c;
}
*/
import "C"

// XSaveSize is how many bytes of an XSAVE area hold the legacy region, the
// header and the components in bv, in the standard format or the compacted
// one whose layout xcomp describes.
func XSaveSize(bv, xcomp uint64) uint64 {
	end := uint64(576)
	compact := xcomp>>63 != 0
	at := uint64(576)
	for n := 2; n < 63; n++ {
		marked, present := bv>>n&1 != 0, xcomp>>n&1 != 0
		if !marked && !(compact && present) {
			continue
		}
		var size, off, flags C.uint
		C.xcomp(C.uint(n), &size, &off, &flags)
		start := uint64(off)
		if compact {
			if flags&2 != 0 {
				at = (at + 63) &^ 63
			}
			start = at
			at += uint64(size)
		}
		if marked && start+uint64(size) > end {
			end = start + uint64(size)
		}
	}
	return end
}
