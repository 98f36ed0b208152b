package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"alleria/analysis"
	"alleria/internal/sys"
)

// thisHost answers from the machine that runs us.
// The limits are those that a target started from here would inherit.
func thisHost() host {
	return host{
		file:     hostFile,
		seize:    trySeize,
		execFile: tryExecFile,
		limit: func(resource int) (uint64, bool) {
			var r syscall.Rlimit
			if err := syscall.Getrlimit(resource, &r); err != nil || r.Cur == ^uint64(0) {
				return 0, false
			}
			return r.Cur, true
		},
		machine: runtime.GOARCH,
	}
}

// trySeize does what recording does first: attach to a child. The child is this
// very program, stopped at its exec by PTRACE_TRACEME and detached again in a
// stopped state, so that no other program is needed and nothing of it runs.
//
// PTRACE_SEIZE needs a child that is not traced yet, hence the detour: it is traced
// at first so that it stops before it runs, then detached in a stop (SIGSTOP), then
// seized as recording does. It is killed in the end whatever came out.
func trySeize() error {
	runtime.LockOSThread() // ptrace requests belong to the thread that attached
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fd := null.Fd()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"alleria", "version"}, &syscall.ProcAttr{
		Files: []uintptr{fd, fd, fd},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return fmt.Errorf("PTRACE_TRACEME in a child: %w", err)
	}
	var status syscall.WaitStatus
	defer func() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // gone already: nothing to do
		_, _ = syscall.Wait4(pid, &status, syscall.WALL, nil)
	}()
	if _, err := syscall.Wait4(pid, &status, syscall.WALL, nil); err != nil {
		return err
	}
	// Detached with a SIGSTOP pending, the child stops again before its first
	// instruction.
	if err := sys.Detach(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	return sys.Seize(pid)
}

// tryExecFile makes a memory file and maps it executable, as the code cache is.
// PROT_EXEC on a shared mapping is what noexec mounts, SELinux's execmem and
// vm.memfd_noexec refuse, each on its own.
func tryExecFile() error {
	f, err := sys.Memfd("alleria-doctor", 4096)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap with PROT_EXEC: %w", err)
	}
	return syscall.Munmap(m)
}

// checkPtrace tries, and reads Yama's scope only to explain: a scope says what
// is allowed in general, the attempt what is allowed to us.
//
// Yama's scopes (Documentation/admin-guide/LSM/Yama.rst): 0 anything of the same
// user, 1 descendants only, 2 with CAP_SYS_PTRACE, 3 nothing. A child of ours is a
// descendant, so that 0 and 1 are both fine.
// The remedy goes by the scope, the verdict by the attempt alone.
func checkPtrace(h host) []Finding {
	scope := "absent"
	if s, err := h.file("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		scope = strings.TrimSpace(s)
	}
	if err := h.seize(); err != nil {
		remedy := "run as the user who owns the target; in a container, add --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined"
		switch {
		case scope == "2":
			remedy = "sysctl kernel.yama.ptrace_scope=1, or run as root"
		case scope == "3":
			remedy = "kernel.yama.ptrace_scope=3 holds until the next boot; set 1 in /etc/sysctl.d and restart"
		case errors.Is(err, syscall.ENOSYS):
			remedy = "this kernel, or the sandbox around it, has no ptrace; run on the host"
		}
		return []Finding{{"ptrace", Bad, fmt.Sprintf("a child cannot be traced: %v (Yama scope %s)", err, scope), remedy}}
	}
	return []Finding{{"ptrace", Good, fmt.Sprintf("a child was traced (Yama scope %s)", scope), ""}}
}

// checkSeccomp says whether a filter is there. What it refuses cannot be
// read; the other checks try what matters.
func checkSeccomp(h host) []Finding {
	switch field(h, "/proc/self/status", "Seccomp") {
	case "":
		return []Finding{{"seccomp", Info, "this kernel does not say", ""}}
	case "0":
		return []Finding{{"seccomp", Good, "no filter", ""}}
	}
	return []Finding{{"seccomp", Info, "a filter is active (container or sandbox); what it refuses, the other lines say", ""}}
}

// checkMemory looks at what bounds mappings. What a recording maps in the target
// is sparse: address space, not memory.
//
// With overcommit_memory=2 the kernel counts the whole of a sparse mapping as if it
// were used, and a target's cache areas are some GiB of address space.
func checkMemory(h host) []Finding {
	var out []Finding
	for _, l := range []struct {
		resource   int
		name, what string
	}{
		{syscall.RLIMIT_AS, "ulimit -v", "the address space"},
		// A file's size counts for a memory file as well: ftruncate beyond it
		// raises SIGXFSZ.
		{syscall.RLIMIT_FSIZE, "ulimit -f", "the size of files, and with it of shared memory,"},
	} {
		if limit, set := h.limit(l.resource); set {
			out = append(out, Finding{l.name, Warn, fmt.Sprintf("%s is limited to %s", l.what, analysis.FormatBytes(limit)),
				l.name + " unlimited, in the shell that starts alleria"})
		} else {
			out = append(out, Finding{l.name, Good, "unlimited", ""})
		}
	}
	mode, err := h.file("/proc/sys/vm/overcommit_memory")
	switch {
	case err != nil:
		out = append(out, Finding{"overcommit", Info, "this kernel does not say", ""})
	case strings.TrimSpace(mode) == "2":
		out = append(out, Finding{"overcommit", Warn, "never (vm.overcommit_memory=2): sparse mappings count in full",
			"sysctl vm.overcommit_memory=0, or a larger vm.overcommit_ratio"})
	default:
		out = append(out, Finding{"overcommit", Good, "allowed (vm.overcommit_memory=" + strings.TrimSpace(mode) + ")", ""})
	}
	if kb, err := strconv.ParseUint(strings.TrimSuffix(field(h, "/proc/meminfo", "MemAvailable"), " kB"), 10, 64); err == nil {
		f := Finding{"memory", Good, analysis.FormatBytes(kb<<10) + " available", ""}
		if kb < 512<<10 {
			f.Verdict, f.Remedy = Warn, "free some: buffers and tables take a few hundred MiB for a large target"
		}
		out = append(out, f)
	}
	return out
}

// field reads "Name: value" out of one of /proc's tables, the first of that name.
// Empty: no such file, or no such line in it; no check can tell them apart
// usefully.
func field(h host, path, name string) string {
	text, err := h.file(path)
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
