package acceptance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeepRecords: records that are analysed while the program runs are written as well. What the analyses have found is, to the byte, what the commands
// count in the profile of the same run, of threads and children too.
func TestKeepRecords(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/beside.c", "-pthread")
	native := run(t, command{argv: []string{prog, "child"}, dir: dir})
	for _, flags := range [][]string{{"--readers", "1"}, {"--readers", "3", "--ptc", "3", "--bs", "16", "--bc", "4"}, {"--buffering", "nway"}, {"--sequential"}} {
		r := recordBeside(t, dir, "kept", besideAll, append(flags, "--keep-records"), prog, "child")
		same(t, native, result{stdout: r.stdout, status: r.status})
		if !bytes.Contains(r.stderr, []byte("recorded and analysed in kept")) {
			t.Errorf("%v: %s", flags, clip(r.stderr))
		}
		if v := run(t, command{argv: []string{alleria(), "verify", "kept"}, dir: dir}); v.status != 0 {
			t.Errorf("%v: verify: %s%s", flags, v.stdout, v.stderr)
		}
		names := []string{"methods", "callgraph", "calltree", "paths", "cache", "reuse", "strides"}
		beside := map[string][]byte{}
		for _, name := range names {
			beside[name] = analysisJSON(t, dir, "kept", name)
		}
		maps := func() []byte {
			run(t, command{argv: []string{alleria(), "heatmap", "--title", "t", "-o", "map.csv", "kept"}, dir: dir})
			files, err := filepath.Glob(filepath.Join(dir, "map*.csv"))
			if err != nil || len(files) != 2 {
				t.Fatalf("maps %q, %v", files, err)
			}
			var all []byte
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text...)
				os.Remove(f)
			}
			return all
		}
		found := maps()
		// Filters need the records, which are there.
		if one := run(t, command{argv: []string{alleria(), "analyze", "methods", "--thread", "1", "kept"}, dir: dir}); one.status != 0 || strings.Contains(string(one.stderr), "as found while it ran") {
			t.Errorf("%v: methods of thread 1: status %d, %s", flags, one.status, clip(one.stderr))
		}
		results, err := filepath.Glob(filepath.Join(dir, "kept", "p*", "analysis-*.json"))
		if err != nil || len(results) != 2*len(strings.Split(besideAll, ",")) {
			t.Errorf("%v: results %q, %v", flags, results, err)
		}
		for _, path := range results {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range names {
			if counted := analysisJSON(t, dir, "kept", name); !bytes.Equal(counted, beside[name]) || len(counted) < 200 {
				t.Errorf("%v: %s: %d bytes, found while it ran %d", flags, name, len(counted), len(beside[name]))
			}
		}
		if counted := maps(); !bytes.Equal(counted, found) || len(counted) < 50 {
			t.Errorf("%v: maps differ", flags)
		}
	}
}

// TestKeepRecordsBursts: of samples the profile says what was recorded and passed over, and the analyses scale by it.
func TestKeepRecordsBursts(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/beside.c", "-pthread")
	r := recordBeside(t, dir, "kept", "methods", []string{"--keep-records", "--sample-rate", "20%"}, prog)
	report := run(t, command{argv: []string{alleria(), "report", "kept"}, dir: dir})
	if report.status != 0 || !bytes.Contains(report.stdout, []byte("sampl")) || !bytes.Contains(r.stderr, []byte("  sampled: ")) {
		t.Errorf("status %d, %s, %s", report.status, clip(report.stdout), clip(r.stderr))
	}
	if v := run(t, command{argv: []string{alleria(), "verify", "kept"}, dir: dir}); v.status != 0 {
		t.Errorf("verify: %s%s", v.stdout, v.stderr)
	}
	// The report's recorded instructions are those that the analyses have seen.
	seen := runFile(t, filepath.Join(dir, "kept")).Processes[0].Instructions
	for line := range strings.Lines(string(r.stderr)) {
		if _, rest, ok := strings.Cut(line, "  sampled: "); ok {
			what, _, _ := strings.Cut(rest, " of ")
			if n := numbersOf(t, []byte(what), ""); len(n) != 1 || uint64(n[0]) != uint64(seen) {
				t.Errorf("analyses say %q were recorded, run.json %d", what, seen)
			}
		}
	}
}

// TestKeepRecordsFullDisk: where nobody is left who can write, analyses that have not seen everything have no results, and the
// program goes on.
func TestKeepRecordsFullDisk(t *testing.T) {
	t.Parallel()
	dir := inputDir(t)
	if exec.Command("/bin/sh", "-ec", "cd "+dir+"; mkdir room; mount -t tmpfs -o size=2m none room").Run() != nil {
		t.Skip("no file system can be made")
	}
	defer syscall.Unmount(filepath.Join(dir, "room"), syscall.MNT_DETACH)
	argv := []string{find("gzip"), "-c", "-9", "-n", "text"}
	native := run(t, command{argv: argv, dir: dir})
	r := run(t, command{argv: append([]string{alleria(), "record", "--analysis", "methods", "--keep-records", "--compress", "off", "-o", "room/out", "--"}, argv...), dir: dir})
	if string(r.stdout) != string(native.stdout) {
		t.Error("the program's output differs")
	}
	if r.status != 125 || !strings.Contains(string(r.stderr), "analysis methods of process 1 ended: not all records were analysed, since writing failed") {
		t.Errorf("status %d: %s", r.status, clip(r.stderr))
	}
}
