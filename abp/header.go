package abp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"alleria/abp/internal/wire"
)

// Magic is what every file starts with. Like PNG's it is neither text nor
// survives a conversion of line ends.
// The first byte keeps text tools away, the line ends show a transfer in text mode,
// and 0x1a ends the file for DOS's type.
const Magic = "\x89ABP\r\n\x1a\n"

// Versions of the format. A reader takes every minor version of its major one;
// minor versions only add sections, rows, fields and bits.
//
//	1.0  the first
//	1.1  executions of parts of repeated string instructions (InsPart), with the
//	     values of their iterations
//	1.2  rates at which instructions were sampled (Block.Sample)
//	1.3  registers before instructions (Block.Registers)
//	1.4  frames in the second version of their encoding (FrameHeader.Encoding)
//	1.5  and in the third
//	1.6  what a frame's list of blocks does not tell of its counts (FrameSums); blocks that go
//	     on elsewhere (Ins.Far)
//	1.7  frames in the fourth version of their encoding
//	1.8  programs of one process that were recorded one after the other (Header.Generation)
//	     and whether the instruction that made a system call is recorded (Syscall.Place); marks that
//	     readers may pass over; what was
//	     passed over where only bursts were recorded (Sampling)
//	1.9  captured calls of functions (Calls), in a file of their own
//	1.10 what was changed of a call (calls.Change); bursts that stand for processor
//	     time (Sampling.ByTime), and where bursts end (MarkGap)
//	1.11 captured calls as differences (calls.Differences)
//	1.12 who called the function whose call opened or closed a window (WindowEvent.Caller)
//	1.13 captured calls in streams (calls.Streams)
//	1.14 what is mapped, and what has become different since the last snapshot of the address space (Region.Inode, Snapshot.Change)
//	1.15 registers in front of instructions that the recorder executed, and their values (MarkBeside)
//	1.16 errno of calls that have failed (calls.Told); enumerations with values in captured calls (calls.Type.IsVariants);
//	     who has asked for memory without a name (Region.By)
//	1.17 who had called whom where bursts begin (MarkCallers)
//	1.18 packed rows of blocks (AppendPackedRow)
//	1.19 on which goroutine or stack captured calls are (calls.Signature.Goroutine, records of function 0)
const (
	VersionMajor = 1
	VersionMinor = 19
)

// HeaderSize is the size of the fixed header. Bytes from headerOurs on are
// reserved for later versions of this format, those from headerUser on for
// users.
const (
	HeaderSize = 1024
	UserSize   = 512

	headerOurs = 116
	headerUser = HeaderSize - UserSize
	headerCRC  = 16
)

// ProfileType says what a file is.
type ProfileType uint8

// Types of profiles.
const (
	TypeMain         ProfileType = iota + 1 // main.abp
	TypeSub                                 // a processing thread's file
	TypeInterceptors                        // interceptors.abp
	TypeRegions                             // regions.abp
)

// Values of the header's small fields.
const (
	OSLinux = 1

	VendorOther = 0
	VendorIntel = 1
	VendorAMD   = 2

	ArchX8664 = 1
)

// HeaderFlags say what a profile holds.
//
// They say what the configuration asked for, not what happened to be recorded: a file
// without a single branch may well have FlagBranches.
type HeaderFlags uint32

// Header flags.
const (
	FlagInstructions HeaderFlags = 1 << iota // PROFILE sections are present
	FlagAddresses                            // with addresses and sizes of accesses
	FlagValues                               // with their values
	FlagTimeStamps                           // with time stamps
	FlagRoutines                             // with functions
	FlagBranches                             // with branch outcomes
	FlagSchedule                             // with processors
	FlagSyscalls
	FlagSignals
	FlagRegisters // with registers before instructions
)

// Header is what a file says about itself and its process. The numbers are in
// the file's first bytes, the strings in its INFO section; Ended, Counts and
// the address bounds come from the END section, or from the frames where a run
// was cut off.
//
// Its fields are those of the published profiler's header (Alleria, section 2.8).
// Numbers that were not found out are zero.
type Header struct {
	Major, Minor            uint16 // the version that the file was written in
	Type                    ProfileType
	Machine                 // that it was recorded on
	Created, Started, Ended time.Time
	TSCAtStart              uint64 // the time stamp counter at Started
	TSCFrequency            uint64 // Hz
	Process                 uint32 // number in the run, in order of creation
	Generation              uint32 // which of the process's recorded programs this is, from 1; 0 in profiles before 1.8
	PID                     uint32 // the kernel's
	Stream                  uint32 // number of a sub-profile, 0 in a main one
	Flags                   HeaderFlags
	LowestAddr, HighestAddr uint64 // of the application
	Counts                  Counts // recorded in this file; of a main profile, in all

	Executable  string   // path of the program
	SystemDir   string   // where the system's libraries are
	WorkDir     string   // the process's at its start
	OSVersion   string   // as uname has it
	CommandLine []string // argv, as it was

	User [UserSize]byte // free for users; readers hand it through
}

