package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"alleria/internal/programfile"
)

// statOf runs a command with translations of ended processes taken over or not, and returns what it printed and how much of
// a statistic the engine told of.
func statOf(t *testing.T, dir, stat string, flags []string, argv ...string) (result, int) {
	t.Helper()
	got, of := statsOf(t, dir, flags, argv...)
	return got, of(stat)
}

// statsOf is statOf for all statistics.
func statsOf(t *testing.T, dir string, flags []string, argv ...string) (got result, of func(stat string) int) {
	t.Helper()
	log := filepath.Join(dir, "log")
	_ = os.Remove(log)
	got = run(t, command{argv: append(append([]string{alleria(), "--log", log, "record", "-q", "--cache", "off"}, append(flags, "--")...), argv...), dir: dir})
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return got, func(stat string) (n int) {
		if _, rest, ok := strings.Cut(string(b), stat+":"); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
		return n
	}
}

// TestReuse runs programs several times in a tree: those that come later take over the translations of those before, at
// other addresses, and do and count the same as if each had begun with none.
func TestReuse(t *testing.T) {
	t.Parallel()
	script := `PERL_HASH_SEED=0; export PERL_HASH_SEED; for i in 1 2 3; do perl -e 'my %h; $h{$_ % 97} .= $_ for 1..3000; print join(",", map { length $h{$_} } sort keys %h), "\n"'; done; exit 0`
	for _, mode := range []string{"translate", "count"} {
		dir := workDir(t)
		with, reused := statOf(t, dir, "Reused", []string{"--only", mode}, "sh", "-c", script)
		without, none := statOf(t, dir, "Reused", []string{"--only", mode, "--engine", "no-reuse"}, "sh", "-c", script)
		if mode == "translate" && string(with.stdout) != string(without.stdout) {
			t.Errorf("%s: %q with, %q without", mode, string(with.stdout), string(without.stdout))
		}
		if with.status != 0 || without.status != 0 {
			t.Errorf("%s: status %d with, %d without", mode, with.status, without.status)
		}
		if reused < 2000 || none != 0 {
			t.Errorf("%s: %d blocks taken over, %d where that is off", mode, reused, none)
		}
	}
	dir := workDir(t)
	counts := func(out string, flags ...string) string {
		run(t, command{argv: append(append([]string{alleria(), "record", "-q", "--only", "count", "--no-aslr", "-o", out}, flags...), "--", "sh", "-c", script), dir: dir})
		// The shell (process 1) looks digits of its creator's number up.
		return string(run(t, command{argv: []string{alleria(), "report", "--by-program", "--process", "2,3,4", out}, dir: dir}).stdout)
	}
	with := counts("with")
	for _, off := range []string{"no-reuse", "copy-index", "keep-rarely"} {
		if without := counts(off, "--engine", off); with != without || !strings.Contains(with, "perl        3 ") {
			t.Errorf("counts with:\n%s\n%s:\n%s", with, off, without)
		}
	}
}

// TestSpare has a program of much code run six times in a tree, several at a time: its tables and the memory of its code are those of a process before, and each counts the same as
// where all is made anew, also where another program's code lay there.
func TestSpare(t *testing.T) {
	t.Parallel()
	const script = `PERL_HASH_SEED=0; export PERL_HASH_SEED; one() { perl -e 'use POSIX; my %h; $h{$_ % 97} .= $_ for 1..3000; print join(",", map { length $h{$_} } sort keys %h), "\n"'; }
		one; one; one > a & one > b & wait; one; perl -e 'print 1'; one; cat a b`
	dir := workDir(t)
	counts := func(out string, flags ...string) (text string, spared int) {
		got, of := statsOf(t, dir, append([]string{"--only", "count", "--no-aslr", "-o", out}, flags...), "sh", "-c", script)
		if got.status != 0 {
			t.Errorf("status %d", got.status)
		}
		return string(got.stdout) + string(run(t, command{argv: []string{alleria(), "report", "--by-program", "--process", "2,3,8,9,10", out}, dir: dir}).stdout), of("Spared")
	}
	with, some := counts("with")
	without, none := counts("without", "--engine", "no-spare")
	if with != without {
		t.Errorf("counts with:\n%s\nwithout:\n%s", with, without)
	}
	if some < 3 || none != 0 {
		t.Errorf("%d processes began in memory of one before, %d where that is off", some, none)
	}
}

