package reuse

import "unsafe"

// flat is what can be kept as it lies in memory: without pointers, and, as files are read by the same binary alone that wrote
// them, of the same layout. A test holds the types that are kept to it.

// bytesOf is the memory of values.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}

// valuesOf is the values that lie in memory of their size, at an address that is a multiple of eight.
func valuesOf[T any](b []byte) []T {
	if len(b) == 0 { // which may lie behind the end of what was read
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/sizeOf[T]())
}

// sizeOf is how many bytes a value takes.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// aligned tells whether memory begins at a multiple of eight.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0 }
