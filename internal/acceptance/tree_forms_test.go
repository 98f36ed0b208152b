package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var rounds = flag.Int("rounds", 0, "how often each tree of TestTreeForms, TestServers, TestTreeBuild, TestTreePrograms and TestTreeKilled runs in each way; 0: once, or with -every three times in TestTreeForms, and the short ones of TestServers 20 times")

// formed are trees of processes that people run: scripts for bash, whose output and tree are the same each time. The first needs nothing and is quick; the others belong to the long form.
var formed = []struct{ name, needs, script string }{
	{"pipes", "", `exec 2>/dev/null; for i in 1 2 3; do echo $i | tr 1-3 a-c | cat; done | sort | (read x; echo $x; wc -l); (exit 3) | cat; echo ${PIPESTATUS[0]}; (sleep 0.1; kill -9 $BASHPID); echo $?; ls /nowhere & wait $!; echo $?; exit 4`},
	{"make", "make", `for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >f$i.c; done; echo 'int f1(void), f6(void); int main(void) { return f1() + f6(); }' >main.c
		printf 'p: main.o f1.o f2.o f3.o f4.o f5.o f6.o\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -c -o $@ $<\n' >Makefile; make -s -j4; echo $?; ./p`},
	{"ninja", "ninja", `for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >f$i.c; done; echo 'int f1(void), f6(void); int main(void) { return f1() + f6(); }' >main.c
		(printf 'rule c\n command = cc -c -o $out $in\nrule l\n command = cc -o $out $in\n'; for i in main f1 f2 f3 f4 f5 f6; do echo "build $i.o: c $i.c"; done; echo build p: l main.o f1.o f2.o f3.o f4.o f5.o f6.o) >build.ninja
		ninja -j4 >log || cat log; ./p`},
	{"timeout", "timeout", `exec 2>/dev/null; timeout 0.5 sleep 60; echo $?; timeout -s KILL 0.5 sleep 60; echo $?; timeout 60 sh -c 'exit 5'; echo $?; timeout --preserve-status 0.5 sleep 60`},
	{"multiprocessing", "/usr/bin/python3", `cat >m.py <<'E'
import multiprocessing as m, os, signal, sys
def square(x): return x * x
def ends(n): sys.exit(n)
def killed(): os.kill(os.getpid(), signal.SIGKILL)
if __name__ == '__main__':
    for way in 'fork', 'spawn':
        c = m.get_context(way)
        ps = [c.Process(target=ends, args=(n,)) for n in range(3)] + [c.Process(target=killed)]
        for p in ps: p.start()
        for p in ps: p.join()
        print([p.exitcode for p in ps])
    with m.get_context('fork').Pool(3) as pool: print(sum(pool.map(square, range(100)))); pool.close(); pool.join()
E
		/usr/bin/python3 m.py; echo $?`},
	{"workers", "/usr/bin/python3", `cat >s.py <<'E'
import os, signal, socket, time
s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(64)
workers = []
for n in range(3):
    p = os.fork()
    if p == 0:
        signal.signal(signal.SIGTERM, lambda *a: os._exit(10 + n))
        for i in range(4):
            c, _ = s.accept()
            if os.fork() == 0:
                x = c.recv(99); c.sendall(x.upper()); os._exit(0)
            c.close(); os.wait()
        while True: signal.pause()
    workers.append(p)
got = []
for i in range(12):
    c = socket.socket(socket.AF_UNIX); c.connect('s'); c.sendall(b'x%d' % i); got.append(c.recv(99)); c.close()
print(got)
time.sleep(0.5)
for p in workers: os.kill(p, signal.SIGTERM)
print([os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in workers])
E
		/usr/bin/python3 s.py; echo $?`},
	{"git", "git", `git init -q a; cd a; git config user.name n; git config user.email e; git config gc.auto 0; for i in 1 2 3; do echo $i >f$i; git add f$i; git commit -qm $i; done; cd ..
		git clone -q --no-local a b 2>/dev/null; cd b; git log --oneline; git -c core.pager=cat log -p | cksum; git repack -adq; git fsck 2>/dev/null; git bisect start -q HEAD HEAD~2 2>/dev/null >&2; git bisect run true >/dev/null 2>&1; echo $?`},
}

