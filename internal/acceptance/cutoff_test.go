package acceptance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readable reads what a run that was cut off has left in dir: verify finds nothing
// worse than that, and report works and says so as well.
func readable(t *testing.T, dir, profile string) {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "verify", profile}, dir: dir})
	for line := range strings.Lines(string(r.stdout) + string(r.stderr)) {
		if !strings.Contains(line, "cut off") {
			t.Errorf("verify says %q", line)
		}
	}
	if r.status != 1 {
		t.Errorf("verify: status %d, want 1", r.status)
	}
	if r := run(t, command{argv: []string{alleria(), "report", profile}, dir: dir}); r.status != 0 || !bytes.Contains(r.stdout, []byte("cut off")) {
		t.Errorf("report: status %d\n%s%s", r.status, clip(r.stdout), clip(r.stderr))
	}
}

// TestDiskFull: whenever the disk is full, the target runs on natively, alleria
// says that the profile is not complete, and what there is of it can be read.
func TestDiskFull(t *testing.T) {
	gzip := []string{find("gzip"), "-c", "-9", "-n", "text"}
	for i, kib := range []int{12, 20, 40, 64, 100, 180, 300, 500} {
		t.Run(fmt.Sprint(kib, "K"), func(t *testing.T) {
			t.Parallel()
			dir := inputDir(t)
			native := run(t, command{argv: gzip, dir: dir})
			full := filepath.Join(dir, "full")
			if err := os.Mkdir(full, 0o755); err != nil {
				t.Fatal(err)
			}
			flags := []string{"-q", "record", "-o", "full/out"}
			if i%2 == 1 { // natively before
				flags = append(flags, "--on-call", "main")
			}
			argv := append(append(append([]string{alleria()}, flags...), "--"), gzip...)
			if err := syscall.Mount("none", full, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err == nil {
				defer syscall.Unmount(full, syscall.MNT_DETACH)
			} else { // without rights: no file may grow, and that is no signal but an error
				argv = append([]string{"/bin/sh", "-c", fmt.Sprintf(`trap "" XFSZ; ulimit -f %d; exec "$@"`, kib), "sh"}, argv...)
			}
			r := run(t, command{argv: argv, dir: dir})
			says := string(r.stderr)
			last := slices.DeleteFunc(strings.Split(strings.TrimSpace(says), "\n"), func(line string) bool { return strings.Contains(line, " gave up, others went on: ") })
			if r.status != 125 || !strings.Contains(says, "no space left") && !strings.Contains(says, "file too large") || len(last) != 1 {
				t.Errorf("status %d, %q; want 125 and the reason in one line, behind those of processing threads that gave up", r.status, says)
			}
			if !bytes.Equal(r.stdout, native.stdout) {
				t.Error("the target's output differs")
			}
			readable(t, dir, "full/out")
		})
	}
}

// TestDiskFullOfAnalyses: results that found no room are not there, in no part; those that did can be read; the program's output is right, and run.json says
// what became of the run though there is no room for another file.
func TestDiskFullOfAnalyses(t *testing.T) {
	gzip := []string{find("gzip"), "-c", "-n", "/etc/services"}
	for _, kib := range []int{32, 80, 300} {
		t.Run(fmt.Sprint(kib, "K"), func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			full := filepath.Join(dir, "full")
			if err := os.Mkdir(full, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("none", full, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
				t.Skipf("no file system to fill: %v", err)
			}
			defer syscall.Unmount(full, syscall.MNT_DETACH)
			r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-o", "full/out", "--analysis", "calltree,heatmap,strides", "--"}, gzip...), dir: dir})
			if r.status != 125 || !strings.Contains(string(r.stderr), "no space left") || strings.Count(string(r.stderr), "\n") != 1 {
				t.Errorf("status %d, %q; want 125 and the reason in one line", r.status, r.stderr)
			}
			if native := run(t, command{argv: gzip, dir: dir}); !bytes.Equal(r.stdout, native.stdout) {
				t.Error("the target's output differs")
			}
			if out := runFile(t, filepath.Join(full, "out")).Outcome; out.State != "cut off" || !strings.Contains(out.Reason, "no space left") {
				t.Errorf("run.json says %+v", out)
			}
			readable(t, dir, "full/out")
			there, missing := 0, 0
			for name, kind := range map[string]string{"methods": "calls", "strides": "strides"} {
				_, err := os.Stat(filepath.Join(full, "out", "p1", "analysis-"+kind+".json"))
				if r := run(t, command{argv: []string{alleria(), "analyze", name, "full/out"}, dir: dir}); (r.status == 0) != (err == nil) {
					t.Errorf("%s: file %v, status %d, %s", name, err, r.status, clip(r.stderr))
				}
				if err != nil {
					missing++
				} else {
					there++
				}
			}
			if missing == 0 || kib == 300 && there == 0 {
				t.Errorf("%d results are there, %d are not", there, missing)
			}
			if left, _ := filepath.Glob(filepath.Join(full, "out", "p1", ".*")); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestDiskFullBeforeProcess: a process that begins when there is no room for its profile runs all the same.
func TestDiskFullBeforeProcess(t *testing.T) {
	t.Parallel()
	for _, kib := range []int{12, 20, 300} { // for the first process's profile, the second's, the third's
		dir := workDir(t)
		full := filepath.Join(dir, "full")
		if err := os.Mkdir(full, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("none", full, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
			t.Skipf("no file system to fill: %v", err)
		}
		defer syscall.Unmount(full, syscall.MNT_DETACH)
		script := `head -c 1M /dev/zero > full/fill 2>/dev/null; gzip -c -n /etc/services | cksum; exit 3`
		r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", "full/out", "--", "/bin/sh", "-c", script}, dir: dir})
		if r.status != 3 || !strings.Contains(string(r.stderr), "no space left") || strings.Count(string(r.stderr), "\n") != 1 {
			t.Errorf("%d KiB: status %d, %q; want the program's and the reason in one line", kib, r.status, r.stderr)
		}
		if native := run(t, command{argv: []string{"/bin/sh", "-c", `gzip -c -n /etc/services | cksum`}, dir: dir}); !bytes.Equal(r.stdout, native.stdout) {
			t.Errorf("%d KiB: the program prints %q, natively %q", kib, r.stdout, native.stdout)
		}
		if run := runFile(t, filepath.Join(full, "out")); run.Outcome.State != "cut off" {
			t.Errorf("%d KiB: run.json says %+v", kib, run.Outcome)
		}
		readable(t, dir, "full/out")
	}
}

// TestTracerKilled: what alleria had written when it was killed can be read.
func TestTracerKilled(t *testing.T) {
	for i, how := range []string{"wait", "compute", "threads", "wait", "compute", "threads"} {
		t.Run(fmt.Sprint(how, i), func(t *testing.T) {
			t.Parallel()
			s := spin(t, how, "-o", profileDir)
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			s.cmd.Process.Kill()
			s.wait(t)
			if !gone(s.target) {
				t.Error("the target lives on")
			}
			readable(t, s.dir, profileDir)
		})
	}
}

// TestDrained: what a program did is in the profile within a tenth of a second,
// though it fills no buffer: only that much is lost with the tracer. A second is
// for busy machines.
func TestDrained(t *testing.T) {
	t.Parallel()
	s := spin(t, "tick", "-o", profileDir)
	var ticks []time.Time
	for len(ticks) == 0 || time.Since(ticks[0]) < 2500*time.Millisecond {
		if _, err := s.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		ticks = append(ticks, time.Now())
	}
	killed := time.Now()
	s.cmd.Process.Kill()
	s.wait(t)
	early := 0
	for early < len(ticks) && killed.Sub(ticks[early]) > time.Second {
		early++
	}
	d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: s.dir})
	if got := bytes.Count(d.stdout, []byte(" xlat")); got < early || early == 0 {
		t.Errorf("%d of %d ticks are in the profile; %d came more than a second before the end", got, len(ticks), early)
	}
}

// TestDamaged: whatever happens to a profile's files, whoever reads them says so
// in few words, or reads on; verify finds it in any case.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	good := filepath.Join(dir, "good")
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", good, "--", find("echo"), "x"}, dir: dir}); r.status != 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	files, err := filepath.Glob(good + "/p1/*.abp")
	if err != nil || len(files) < 2 {
		t.Fatalf("profile has files %v: %v", files, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 24 {
		file := files[n%len(files)]
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bad, what := bytes.Clone(whole), ""
		switch at := rng.IntN(len(whole)); n / len(files) % 4 {
		case 0:
			bad, what = bad[:at], fmt.Sprint("cut off at byte ", at)
		case 1:
			bad[at] ^= byte(1 + rng.IntN(255))
			what = fmt.Sprint("byte ", at, " changed")
		case 2:
			clear(bad[at:min(at+4096, len(bad))])
			what = fmt.Sprint("zeros at byte ", at)
		case 3:
			bad, what = append(bad[:at:at], whole[at/2:]...), fmt.Sprint("parts twice at byte ", at)
		}
		if bytes.Equal(bad, whole) {
			continue
		}
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range [][]string{{"verify"}, {"report"}, {"dump"}, {"heatmap", "-o", filepath.Join(dir, "heat.csv")}} {
			r := run(t, command{argv: append(append([]string{alleria()}, c...), good), dir: dir})
			said := string(r.stderr)
			if strings.Contains(said, "goroutine ") || r.status > 2 && r.status != 125 || c[0] == "verify" && r.status != 1 || len(said) > 2000 {
				t.Errorf("%s, %s: %s: status %d, %s", filepath.Base(file), what, c[0], r.status, clip(r.stderr))
			}
		}
		if err := os.WriteFile(file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
