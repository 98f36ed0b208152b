package calls

// Record is one entry or return of a function, or a part of one.
type Record struct {
	Exit bool
	More bool // the thread's next Record goes on with the values
	Cut  bool // a bound ended the capture
	// Altered: the number of changes and the changes stand in front of the values.
	Altered bool
	Func    uint32
	TSC     uint64
	SP      uint64 // where the return address lies
	Ret     uint64 // the return address
	Words   []uint64
}

// The words of a mark in a ring, as internal/capture has them.
const (
	markMore  = 1 << 8
	markCut   = 1 << 9
	markAlter = 1 << 10
	markFunc  = 16
	markWords = 4
)

// FromMark takes a mark's words apart, those behind the mark itself. The Record refers to them.
func FromMark(w []uint64) (r Record, ok bool) {
	if len(w) < markWords || w[0]&0xff > 1 {
		return r, false
	}
	return Record{Exit: w[0]&0xff == 1, More: w[0]&markMore != 0, Cut: w[0]&markCut != 0, Altered: w[0]&markAlter != 0, Func: uint32(w[0] >> markFunc),
		TSC: w[1], SP: w[2], Ret: w[3], Words: w[markWords:]}, true
}
