package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// treeModes are the ways to run a tree that have most to do with its processes: nothing of ours in them, native code with
// breakpoints, and code caches.
func treeModes(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range treeConfigs() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]string{
		"followed": {"-c", filepath.Join(dir, "followed.xml"), "-o", profileDir},
		"armed":    {"-c", filepath.Join(dir, "armed.xml"), "-o", profileDir},
		"dropped":  {"--discard"},
	}
}

// treeConfigs are configurations that follow everything, and that also await a call which does not come.
func treeConfigs() map[string]string {
	return map[string]string{
		"followed.xml": `<AlleriaConfig version="1.0"><Window><Profile><Process/></Profile></Window></AlleriaConfig>`,
		"armed.xml":    windowed("", `<On><Call name="nobody"/></On>`, ""),
	}
}

// likeNative runs a command in each mode, once or -rounds times, and compares what it puts out, and its exit status, with a native run's.
func likeNative(t *testing.T, argv ...string) {
	t.Helper()
	for name, flags := range treeModes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			native := run(t, command{argv: argv, dir: workDir(t)})
			traced := append(append([]string{alleria(), "-q", "record"}, flags...), "--")
			for range max(*rounds, 1) {
				same(t, native, run(t, command{argv: append(traced, argv...), dir: workDir(t)}))
			}
		})
	}
}

// TestTreeKilled kills children and their parents at any moment, parents also within fork: nothing hangs, nothing that lives
// on stays stopped, and what is being killed is no error of whoever created it.
func TestTreeKilled(t *testing.T) {
	t.Parallel()
	likeNative(t, build(t, "../../testdata/windows/killed.c", "-O1 -pthread"))
}

// TestTreePrograms runs scripts of what people do with processes.
func TestTreePrograms(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{
		"xargs":  `seq 12 | xargs -P4 -n1 sh -c 'echo $0 > o$0'; ls o* | wc -l; seq 5 | xargs -P4 -n1 sh -c 'exit $(( $0 % 2 ))'; echo $?; find . -name 'o1*' -exec cat {} + | sort`,
		"daemon": `(setsid sh -c 'sleep 0.2; echo late' &) ; exec 2>&1; sleep 0.6; (exit 6)`,
		"perl":   `perl -e 'for (1..20) { my $p = fork; exit $_ % 7 if !$p; waitpid $p, 0; $s += $? >> 8 } for (1..10) { exec "true" unless fork } $n++ while wait > 0; print "$s $n\n"; for (1..5) { my $p = fork; sleep 9 if !$p; kill 9, $p }'`,
		"jobs":   `exec 2>/dev/null; set -m; sleep 9 & kill -STOP %1; kill -CONT %1; kill %1; wait %1; echo $?; timeout 0.2 sleep 9; echo $?`,
		"root":   `test $(id -u) = 0 || exit 0; setpriv --reuid 65534 --clear-groups sh -c 'id -u; (echo sub); true; exit 7'; echo $?; unshare -pf sh -c 'echo $$; (echo in); exit 4'; echo $?; setpriv --no-new-privs sh -c 'true; echo nnp'`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			if name == "perl" && find("perl") == "" {
				t.Skip("no perl")
			}
			likeNative(t, "bash", "-c", script)
		})
	}
}

// TestTreeBuild builds a C program of several files with several jobs at a time; with -every of 200, else of three.
func TestTreeBuild(t *testing.T) {
	t.Parallel()
	files := short(3, 200)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var objects, sum strings.Builder
	for i := range files {
		write(fmt.Sprintf("f%d.c", i), fmt.Sprintf("int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * %d; return s; }\n", i, i))
		fmt.Fprintf(&objects, " f%d.o", i)
		fmt.Fprintf(&sum, " + f%d(%d)", i, i)
	}
	write("main.c", "int printf(const char *, ...); int main(void) { printf(\"%d\\n\", 0"+sum.String()+"); return 3; }\n")
	write("Makefile", "prog: main.o"+objects.String()+"\n\tcc -o $@ $^\n%.o: %.c\n\tcc -O1 -w -c -o $@ $<\n")
	likeNative(t, "sh", "-c", "cp -r "+dir+" p && cd p && make -s -j4 && cat *.o | cksum && ./prog")
}

// TestReportOfTree compares the totals of report --tree and --by-program with those of report's processes.
func TestReportOfTree(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--", "bash", "-c", "(/bin/true; /bin/echo); /bin/true; exit 3"}, dir: dir})
	report := func(flag string) (out []struct {
		Rows []struct {
			Program      string
			Runs         int
			Instructions uint64
			Processes    int
			Own, Total   struct{ Instructions uint64 }
		}
	}) {
		argv := []string{alleria(), "report", "--json", flag, profileDir}
		if err := json.Unmarshal(run(t, command{argv: argv, dir: dir}).stdout, &out); err != nil || len(out) != 1 {
			t.Fatalf("%s: %v", flag, err)
		}
		return out
	}
	var whole struct {
		Processes []struct{ Instructions uint64 }
	}
	if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout, &whole); err != nil {
		t.Fatal(err)
	}
	var want, programs, trues uint64
	for _, p := range whole.Processes {
		want += p.Instructions
	}
	for _, r := range report("--by-program")[0].Rows {
		programs += r.Instructions
		if r.Program == "true" {
			trues = uint64(r.Runs)
		}
	}
	if programs != want || trues != 2 {
		t.Errorf("programs have %d instructions, %d runs of true; want %d, 2", programs, trues, want)
	}
	root := report("--tree")[0].Rows[0]
	if root.Total.Instructions != want || root.Own.Instructions == 0 || root.Own.Instructions >= want || root.Processes != 4 { // the subshell becomes echo
		t.Errorf("the tree's root: %+v, want a total of %d", root, want)
	}
	if text := run(t, command{argv: []string{alleria(), "report", "--tree", profileDir}, dir: dir}).stdout; !bytes.Contains(text, []byte("└─ ")) {
		t.Errorf("as text:\n%s", clip(text))
	}
}
