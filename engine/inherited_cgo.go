package engine

// extern unsigned long long alleria_ignored, alleria_blocked, alleria_closed;
import "C"

// inherited tells which signals this process was started with ignored and
// blocked, bit n-1 for signal n, and which of its first three descriptors
// closed: see launch.c.
func inherited() (ignored, blocked, closed uint64) {
	return uint64(C.alleria_ignored), uint64(C.alleria_blocked), uint64(C.alleria_closed)
}