// TestReuseRecorded records programs that run several times in a tree, and children that their creator forks: profiles say the same whether code was
// taken over with the facts of its blocks or written anew, and less is asked for.
func TestReuseRecorded(t *testing.T) {
	t.Parallel()
	forks := build(t, "../../testdata/reuse/forks.c", "-O1")
	for name, argv := range map[string][]string{
		"exec": {"sh", "-c", "/bin/true; /bin/true; /bin/true; exit 0"},
		"fork": {forks},
	} {
		t.Run(name, func(t *testing.T) {
			processes := "1,2,3,4"
			if name == "exec" {
				processes = "2,3,4" // the shell looks digits of its own number and of its creator's up
			}
			dir := workDir(t)
			profile := func(out string, flags ...string) (text string, asked int) {
				_, of := statsOf(t, dir, append([]string{"--no-aslr", "--fields", "function,address", "-o", out}, flags...), argv...)
				if v := run(t, command{argv: []string{alleria(), "verify", "-q", out}, dir: dir}); v.status != 0 {
					t.Errorf("%s: %s%s", out, v.stdout, v.stderr)
				}
				dump := run(t, command{argv: []string{alleria(), "dump", "--process", processes, out}, dir: dir}).stdout
				report := run(t, command{argv: []string{alleria(), "report", "--by-program", "--process", processes, out}, dir: dir}).stdout
				return withoutTIDs(string(dump)) + string(report), of("Dispatches")
			}
			with, few := profile("with")
			without, many := profile("without", "--engine", "no-kept-records,no-prefetch")
			if with != without {
				t.Errorf("profiles differ from line %s on", firstDifference(with, without))
			}
			if few*10 > many*9 || few == 0 {
				t.Errorf("%d dispatches, %d where nothing is taken over", few, many)
			}
		})
	}
}

// TestReuseMoved records a program several times in a tree, each time at other addresses: what it does to its own data, where that lies, and what it reads and writes is
// the same each time.
func TestReuseMoved(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/globals.c", "-O2 -fno-stack-protector") // whose guard is another number each time
	dir := workDir(t)
	script := fmt.Sprintf("%[1]s; %[1]s; %[1]s; exit 0", prog)
	native := run(t, command{argv: []string{"sh", "-c", script}, dir: dir})
	got, of := statsOf(t, dir, []string{"--image", "main", "-o", "out"}, "sh", "-c", script)
	if string(got.stdout) != string(native.stdout) || len(got.stdout) == 0 {
		t.Errorf("it printed %q, natively %q", got.stdout, native.stdout)
	}
	if of("Reused") == 0 {
		t.Error("nothing was taken over")
	}
	var runs [3]string
	for i := range runs {
		dump := run(t, command{argv: []string{alleria(), "dump", "--json", "--process", fmt.Sprint(i + 2), "out"}, dir: dir}).stdout
		runs[i] = byDistance(t, dump)
	}
	if strings.Count(runs[0], "main+") < 1000 || runs[0] != runs[1] || runs[1] != runs[2] {
		t.Errorf("the second run differs from line %s on, the third from line %s", firstDifference(runs[0], runs[1]), firstDifference(runs[1], runs[2]))
	}
}

// byDistance is the instructions of a dump with their accesses. What is an address of the program's own, of an access or as a value, is told by how far it lies from the instruction; other
// addresses are each process's own.
func byDistance(t *testing.T, dump []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(dump)) {
		var in struct {
			Kind, Address, Place, Code string
			Accesses                   []struct {
				Store          bool
				Address, Value string
				Size           int
			}
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if in.Kind != "instruction" {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", in.Place, in.Code)
		at, _ := strconv.ParseUint(in.Address, 0, 64)
		for _, a := range in.Accesses {
			fmt.Fprintf(&b, "%v %s %d %s\n", a.Store, distance(at, a.Address), a.Size, distance(at, a.Value))
		}
	}
	return b.String()
}

// distance is how far an address lies from an instruction of a program that lies where the kernel has put it; what is no address as it is.
func distance(at uint64, text string) string {
	const first, last = 0x55 << 40, 1<<47 - 1 // of programs, libraries and stacks
	n, err := strconv.ParseUint(text, 0, 64)
	if d := int64(n - at); err == nil && d > -1<<20 && d < 1<<20 {
		return fmt.Sprint(d)
	}
	if err == nil && n >= first && n <= last {
		return "elsewhere"
	}
	return text
}

// withoutTIDs takes the kernel's numbers of threads out of what dump prints.
func withoutTIDs(dump string) string {
	lines := strings.Split(dump, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "#") {
			lines[i], _, _ = strings.Cut(l, "(tid")
		}
	}
	return strings.Join(lines, "\n")
}

