package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spinning is a running target under alleria.
type spinning struct {
	cmd    *exec.Cmd
	target int // process id
	dir    string
	errs   bytes.Buffer
	out    *bufio.Reader
}

// spin starts the spinning fixture under alleria, in a process group of its own,
// and waits until it says that it runs.
func spin(t *testing.T, how string, flags ...string) *spinning {
	t.Helper()
	prog := build(t, programs+"/manual/spin.c", "-Wno-unused-result")
	s := &spinning{dir: t.TempDir()}
	argv := append(append([]string{"-q", "record"}, flags...), "--", prog, how)
	s.cmd = exec.Command(alleria(), argv...)
	s.cmd.Dir = s.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	s.out = bufio.NewReader(out)
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the target doesn't say its process id: %v\n%s", err, s.errs.Bytes())
	}
	if s.target, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	return s
}

// wait waits for alleria's end and returns its status as a shell says it.
func (s *spinning) wait(t *testing.T) int {
	t.Helper()
	ended := make(chan int, 1)
	go func() {
		s.cmd.Wait()
		ws := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			ended <- 128 + int(ws.Signal())
			return
		}
		ended <- ws.ExitStatus()
	}()
	select {
	case st := <-ended:
		return st
	case <-time.After(30 * time.Second):
		t.Fatalf("alleria does not end\n%s", s.errs.Bytes())
		return -1
	}
}

// gone waits until a process is dead: unknown, or a zombie that nobody collects.
func gone(pid int) bool {
	return soon(func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ") || strings.Contains(string(b), ") X ")
	})
}

// soon waits until something is so; not for ever.
func soon(so func() bool) bool {
	for range 200 {
		if so() {
			return true
		}
		time.Sleep(25 * time.Millisecond)
	}
	return false
}

// TestKilled: alleria's death is the target's, and the target's leaves a sound
// profile.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"wait", "compute", "threads"} {
		for _, flags := range [][]string{{"--discard"}, {"--only", "translate"}, {"--discard", "--on-call", "no_such"}} {
			t.Run("alleria, "+how+strings.Join(flags, ""), func(t *testing.T) {
				t.Parallel()
				s := spin(t, how, flags...)
				s.cmd.Process.Kill()
				s.wait(t)
				if !gone(s.target) {
					t.Error("the target lives on")
				}
			})
		}
		t.Run("target, "+how, func(t *testing.T) {
			t.Parallel()
			s := spin(t, how, "-o", profileDir)
			syscall.Kill(s.target, syscall.SIGKILL)
			if st := s.wait(t); st != 137 {
				t.Errorf("status %d, want 137\n%s", st, s.errs.Bytes())
			}
			verify(t, s.dir)
		})
		t.Run("interrupt, "+how, func(t *testing.T) {
			t.Parallel()
			s := spin(t, how, "-o", profileDir)
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
			if st := s.wait(t); st != 130 {
				t.Errorf("status %d, want 130\n%s", st, s.errs.Bytes())
			}
			verify(t, s.dir)
		})
	}
	t.Run("interrupt, caught", func(t *testing.T) {
		t.Parallel()
		s := spin(t, "catch", "-o", profileDir)
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
		said, _ := s.out.ReadString('\n')
		if st := s.wait(t); st != 3 || said != "caught\n" {
			t.Errorf("status %d, %q\n%s", st, said, s.errs.Bytes())
		}
		verify(t, s.dir)
	})
	t.Run("stop and continue", func(t *testing.T) {
		t.Parallel()
		s := spin(t, "threads", "--discard")
		for range 5 {
			syscall.Kill(s.target, syscall.SIGSTOP)
			if !soon(func() bool { return running(s.target) == 0 }) {
				t.Error("threads run while the process is stopped")
			}
			syscall.Kill(s.target, syscall.SIGCONT)
			if !soon(func() bool { return running(s.target) == 4 }) {
				t.Error("threads don't run after SIGCONT")
			}
		}
		syscall.Kill(s.target, syscall.SIGTERM)
		if st := s.wait(t); st != 143 {
			t.Errorf("status %d, want 143\n%s", st, s.errs.Bytes())
		}
	})
}

// running counts the threads of a process that are not stopped.
func running(pid int) (n int) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, f := range stats {
		if b, err := os.ReadFile(f); err == nil && !bytes.Contains(b, []byte(") t ")) && !bytes.Contains(b, []byte(") T ")) {
			n++
		}
	}
	return n
}