// TestTreeForms compares what trees put out, their exit status, and their processes, with a native run's: who has created how many, which
// program each has executed last, and what it has ended with. Of that strace tells.
func TestTreeForms(t *testing.T) {
	t.Parallel()
	strace, n := find("strace"), *rounds
	if n == 0 {
		n = short(1, 3)
	}
	for _, s := range formed[:short(1, len(formed))] {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.needs != "" && find(s.needs) == "" {
				t.Skipf("%s is not installed", s.needs)
			}
			native := run(t, command{argv: []string{"bash", "-c", s.script}, dir: t.TempDir()})
			want := ""
			if strace != "" {
				want = straced(t, strace, s.script)
			}
			modes := treeModes(t)
			modes["translated"], modes["counted"], modes["recorded"] = []string{"--only", "translate"}, []string{"--only", "count", "-o", profileDir}, []string{"-o", profileDir}
			modes["followed, with reports handed over"] = append([]string{"--engine", "no-own-wait"}, modes["followed"]...)
			modes["followed, stopped at their ends"] = append([]string{"--engine", "stop-at-ends,stop-signals"}, modes["followed"]...)
			for _, name := range []string{"followed", "recorded"} {
				modes[name+", every program looked at"] = append([]string{"--engine", "all-sites,ask-executables"}, modes[name]...)
			}
			for k, name := range slices.Sorted(maps.Keys(modes)) {
				if name != "recorded" && k%2 > 0 && !*every {
					continue
				}
				flags := modes[name]
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					for range n {
						dir := t.TempDir()
						argv := append(append([]string{alleria(), "-q", "record"}, flags...), "--", "bash", "-c", s.script)
						same(t, native, run(t, command{argv: argv, dir: dir}))
						if slices.Contains(flags, profileDir) && want != "" {
							if got := formOf(t, filepath.Join(dir, profileDir)); got != want {
								t.Errorf("the tree is\n%s\nand natively\n%s", got, want)
							}
						}
						os.RemoveAll(filepath.Join(dir, profileDir))
					}
				})
			}
		})
	}
}

// formedProcess is what strace and a profile both know of one.
type formedProcess struct {
	program string
	status  int
	below   []*formedProcess
}

// String is the form of a process and what is below it. Who has been created first among sisters is chance in some trees, so that they are in the order of what they are.
func (p *formedProcess) String() string {
	lines := make([]string, len(p.below))
	for i, c := range p.below {
		lines[i] = strings.ReplaceAll(c.String(), "\n", "\n  ")
	}
	slices.Sort(lines)
	return strings.Join(append([]string{fmt.Sprintf("%s %d", p.program, p.status)}, lines...), "\n  ")
}

// formOf is the form of a profile's tree.
func formOf(t *testing.T, profile string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(profile, "run.json"))
	if err != nil {
		t.Error(err)
		return ""
	}
	var r struct {
		Processes []struct {
			Number, Parent, Exit int
			Command              []string
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Error(err)
		return ""
	}
	all := map[int]*formedProcess{0: {}}
	for _, p := range r.Processes {
		if len(p.Command) == 0 || all[p.Parent] == nil {
			t.Errorf("process %d of %d: %q", p.Number, p.Parent, p.Command)
			return ""
		}
		if all[p.Number] == nil { // else it is a later program of the same one
			all[p.Number] = &formedProcess{}
			all[p.Parent].below = append(all[p.Parent].below, all[p.Number])
		}
		all[p.Number].program, all[p.Number].status = filepath.Base(p.Command[0]), p.Exit
	}
	return all[1].String()
}

// What strace says of processes: a call begins, and ends, maybe on another line.
var (
	straceLine    = regexp.MustCompile(`^(\d+) +(.*)$`)
	straceExec    = regexp.MustCompile(`^execve(?:at)?\((?:AT_FDCWD, )?"([^"]*)", \["([^"]*)"`)
	straceCreates = regexp.MustCompile(`^(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)$`)
	straceEnd     = regexp.MustCompile(`^\+\+\+ (?:exited with (\d+)|killed by (SIG\w+)(?: \(core dumped\))?) \+\+\+$`)
)

