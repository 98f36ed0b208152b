package rings

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -lpthread
#include "rings.h"
*/
import "C"

// handOver has a producer and a consumer hand n records over and returns the seconds that it took; less than 0: what came
// is not what was sent.
func handOver(kind, words, chunk int, n uint64, producer, consumer int) float64 {
	return float64(C.alleria_bench_ring(C.int(kind), C.size_t(words), C.size_t(chunk), C.ulonglong(n), C.int(producer), C.int(consumer)))
}
