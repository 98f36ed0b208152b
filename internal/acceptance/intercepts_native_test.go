package acceptance

import "testing"

// numberConfig captures the calls of a fixture's number.
const numberConfig = `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true">` +
	`<Function name="number"><Intercept retType="s4"><Parameter index="0" type="s4" in="1"/></Intercept></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`

// TestWaitsAcrossCaptures: calls of the kernel that are interrupted while a process comes and goes between native code and the cache, and in which the
// tracer has made calls of its own, are made again by the kernel, and return what they return natively.
func TestWaitsAcrossCaptures(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/waits.c", "-pthread")
	for name, args := range map[string][]string{"native": nil, "stops": {"--engine", "no-jumps", "--engine", "no-native-capture"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			file := writeFile(t, dir, "c.xml", numberConfig)
			argv := append([]string{alleria(), "-q", "record", "-o", profileDir, "-c", file}, args...)
			r := run(t, command{argv: append(argv, "--", prog), dir: dir})
			if got, want := string(r.stdout), "nanosleep 0 \nselect 1 \nread 1 \n15000\n"; got != want || r.status != 0 {
				t.Errorf("status %d, it prints\n%swant\n%s%s", r.status, got, want, clip(r.stderr))
			}
		})
	}
}

// TestReplacedNatively: code that takes other code's place natively is executed in the cache as it is, also where mappings have been read meanwhile for a captured return.
func TestReplacedNatively(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/replaced.c", "")
	dir := workDir(t)
	file := writeFile(t, dir, "c.xml", numberConfig)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "-c", file, "--", prog}, dir: dir})
	if got, want := string(r.stdout), "2016006\n"; got != want || r.status != 0 {
		t.Errorf("status %d, it prints %s, want %s%s", r.status, got, want, clip(r.stderr))
	}
}

// TestAttachesFromReloaded: a library's own call of ptrace is known of wherever it has been loaded, also where it lay before.
func TestAttachesFromReloaded(t *testing.T) {
	t.Parallel()
	prog, lib := build(t, "../../testdata/intercept/attaches.c", ""), build(t, "../../testdata/intercept/attaches.c", "-shared -fPIC -DLIBRARY")
	dir := workDir(t)
	file := writeFile(t, dir, "c.xml", numberConfig)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "-c", file, "--", prog, lib}, dir: dir})
	if got, want := string(r.stdout), "0\n0\n0\n"; got != want || r.status != 0 {
		t.Errorf("status %d, it prints %s, want %s%s", r.status, got, want, clip(r.stderr))
	}
}
