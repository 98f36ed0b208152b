package acceptance

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFixturesSampled runs the fixtures in bursts, with rings that are overwritten, and with budgets of every kind, which run out
// all the time: windows open and close at counts of instructions and accesses in
// programs that fault, take signals, change their code and start threads.
func TestFixturesSampled(t *testing.T) {
	t.Parallel()
	conf := sampledConfig(t)
	over := mode{"overwritten", []string{"--sample-rate", "1/3", "--engine", "overwrite-bursts", "--buffer-chunk", "16K", "--buffer-max", "32K", "-o", "../" + profileDir}, true}
	bursts := mode{"bursts", []string{"--sample-rate", "1/3", "--buffer-chunk", "16K", "--buffer-max", "32K", "-o", "../" + profileDir}, true}
	m := mode{"sampled", []string{"-c", conf, "-o", "../" + profileDir}, true}
	// Those that signals come to all the time hardly get to the next opening.
	for n, name := range []string{"code-dual.c", "code-jit.c", "code-rwx.c", "code-self.c", "code-unload.c", "death-segv.c", "exceptions.cc",
		"signals-faults.c", "signals-fixup.c", "signals-string.c", "state-flags.c", "threads-mutex.c", "threads-exec.c"} {
		if name == "exceptions.cc" && !*every { // half of the test's time
			continue
		}
		file := filepath.Join(programs, name)
		fx, err := readFixture(file)
		if err != nil {
			t.Fatal(err)
		}
		ways := []mode{m, bursts, over}
		if !*every {
			ways = []mode{m, ways[1+n%2]}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx.test(t, fx.builds[0], ways)
		})
	}
}

// TestExecWhileStopped: a thread executes another program while the tracer stops all
// threads for a window. The kernel never reports the thread's old number again; waiting for it hung
// one run in twenty.
func TestExecWhileStopped(t *testing.T) {
	t.Parallel()
	dir, conf := workDir(t), sampledConfig(t)
	prog := build(t, programs+"/threads-exec.c", "-pthread")
	for i := range short(12, 40) {
		r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", conf, "--discard", "--", prog}, dir: dir, timeout: 30 * time.Second})
		if r.status != 0 || string(r.stdout) != "again\n" {
			t.Fatalf("run %d: status %d, %q\n%s", i, r.status, r.stdout, clip(r.stderr))
		}
	}
}

// TestExecBehindStops: the first thread's stop for a child's end waits to be looked at when another thread has executed the program anew, and means nothing any more. The new
// one went on by it before anybody knew of it, and stood for ever soon after.
func TestExecBehindStops(t *testing.T) {
	t.Parallel()
	dir, prog := workDir(t), build(t, programs+"/threads-exec-forks.c", "-pthread")
	for i := range short(6, 40) {
		argv := []string{alleria(), "-q", "record", "--discard", "--select", "any", "--sample-rate", "5%"}
		if i%2 > 0 {
			argv = append(argv, "--sample-by", "time")
		}
		r := run(t, command{argv: append(argv, "--", prog), dir: dir, timeout: 30 * time.Second})
		if r.status != 0 || string(r.stdout) != "ok\n" {
			t.Fatalf("run %d: status %d, %q\n%s", i, r.status, r.stdout, clip(r.stderr))
		}
	}
}

// sampledConfig writes windows that open and close at counts all the time.
func sampledConfig(t *testing.T) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "sampled.xml")
	window := func(attrs, events string) string {
		return `<Window` + attrs + `>` + events + `<Profile><Process><Thread><Image><Function>` +
			`<Instruction cat="anyMem" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window>`
	}
	text := `<AlleriaConfig version="1.0">` +
		window(` reopenable="true"`, `<On><Sample period="7001" burst="130"/></On>`) +
		window("", `<On><Accesses reads="3000" writes="1000"/></On><Till><Accesses total="5000"/></Till>`) +
		window("", `<On><Instructions threshold="20000" anyThread="true"/></On><Till><Accesses writes="100" since="open"/></Till>`) +
		`</AlleriaConfig>`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return conf
}
