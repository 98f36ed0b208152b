// A program that starts one that asks to be traced, between fork and exec, as Go's debuggers do.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func main() {
	runtime.LockOSThread()
	c := exec.Command("/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var s syscall.WaitStatus
	if _, err := syscall.Wait4(c.Process.Pid, &s, 0, nil); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Stopped(), syscall.PtraceCont(c.Process.Pid, 0))
	_, err := syscall.Wait4(c.Process.Pid, &s, 0, nil)
	fmt.Println(s.Exited(), s.ExitStatus(), err)
}