// Machine is what a profile was recorded on.
type Machine struct {
	OS           uint8 // OSLinux
	Vendor       uint8 // of the processor
	Arch         uint8 // of the processor
	TargetArch   uint8 // that the program was built for
	VirtualBits  uint8 // size of virtual addresses
	PhysicalBits uint8 // size of physical ones, 0: not recorded
	PageSize     uint32
	Memory       uint64 // installed, bytes
}

// Errors of files that are none of ours.
var (
	ErrNotProfile = errors.New("not a profile")
	ErrVersion    = errors.New("profile of an unknown version")
)

// castagnoli returns the polynomial's table, which crc32 makes once: no variable of
// ours is needed.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum is CRC-32C, which processors compute at memory speed.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

// unixNano and fromUnixNano keep the zero Time, which UnixNano is not defined for, as 0.
func unixNano(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func fromUnixNano(v uint64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(v))
}

// AppendFixed appends the fixed header.
// The checksum covers all bytes, its own as zeroes.
func (h *Header) AppendFixed(dst []byte) []byte {
	e := wire.Encoder{B: make([]byte, 0, HeaderSize)}
	e.B = append(e.B, Magic...)
	e.U16(VersionMajor)
	e.U16(VersionMinor)
	e.U32(HeaderSize)
	e.U32(0) // the checksum
	for _, v := range [...]uint8{uint8(h.Type), h.OS, h.Vendor, h.Arch, h.TargetArch, h.VirtualBits, h.PhysicalBits, 0} {
		e.U8(v)
	}
	e.U32(h.PageSize)
	e.U64(unixNano(h.Created))
	e.U64(unixNano(h.Started))
	e.U64(h.TSCAtStart)
	e.U64(h.TSCFrequency)
	for _, v := range [...]uint32{h.Process, h.PID, h.Stream, uint32(h.Flags)} {
		e.U32(v)
	}
	e.U64(h.Memory)
	e.U64(h.LowestAddr)
	e.U64(h.HighestAddr)
	e.U32(h.Generation)
	e.B = append(e.B, make([]byte, headerUser-len(e.B))...)
	e.B = append(e.B, h.User[:]...)
	binary.LittleEndian.PutUint32(e.B[headerCRC:], checksum(e.B))
	return append(dst, e.B...)
}

// decodeFixed reads the fixed header.
//
// Magic and version are looked at before the checksum: a file of another format is not
// to be called damaged.
func (h *Header) decodeFixed(b []byte) error {
	if len(b) < HeaderSize || string(b[:len(Magic)]) != Magic {
		return ErrNotProfile
	}
	d := wire.Decoder{B: b[len(Magic):HeaderSize]}
	h.Major, h.Minor = d.U16(), d.U16()
	if h.Major != VersionMajor {
		return fmt.Errorf("%w: %d.%d", ErrVersion, h.Major, h.Minor)
	}
	if n := d.U32(); n != HeaderSize {
		return fmt.Errorf("header of %d bytes: %w", n, ErrCorrupt)
	}
	want := d.U32()
	zeroed := append([]byte(nil), b[:HeaderSize]...)
	clear(zeroed[headerCRC : headerCRC+4])
	if checksum(zeroed) != want {
		return fmt.Errorf("header checksum: %w", ErrCorrupt)
	}
	h.Type = ProfileType(d.U8())
	h.OS, h.Vendor, h.Arch, h.TargetArch = d.U8(), d.U8(), d.U8(), d.U8()
	h.VirtualBits, h.PhysicalBits, _ = d.U8(), d.U8(), d.U8()
	h.PageSize = d.U32()
	h.Created, h.Started = fromUnixNano(d.U64()), fromUnixNano(d.U64())
	h.TSCAtStart, h.TSCFrequency = d.U64(), d.U64()
	h.Process, h.PID, h.Stream, h.Flags = d.U32(), d.U32(), d.U32(), HeaderFlags(d.U32())
	h.Memory, h.LowestAddr, h.HighestAddr = d.U64(), d.U64(), d.U64()
	h.Generation = d.U32()
	copy(h.User[:], b[headerUser:HeaderSize])
	return d.Err
}

// AppendInfo appends the header's strings, as the payload of an INFO section.
func (h *Header) AppendInfo(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.Str(h.Executable)
		e.Str(h.SystemDir)
		e.Str(h.WorkDir)
		e.Str(h.OSVersion)
		e.Strs(h.CommandLine)
	})
}

// decodeInfo reads what AppendInfo wrote.
func (h *Header) decodeInfo(d *wire.Decoder) {
	h.Executable = d.Str()
	h.SystemDir = d.Str()
	h.WorkDir = d.Str()
	h.OSVersion = d.Str()
	h.CommandLine = d.Strs()
}

// TimeOf converts a time stamp to wall-clock time, as well as the header's
// frequency allows.
//
// It is as good as the frequency is: an error in that adds up from the start on.
// Without a frequency all times are the start.
func (h *Header) TimeOf(tsc uint64) time.Time {
	if h.TSCFrequency == 0 {
		return h.Started
	}
	ticks := int64(tsc - h.TSCAtStart)
	seconds := float64(ticks) / float64(h.TSCFrequency)
	return h.Started.Add(time.Duration(seconds * float64(time.Second)))
}