// straced is the form of the tree of a script as strace sees it.
func straced(t *testing.T, strace, script string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, command{argv: []string{strace, "-f", "-o", "calls", "-s", "4096", "-e", "trace=fork,vfork,clone,clone3,execve,execveat", "bash", "-c", script}, dir: dir})
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	c := newCalls()
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if m := straceLine.FindStringSubmatch(lines.Text()); m != nil {
			c.line(m[1], m[2])
		}
	}
	return c.tree().String()
}

// calls is what strace has said so far.
type calls struct {
	processes map[string]*formedProcess // and threads
	order     []string                  // in which they were named first
	creators  map[string]string
	threads   map[string]bool
	begun     map[string]string   // calls of which the end is on another line
	early     map[string][]string // processes that one has created before it was told which program it has
}

func newCalls() *calls {
	return &calls{processes: map[string]*formedProcess{}, creators: map[string]string{}, threads: map[string]bool{}, begun: map[string]string{}, early: map[string][]string{}}
}

// of is a process or thread.
func (c *calls) of(id string) *formedProcess {
	if c.processes[id] == nil {
		c.processes[id] = &formedProcess{status: -1}
		c.order = append(c.order, id)
	}
	return c.processes[id]
}

// line takes one line about a thread.
func (c *calls) line(id, what string) {
	p := c.of(id)
	if strings.HasSuffix(what, "<unfinished ...>") {
		c.begun[id] = what
		return
	}
	call := what
	if strings.HasPrefix(what, "<... ") {
		call = c.begun[id]
	}
	if m := straceCreates.FindStringSubmatch(what); m != nil {
		c.of(m[1])
		c.creators[m[1]], c.threads[m[1]] = id, strings.Contains(call+what, "CLONE_THREAD")
		if p.program == "" { // its own creation is told later
			c.early[id] = append(c.early[id], m[1])
		} else {
			c.inherit(m[1], p.program)
		}
	} else if m := straceExec.FindStringSubmatch(call); m != nil && strings.HasSuffix(what, " = 0") {
		p.program = programOf(m[1], m[2])
	} else if m := straceEnd.FindStringSubmatch(what); m != nil {
		p.status, _ = strconv.Atoi(m[1])
		if m[2] != "" {
			p.status = 128 + int(unix.SignalNum(m[2]))
		}
	}
}

// inherit says which program a process was created with, and those that it has created before that was known.
func (c *calls) inherit(id, program string) {
	if p := c.of(id); p.program == "" { // it may have executed one already
		p.program = program
	}
	for _, child := range c.early[id] {
		c.inherit(child, program)
	}
	delete(c.early, id)
}

// tree is the first process with those below it. What a thread has created is its process's.
func (c *calls) tree() *formedProcess {
	for _, id := range c.order[1:] {
		above := c.creators[id]
		for c.threads[above] {
			above = c.creators[above]
		}
		if !c.threads[id] && c.processes[above] != nil {
			c.processes[above].below = append(c.processes[above].below, c.processes[id])
		}
	}
	return c.processes[c.order[0]]
}

// programOf is the name that a program is run by; of a script that of who interprets it.
func programOf(path, argv0 string) string {
	f, err := os.Open(path)
	if err != nil {
		return filepath.Base(argv0)
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	if interpreter, ok := strings.CutPrefix(line, "#!"); ok {
		return filepath.Base(strings.Fields(interpreter)[0])
	}
	return filepath.Base(argv0)
}

// TestStracedOrder: what strace says of a process may come before its creation, and so may what that one has created.
func TestStracedOrder(t *testing.T) {
	c := newCalls()
	for _, l := range [][2]string{{"1", `execve("/bin/bash", ["bash"], 0x1) = 0`}, {"1", "clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>"}, {"2", "clone(child_stack=NULL, flags=SIGCHLD) = 3"}, {"3", "clone(child_stack=NULL, flags=SIGCHLD) = 4"},
		{"2", `execve("/nowhere/tr", ["tr"], 0x1) = 0`}, {"4", "+++ exited with 4 +++"}, {"3", "+++ exited with 3 +++"}, {"2", "+++ exited with 2 +++"}, {"1", "<... clone resumed>) = 2"}, {"1", "+++ exited with 0 +++"}} {
		c.line(l[0], l[1])
	}
	if got, want := c.tree().String(), "bash 0\n  tr 2\n    bash 3\n      bash 4"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