// firstDifference is the number of the first line in which two texts differ, with both.
func firstDifference(a, b string) string {
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return fmt.Sprintf("%d (%q and %q)", i+1, one[i], two[i])
		}
	}
	return strconv.Itoa(min(len(one), len(two)) + 1)
}

// withoutClocks takes out of what dump prints the instructions of clock_gettime, which goes another way while the kernel sets the clock and as a second ends, and with them the numbers of all.
func withoutClocks(dump string) string {
	var b strings.Builder
	for l := range strings.Lines(dump) {
		switch {
		case strings.Contains(l, "clock_gettime"):
		case strings.HasPrefix(l, "#"):
			b.WriteString(l)
		default:
			number, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
			if number == "taken" { // a branch, which has no number
				rest = number + " " + rest
			}
			b.WriteString(rest + "\n")
		}
	}
	return b.String()
}

// TestReuseChangedFile replaces a library by another version, in place, between two runs of a program in one tree.
func TestReuseChangedFile(t *testing.T) {
	t.Parallel()
	asks := build(t, "../../testdata/reuse/asks.c", "")
	one := build(t, "../../testdata/reuse/answer.c", "-shared -fPIC -DVALUE=1")
	two := build(t, "../../testdata/reuse/answer.c", "-shared -fPIC -DVALUE=2")
	dir := workDir(t)
	lib := filepath.Join(dir, "lib.so")
	script := fmt.Sprintf("%[1]s %[2]s; %[1]s %[2]s; cat %[3]s >%[2]s; %[1]s %[2]s; %[1]s %[2]s", asks, lib, two)
	for _, flags := range [][]string{{"--only", "translate"}, {"--discard"}} {
		copyFile(t, one, lib)
		time.Sleep(100 * time.Millisecond)
		got, reused := statOf(t, dir, "Reused", flags, "sh", "-c", script)
		if string(got.stdout) != "1\n1\n2\n2\n" {
			t.Errorf("%s: it printed %q (%s)", flags, string(got.stdout), got.stderr)
		}
		if reused == 0 {
			t.Errorf("%s: nothing was taken over", flags)
		}
	}
}

// TestReuseOddPrograms runs programs that change their code, unload it, throw through it and run others in it, several times in a
// tree.
func TestReuseOddPrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/programs/code-*.c")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	files = append(files, "../../testdata/programs/exceptions.cc", "../../testdata/programs/signals-longjmp.c", "../../testdata/programs/children-spawn.c", "../../testdata/programs/exec-self.c")
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if base := filepath.Base(file); !*every && (base == "code-32bit.c" || base == "code-guarded.c") {
				t.Skip("with -every only: it takes seconds, mostly of native code and of waiting; TestFixtures has it, once")
			}
			prog := build(t, file, "-O1 -pthread")
			dir := workDir(t)
			script := fmt.Sprintf("for i in 1 2; do %s; echo $?; done; exit 0", prog)
			native := run(t, command{argv: []string{"sh", "-c", script}, dir: dir})
			for mode, flag := range map[string]string{"translate": "--only=translate", "count": "--only=count", "record": "--output=out"} {
				if !*every && mode != []string{"record", "count", "translate"}[i%3] { // they take turns
					continue
				}
				got := run(t, command{argv: []string{alleria(), "record", "-q", flag, "--", "sh", "-c", script}, dir: dir})
				if mode == "record" {
					if v := run(t, command{argv: []string{alleria(), "verify", "-q", "out"}, dir: dir}); v.status != 0 {
						t.Errorf("%s%s", v.stdout, v.stderr)
					}
				}
				if mode != "count" && (string(got.stdout) != string(native.stdout) || got.status != native.status) {
					t.Errorf("%s status %d: %q, natively %q %s", mode, got.status, string(got.stdout), string(native.stdout), got.stderr)
				}
				if !strings.Contains(string(got.stdout), string(native.stdout)) {
					t.Errorf("%s: %q, natively %q", mode, string(got.stdout), string(native.stdout))
				}
			}
		})
	}
}

