package engine

import (
	"encoding/binary"
	"fmt"
	"os"

	"alleria/internal/sys"
)

// A program that was executed by one that gave up its rights, or that sees another file system or is in another user
// namespace, cannot open our memory by the tracer's descriptors in /proc. It makes a pair of sockets then, of which the
// tracer takes one, and is sent the descriptor.

const (
	sysRecvmsg    = 47
	sysSocketpair = 53
)

// openShared opens a file of ours in the target: by its path, or sent through a socket. scratch is memory of the
// target's with room for handBytes.
func (in *injector) openShared(path uint64, file *os.File, scratch uint64) (uint64, error) {
	fd, err := in.call(sysOpen, path, openReadWrite, 0)
	if err == nil {
		return fd, nil
	}
	fd, serr := in.receive(file, scratch)
	if serr != nil {
		return 0, fmt.Errorf("%w (sent by a socket: %w)", err, serr)
	}
	return fd, nil
}

// handBytes is how much memory receive needs.
const handBytes = 128

// receive has the target receive a descriptor.
func (in *injector) receive(file *os.File, scratch uint64) (fd uint64, err error) {
	const (
		unixSocket, datagram = 1, 2 | closeOnExec
		vector, control      = 64, 80 // behind the message's head
		controlSize          = 24
		receiveCloseOnExec   = 0x40000000
	)
	if _, err := in.call(sysSocketpair, unixSocket, datagram, 0, scratch); err != nil {
		return 0, fmt.Errorf("socketpair: %w", err)
	}
	b := make([]byte, handBytes)
	if _, err := in.mem.ReadAt(b[:8], int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	ours, theirs := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b)
	defer func() {
		for _, s := range []uint32{ours, theirs} {
			if _, cerr := in.call(sysClose, uint64(s)); err == nil && cerr != nil {
				err = fmt.Errorf("close: %w", cerr)
			}
		}
		_, _ = in.mem.WriteAt(make([]byte, handBytes), int64(scratch))
	}()
	if err := sys.SendFile(in.t.tid, int(ours), file); err != nil {
		return 0, err
	}
	clear(b)
	for at, w := range map[int]uint64{16: scratch + vector, 24: 1, 32: scratch + control, 40: controlSize,
		vector: scratch + handBytes - 8, vector + 8: 1} { // struct msghdr and iovec
		binary.LittleEndian.PutUint64(b[at:], w)
	}
	if _, err := in.mem.WriteAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	if _, err := in.call(sysRecvmsg, uint64(theirs), scratch, receiveCloseOnExec); err != nil {
		return 0, fmt.Errorf("recvmsg: %w", err)
	}
	if _, err := in.mem.ReadAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	return uint64(binary.LittleEndian.Uint32(b[control+16:])), nil
}

// closeOnExec is O_CLOEXEC, and SOCK_CLOEXEC.
const closeOnExec = 0o2000000
