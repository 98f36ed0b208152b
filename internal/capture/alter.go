package capture

// How is how something of a call was changed.
type How uint8

// The ways.
const (
	Replaced How = iota // the value itself
	Contents            // bytes of what a pointer leads to
	Failed              // the function was not executed; New is the error
	Told                // nothing was: the function has failed, and New is errno
)

// Errno is what is said of a call that has failed by itself (Program.Fails), in front of its values, as of one that was changed.
func Errno(errno uint32) Changed {
	const result = -1 // as readers number it
	return Changed{Param: result, How: Told, Bytes: 4, New: uint64(errno)}
}

// Changed is one change of a call. In a ring it is ChangedWords words: the parameter in the low half of the first, How from bit 32, Bytes
// from bit 40; the offset; the old and the new bits.
type Changed struct {
	Param    int32 // as readers number it
	How      How
	Bytes    uint8  // of the value: 1 to 8
	Offset   uint64 // Contents: where they are in what the pointer leads to
	Old, New uint64
}

// ChangedWords is how many words a change takes.
const ChangedWords = 4

// AppendChanges appends changes as they come in front of the values of a call that is flagged Altered.
func AppendChanges(dst []uint64, changes []Changed) []uint64 {
	dst = append(dst, uint64(len(changes)))
	for _, c := range changes {
		dst = append(dst, uint64(uint32(c.Param))|uint64(c.How)<<32|uint64(c.Bytes)<<40, c.Offset, c.Old, c.New)
	}
	return dst
}

// Alterable is a thread at a call's entry or return whose values can be changed.
type Alterable interface {
	Machine
	// Set puts a value into a source; false: it cannot be.
	Set(src Source, b []byte) bool
	// WriteAt writes the application's memory, where the application itself could.
	WriteAt(b []byte, addr uint64) bool
	// ThreadBase is the base of fs, 0 where it is not known; it is while a call is left.
	ThreadBase() uint64
	// Map gives the application memory at an address where it has none, whole pages; false: there is some, or the kernel refuses.
	Map(addr, bytes uint64) bool
	// Stack is the stack pointer. Go has the thread go on at another address, with another stack pointer: of an Alteration that is a Jump.
	Stack() uint64
	Go(addr, stack uint64)
}

// Alteration is what is to become of one call at one moment.
type Alteration struct {
	// Leave: the function is not executed. Do has set what it is to have returned.
	Leave bool
	// Jump: Do sends the thread elsewhere, if it calls Go. Nothing is captured.
	Jump bool
	Do   func(m Alterable) []Changed
}
