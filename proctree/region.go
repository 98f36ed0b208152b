package proctree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"alleria/internal/sys"
)

// lockPatience is how long the lock is waited for. Its holders keep it for less than a
// millisecond; one that was stopped in between may be a process that we ourselves have
// stopped, so that waiting without end could be for ever.
const lockPatience = 2 * time.Second

// Why the database cannot be used.
var (
	errBusy    = errors.New("its lock is held for too long")
	errForeign = errors.New("the file is not this user's alone")
	errFull    = errors.New("all slots are taken")
	errChanged = errors.New("somebody else has changed the file")
)

// region is the mapped file. A nil region is none.
type region struct {
	path  string
	file  *os.File
	bytes []byte
	// step is called before each step after which a death leaves something that the next
	// one has to clean; nil but in tests.
	step func(string)
}

// at tells a test where we are.
func (r *region) at(point string) {
	if r.step != nil {
		r.step(point)
	}
}

// openRegion returns the region mapped, cleaned and locked. With create it is made if it
// is not there; else the error is fs.ErrNotExist.
func openRegion(dir string, create bool, step func(string)) (*region, error) {
	path, err := regionPath(dir)
	if err != nil {
		return nil, err
	}
	how := os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if create {
		how |= os.O_CREATE
	}
	// Again if the last tracer has removed it between our opening and locking it. Each
	// round means that somebody else got further, so that a few are enough.
	for range 100 {
		f, err := sys.OpenPlain(path, how, 0o600)
		if err != nil {
			return nil, err // the path stands in it
		}
		r := &region{path: path, file: f, step: step}
		r.at("opened")
		err = r.enter()
		if err == nil {
			return r, nil
		}
		r.release()
		if !errors.Is(err, errRemoved) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil, fmt.Errorf("%s: %w", path, errBusy)
}

// errRemoved says that the file has no name any more, or that the name is another's.
var errRemoved = errors.New("removed meanwhile")

// enter locks, checks and maps the file, makes a region of it if it is none, and cleans.
func (r *region) enter() error {
	if own, err := sys.SingleLink(r.file); err != nil || !own {
		return errors.Join(errForeign, err)
	}
	if err := r.lock(); err != nil {
		return err
	}
	if !r.named() {
		return errRemoved
	}
	r.at("locked")
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return errForeign
	}
	if err := r.size(info); err != nil {
		return err
	}
	if r.bytes, err = sys.MapShared(r.file, 0, regionSize); err != nil {
		return err
	}
	return r.guard(func() error {
		if r.header().magic.Load() != magic {
			r.format()
		}
		r.clean()
		return nil
	})
}

// size gives a new file its length, and memory for what is always used. The rest is
// sparse: it costs nothing until processes need it.
func (r *region) size(info fs.FileInfo) error {
	if info.Size() == regionSize {
		return sys.Allocate(r.file, 0, processesAt) // there already, if nobody died in here
	}
	r.at("before the size")
	err := r.file.Chmod(0o600) // whatever the umask took
	if err == nil {
		err = r.file.Truncate(regionSize)
	}
	r.at("before the room")
	if err == nil {
		err = sys.Allocate(r.file, 0, processesAt)
	}
	if err != nil {
		_ = os.Remove(r.path) // it is new and of no use to anybody
	}
	return err
}

// format makes a region of a file that is none. The file may be new, or left by somebody
// who died in here.
func (r *region) format() {
	for i := range treeSlots {
		r.tree(i).id.Store(0)
	}
	r.header().allocated.Store(0)
	r.at("before the magic")
	r.header().magic.Store(magic)
}

// named tells whether the path still leads to our file.
func (r *region) named() bool {
	mine, err := r.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(r.path)
	return err == nil && os.SameFile(mine, there)
}

// lock waits for the lock, with patience. By asking again: a wait in the kernel has no
// end, and would hold the thread that other processes' stops are answered from.
func (r *region) lock() error {
	pause := 20 * time.Microsecond
	for end := time.Now().Add(lockPatience); ; pause = min(2*pause, 2*time.Millisecond) {
		got, err := sys.TryLock(r.file)
		if got || err != nil {
			return err
		}
		if time.Now().After(end) {
			return errBusy
		}
		time.Sleep(pause)
	}
}

// unlock gives the lock back. That fails only for a file that is closed, which has none.
func (r *region) unlock() { _ = sys.Unlock(r.file) }

// clean frees what dead tracers left and returns how many trees live. The lock is held.
//
// A slot of a process is freed if its owner is no live tree: also where its tracer died
// after it had given its own slot back. A tree's id is published before any process has
// it for owner, under the lock, so that no live one's are taken.
func (r *region) clean() (live int) {
	ids := map[uint32]bool{}
	for i := range treeSlots {
		t := r.tree(i)
		id := t.id.Load()
		if id == 0 {
			continue
		}
		if sys.Alive(int(t.pid.Load()), t.start.Load()) {
			ids[id] = true
			continue
		}
		r.at("before a dead tree")
		t.id.Store(0)
	}
	for i := range r.backed() {
		p := r.process(i)
		if o := p.owner.Load(); o != 0 && !ids[o] {
			r.at("before a dead process")
			p.free()
		}
	}
	return len(ids)
}

// backed is how many slots of processes have memory. What the header says is bounded: a
// word that is wrong must not lead beyond the mapping.
func (r *region) backed() int { return int(min(r.header().allocated.Load(), processSlots)) }

// back gives more slots of processes memory. No lock: asking twice for the same does
// no harm, and the count only rises.
func (r *region) back() error {
	n := r.header().allocated.Load()
	if n >= processSlots {
		return errFull
	}
	if err := sys.Allocate(r.file, processesAt+int64(n)*slotSize, slotsAtATime*slotSize); err != nil {
		return err
	}
	r.at("before more slots")
	r.header().allocated.CompareAndSwap(n, n+slotsAtATime)
	return nil
}

// leave closes the region, and removes it if nobody is left. With a lock that cannot be
// had, removing is left to the next one.
func (r *region) leave() {
	if r.lock() == nil {
		_ = r.guard(func() error {
			r.removeIfLast()
			return nil
		})
		r.unlock()
	}
	r.release()
}

// removeIfLast removes the file if no tree lives. The lock is held: whoever has opened the
// file already finds out under it that it has no name any more.
func (r *region) removeIfLast() {
	if r.clean() == 0 && r.named() {
		r.at("before the removal")
		_ = os.Remove(r.path) // gone already is as good; not allowed, nothing can be done
	}
}

// release unmaps and closes. It gives a lock back that is held.
func (r *region) release() {
	if r.bytes != nil {
		_ = sys.Unmap(r.bytes)
		r.bytes = nil
	}
	_ = r.file.Close()
}

// guard runs f, which touches the region, and makes an error of the fault that comes where
// somebody has made the file shorter meanwhile: any program of the user can, the traced
// one too.
func (r *region) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		e := recover()
		if e == nil {
			return
		}
		if _, fault := e.(interface{ Addr() uintptr }); !fault {
			panic(e)
		}
		err = errChanged
	}()
	return f()
}

// free makes a slot nobody's. The sequence number becomes even whatever it was: its
// writer may have died within. Without a number it is not read while the next owner has
// taken it and not yet written it.
func (p *processSlot) free() {
	p.seq.Store(p.seq.Load()&^1 + 2)
	p.number.Store(0)
	p.owner.Store(0)
}
