package syscalls

import "alleria/engine/tracee"

// Numbers of the system calls that the tracer has a part in.
// They are x86-64's (arch/x86/entry/syscalls/syscall_64.tbl) and never change.
const (
	sysWrite         = 1
	sysMprotect      = 10
	sysSigaction     = 13
	Sigreturn        = 15
	sysPwrite64      = 18
	sysReadv         = 19
	sysWritev        = 20
	sysMremap        = 25
	sysShmat         = 30
	sysRecvmsg       = 47
	Clone            = 56
	sysFork          = 57
	sysVfork         = 58
	sysExecve        = 59
	sysExit          = 60
	sysShmdt         = 67
	sysGetrlimit     = 97
	Ptrace           = 101
	sysSigaltstack   = 131
	sysPersonality   = 135
	sysMlockall      = 151
	sysMlock2        = 325
	Prctl            = 157
	ArchPrctl        = 158
	sysSetrlimit     = 160
	sysIOSetup       = 206
	sysExitGroup     = 231
	sysOpenat        = 257
	sysCreat         = 85
	sysOpenat2       = 437
	sysVmsplice      = 278
	sysPreadv        = 295
	sysPwritev       = 296
	sysRecvmmsg      = 299
	sysPrlimit64     = 302
	sysProcessReadv  = 310
	sysProcessWritev = 311
	sysSeccomp       = 317
	sysExecveat      = 322
	sysMembarrier    = 324
	sysPreadv2       = 327
	sysPwritev2      = 328
	sysPkeyProtect   = 329
	Rseq             = 334
	sysIOUringSetup  = 425
	Clone3           = 435
)

const (
	enomem = 12
	einval = 22
	enosys = 38
	eio    = 5 // what a kernel says to a request of ptrace that it does not know

	prSetSeccomp      = 22
	prSetUserDispatch = 59

	mclCurrent, mclFuture, mclOnFault = 1, 2, 4
	limitAS                           = 9
	limitMemlock                      = 8
)

// Numbers of the 32-bit table (arch/x86/entry/syscalls/syscall_32.tbl) that the tracer looks at.
const (
	sys32Mmap      = 90
	sys32Munmap    = 91
	sys32IPC       = 117
	sys32Clone     = 120
	sys32Mprotect  = 125
	sys32Mremap    = 163
	sys32Prctl     = 172
	sys32Mmap2     = 192
	sys32Seccomp   = 354
	sys32PkeyMprot = 380
	sys32Shmat     = 397
	sys32Shmdt     = 398
	sys32Clone3    = Clone3
)

// Length is how many bytes each instruction has that makes a call: syscall, int 0x80.
const Length = 2

// Failed tells results that are errors.
func Failed(result uint64) bool { return result > ^uint64(4095) }

// NoSuchCall is the result of a call that the kernel does not have.
func NoSuchCall() uint64 { return ^uint64(enosys) + 1 }

// creating tells the calls that bring forth a thread or process.
func creating(nr uint64) bool {
	switch nr {
	case Clone, Clone3, sysFork, sysVfork:
		return true
	}
	return false
}

// leaves tells calls that are looked at when they begin, because they may not come
// back.
func leaves(nr uint64) bool {
	switch nr {
	case sysExit, sysExitGroup, sysExecve, sysExecveat, Sigreturn:
		return true
	}
	return false
}

// changesMemory tells calls that are told of because they may change what lies in memory.
func changesMemory() []int {
	return []int{tracee.SysMmap, tracee.SysMunmap, sysMprotect, sysPkeyProtect, sysPersonality, tracee.SysMadvise, tracee.SysOpen, sysOpenat, sysCreat, sysOpenat2, sysMremap, sysShmat, sysShmdt}
}

// asked are the calls that translated code asks the tracer for.
//
// The tracer makes or answers those that would act on what the cache hides: the frame that
// sigreturn takes, the bases of segments, filters that could forbid calls of ours, and what
// is answered as by a kernel without it.
func asked() []int {
	return []int{sysIOSetup, sysIOUringSetup, Sigreturn, ArchPrctl, Ptrace, sysMlockall, Prctl, sysSeccomp, Rseq, sysMembarrier, Clone, Clone3, sysGetrlimit, sysSetrlimit, sysPrlimit64}
}
