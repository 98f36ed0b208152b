package proctree

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"

	"alleria/internal/sys"
)

// defaultDir is where shared memory has names.
const defaultDir = "/dev/shm"

// errForeignProc says that process numbers in /proc are not ours.
var errForeignProc = errors.New("/proc is not that of this process's namespace")

// regionPath names the region of this user, boot and namespaces.
//
// By user, because nobody else may write to it; by boot, because start times count from
// that and a folder may outlive it; by the namespaces of processes, users and time,
// because a tracer in another one would take those here for dead: it cannot see their
// numbers, their user or their start. Trees in a container therefore have a database of
// their own even where the folder is shared.
func regionPath(dir string) (string, error) {
	// Mounted for another namespace, /proc would call every tracer dead.
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return "", errForeignProc
	}
	boot, err := sys.ReadProc("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identity of this boot: %w", err)
	}
	h := fnv.New64a()
	h.Write(boot)
	for _, ns := range []string{"pid", "user", "time"} {
		// One that the kernel does not have is the same for all.
		link, _ := os.Readlink("/proc/self/ns/" + ns)
		fmt.Fprintln(h, link)
	}
	if dir == "" {
		dir = defaultDir
	}
	return filepath.Join(dir, fmt.Sprintf("alleria-%d-%016x.ppn%d", os.Geteuid(), h.Sum64(), layoutVersion)), nil
}
