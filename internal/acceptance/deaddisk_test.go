package acceptance

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDeadDisk has the second of two disks take everything into memory and refuse it when it is written back: a file system on a loop device, whose
// image has no room for it. The program does as natively, what is on the first disk stays and can be read, and what is lost is said to the instruction.
func TestDeadDisk(t *testing.T) {
	t.Parallel()
	dir := inputDir(t)
	room, dead := filepath.Join(dir, "room"), filepath.Join(dir, "dead")
	sh := func(script string) error {
		return exec.Command("/bin/sh", "-ec", "cd "+dir+"; "+script).Run()
	}
	if sh("mkdir room dead && mount -t tmpfs -o size=2m none room") != nil {
		t.Skip("no file system can be made")
	}
	defer syscall.Unmount(room, syscall.MNT_DETACH)
	if sh("truncate -s 300m room/image && mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=1 room/image && mount -o loop,errors=continue room/image dead && mkdir dead/second && sync -f dead && ! dd if=/dev/zero of=room/full bs=4k") != nil {
		t.Skip("no loop device")
	}
	defer syscall.Unmount(dead, 0)
	argv := []string{find("gzip"), "-c", "-9", "-n", "text"}
	native := run(t, command{argv: argv, dir: dir})
	r := run(t, command{argv: append([]string{alleria(), "record", "--sync", "--select", "any", "--fields", "time,address,value", "--compress", "off", "--ptc", "2", "--bs", "16", "--bc", "2", "-o", "main", "-o", "dead/second", "--"}, argv...), dir: dir})
	if string(r.stdout) != string(native.stdout) {
		t.Error("the program's output differs")
	}
	got := runFile(t, filepath.Join(dir, "main")).Processes[0]
	if got.Lost == 0 {
		t.Skipf("the second processing thread has written nothing: %s", clip(r.stderr))
	}
	if r.status != 125 || !strings.Contains(string(r.stderr), "2.abp.damaged") && !strings.Contains(string(r.stderr), "is lost as well") {
		t.Errorf("status %d: %s", r.status, clip(r.stderr))
	}
	counted := run(t, command{argv: append([]string{alleria(), "record", "--only", "count", "--"}, argv...), dir: dir})
	all := numbersOf(t, counted.stderr, "instructions")[1]                                            // behind the number of the process
	if sum := int(got.Instructions + got.Lost); sum < int(all)*999/1000 || sum > int(all)*1001/1000 { // of two runs
		t.Errorf("%d instructions written and %d lost of %d", got.Instructions, got.Lost, all)
	}
	if r := run(t, command{argv: []string{alleria(), "report", "main"}, dir: dir}); r.status != 0 || !strings.Contains(string(r.stdout), "2.abp is missing") {
		t.Errorf("report: status %d, %s", r.status, clip(r.stderr))
	}
	lost := fmt.Sprintf("2.abp.damaged now|process 1 has lost %d instructions in all (run.json)", got.Lost)
	for _, want := range strings.Split(lost, "|") {
		if r := run(t, command{argv: []string{alleria(), "verify", "main"}, dir: dir}); r.status != 1 || !strings.Contains(string(r.stdout), want) {
			t.Errorf("verify: status %d, %s lacks %q", r.status, clip(r.stdout), want)
		}
	}
}