// TestCircumstances: what a program inherits is what it would natively, under
// alleria as without: descriptors, limits, masks, terminals, ignored signals.
func TestCircumstances(t *testing.T) {
	t.Parallel()
	sh := find("sh")
	for _, c := range []struct{ name, before, program string }{
		{"descriptors", "exec 5</dev/null 9>/dev/null;", "ls /proc/self/fd"},
		{"no descriptors", "exec 0<&- 2>&-;", "ls /proc/self/fd"},
		{"output closed", "exec 1>&-;", "echo x"},
		{"mask and umask", "umask 027;", "grep -E ^(Sig(Blk|Ign|Cgt)|Umask|Seccomp|NoNewPrivs|Cap) /proc/self/status"},
		{"ignored signals", "trap '' INT TERM USR1;", "grep SigIgn /proc/self/status"},
		{"ignored trap", "trap '' TRAP;", "grep SigIgn /proc/self/status"},
		{"blocked signals", "", "env --block-signal=USR1,TRAP,TERM grep SigBlk /proc/self/status"},
		{"blocked before", "exec env --block-signal=USR1,TRAP,TERM", "grep SigBlk /proc/self/status"},
		{"limits", "ulimit -n 64; ulimit -s 4096; ulimit -c 0;", "cat /proc/self/limits"},
		{"environment", "export A=1 B='x y';", "env"},
		{"own name", "", "cat /proc/self/cmdline"},
		{"comm", "", "cat /proc/self/comm"},
		{"oom and nice", "exec nice -n 3", "cat /proc/self/oom_score_adj"},
		{"chain of programs", "", "env env env nice nohup echo x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			script := c.before + ` "$@"`
			if c.before == "" || strings.HasSuffix(c.before, ";") {
				script = c.before + ` exec "$@"`
			}
			argv := strings.Fields(c.program)
			argv[0] = find(argv[0])
			native := run(t, command{argv: append([]string{sh, "-c", script, "sh"}, argv...), dir: dir})
			for _, m := range modes() {
				if m.disk {
					continue
				}
				r := run(t, command{argv: append([]string{sh, "-c", script, "sh"}, m.under(argv)...), dir: dir})
				t.Run(m.name, func(t *testing.T) { same(t, native, r) })
			}
		})
	}
}

// TestAddressSpaceLimit: where the cache does not fit, alleria says so.
func TestAddressSpaceLimit(t *testing.T) {
	t.Parallel()
	r := run(t, command{argv: []string{find("sh"), "-c", `ulimit -v 4000000; exec "$@"`, "sh", alleria(), "-q", "record", "--discard", "--", find("echo"), "x"}, dir: t.TempDir()})
	if r.status == 0 && string(r.stdout) == "x\n" {
		return
	}
	if r.status != 125 || strings.Count(string(r.stderr), "\n") != 1 {
		t.Errorf("status %d, %q", r.status, clip(r.stderr))
	}
}

// TestManyThreads: more threads than can be traced run all the same.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/manual/many-threads.c", "")
	r := run(t, command{argv: []string{alleria(), "record", "--discard", "--on-call", "main", "--", prog, "1200"}, dir: t.TempDir()})
	if r.status != 0 || string(r.stdout) != "1200\n" || !strings.Contains(string(r.stderr), "threads ran untraced") {
		t.Errorf("status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
}

// TestNewborn: threads attach to children that share their memory as soon as these exist, several at once where they run in the cache, one where they run
// natively. Each is asked often: it takes one that is attached to before it has been seen.
func TestNewborn(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/manual/traces-newborn.c", "")
	for _, c := range []struct {
		name, threads string
		args          []string
	}{
		{"counted", "4", []string{"--only", "count"}},
		{"dropped", "4", []string{"--discard"}},
		{"armed", "1", []string{"--discard", "--on-call", "nosuch"}},
		{"followed", "1", []string{"--discard", "--process", "nosuch"}},
	} {
		for i := range 8 {
			t.Run(c.name+"/"+strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				argv := append([]string{alleria(), "-q", "record", "--follow", "all"}, append(c.args, "--", prog, c.threads)...)
				r := run(t, command{argv: argv, dir: t.TempDir()})
				if r.status != 0 || string(r.stdout) != "ok\n" {
					t.Errorf("status %d, %q, %q", r.status, clip(r.stdout), clip(r.stderr))
				}
			})
		}
	}
}

// TestItself: alleria traces alleria.
func TestItself(t *testing.T) {
	t.Parallel()
	inner := []string{alleria(), "-q", "record", "-o", profileDir, "--", find("echo"), "x"}
	dir := t.TempDir()
	r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--only", "count", "--"}, inner...), dir: dir})
	if r.status != 0 || string(r.stdout) != "x\n" {
		t.Errorf("status %d, %q, %q", r.status, clip(r.stdout), clip(r.stderr))
	}
	verify(t, dir)
}
