package sys

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoDescriptors: with no descriptor left what threads are asked stays answered, by those that are kept back, and nothing else takes them. Where there is none at all nobody is taken for dying.
func TestNoDescriptors(t *testing.T) {
	var was Limit
	if err := descriptorLimit(nil, &was); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = descriptorLimit(&was, nil) }()
	first, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(first)
	full := Limit{Cur: uint64(first) + 1, Max: was.Max}
	if err := descriptorLimit(&full, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPlain("/dev/null", os.O_RDONLY, 0); !errors.Is(err, unix.EMFILE) {
		t.Skipf("descriptors below %d are free: %v", first, err)
	}
	if Dying(os.Getpid()) {
		t.Error("this process is taken for dying")
	}
	if _, err := ThreadGroup(os.Getpid()); err != nil {
		t.Errorf("nothing is taken of what is kept back: %v", err)
	}
	f, err := OpenBriefly("/dev/null", os.O_RDONLY, 0)
	if err != nil {
		t.Errorf("nothing is taken of what is kept back: %v", err)
	} else {
		f.Close()
	}
	var now Limit
	if err := descriptorLimit(nil, &now); err != nil || now != full {
		t.Errorf("the limit is %v behind it, before %v", now, full)
	}
}

// TestGone: that a thread does not exist is one answer, whether it is asked by a file or by a call.
func TestGone(t *testing.T) {
	const nobody = math.MaxInt32
	_, err := ReadSignalSets(nobody)
	_, maps := ReadMaps(nobody)
	_, mem := OpenPlain("/proc/2147483647/mem", os.O_RDONLY, 0)
	for _, err := range []error{err, maps, mem} {
		if !Gone(err) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: not gone", err)
		}
	}
	if _, err := readProc("/proc/self/nothing"); err == nil || Gone(err) {
		t.Errorf("a file that is not there: %v", err)
	}
	if !Dying(nobody) || Traced(nobody) {
		t.Error("nobody lives")
	}
}