// TestInherit runs a program whose children begin with what it had translated, or with what the child before them had: some of them, and
// the program itself, change code that the others have as it was.
func TestInherit(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/forks.c", "-O1")
	dir := workDir(t)
	native := run(t, command{argv: []string{prog}, dir: dir})
	got, with := statsOf(t, dir, []string{"--only", "translate", "--engine", "no-prefetch"}, prog) // which saves requests as well
	also, without := statsOf(t, dir, []string{"--only", "translate", "--engine", "no-prefetch,no-inherit"}, prog)
	for _, r := range []result{got, also} {
		if string(r.stdout) != string(native.stdout) || r.status != native.status {
			t.Errorf("status %d: %q, natively %q", r.status, string(r.stdout), string(native.stdout))
		}
	}
	if with("Reused") < 1000 || without("Reused") != 0 || with("Dispatches")*3 > without("Dispatches")*2 {
		t.Errorf("%d blocks inherited and %d requests, %d and %d where that is off", with("Reused"), with("Dispatches"), without("Reused"), without("Dispatches"))
	}
	counts := func(out string, flags ...string) string {
		run(t, command{argv: append(append([]string{alleria(), "record", "-q", "--only", "count", "--no-aslr", "-o", out}, flags...), "--", prog), dir: dir})
		return string(run(t, command{argv: []string{alleria(), "report", "--tree", out}, dir: dir}).stdout)
	}
	if with, without := counts("with"), counts("without", "--engine", "no-inherit"); with != without || !strings.Contains(with, "forks") {
		t.Errorf("counts with:\n%s\nwithout:\n%s", with, without)
	}
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = programfile.Write(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInheritedImages: forked children begin with code of images that are each process's own, and their profiles have all images and functions that it refers to.
func TestInheritedImages(t *testing.T) {
	t.Parallel()
	flags := "-O1"
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && strings.Contains(string(maps), "[vsyscall]") {
		flags += " -DVSYSCALL"
	}
	const printed = "creator 7 7 7\nchild 7 7 7\nsecond 7 7 7\ngrandchild 7 7 7\nthird 7 7 7\nlate 7\nthird 7 7 7\nits child 7 7 7\nvfork 7 7 7\n"
	prog, lib := build(t, "../../testdata/reuse/images.c", flags), build(t, "../../testdata/reuse/answer.c", "-shared -fPIC -DVALUE=7")
	for name, flags := range map[string][]string{
		"all": nil, "functions": {"--no-aslr", "--fields", "function,branch"}, "blocks": {"--only", "blocks"}, "kept": {"--cache", "kept"}, "one image": {"--image", "one.so"}, "made code": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			argv := []string{prog, filepath.Join(dir, "one.so"), filepath.Join(dir, "two.so"), filepath.Join(dir, "three.so")}
			if name == "made code" {
				argv = append(argv, "made")
			}
			profile := func(more ...string) (text string, reused int) {
				for _, file := range argv[1:4] {
					copyFile(t, lib, file)
				}
				got, of := statsOf(t, dir, append(append([]string{"--force", "-o", "out"}, flags...), more...), argv...)
				if string(got.stdout) != printed || got.status != 0 {
					t.Fatalf("%q, status %d: %s", got.stdout, got.status, got.stderr)
				}
				if v := run(t, command{argv: []string{alleria(), "verify", "-q", "out"}, dir: dir}); v.status != 0 {
					t.Errorf("%s%s", clip(v.stdout), clip(v.stderr))
				}
				return withoutClocks(withoutTIDs(string(run(t, command{argv: []string{alleria(), "dump", "--process", "2,3,4,5,6", "out"}, dir: dir}).stdout))), of("Reused")
			}
			with, reused := profile()
			if name != "made code" && reused < 1000 {
				t.Errorf("%d blocks were taken over", reused)
			}
			without, none := profile("--engine", "no-inherit")
			switch {
			case none > 0 && name != "kept":
				t.Errorf("%d blocks were taken over where that is off", none)
			case name == "functions" && with != without:
				t.Errorf("with what is inherited the children's dumps differ from line %s on", firstDifference(with, without))
			}
		})
	}
}
