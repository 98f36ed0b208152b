package acceptance

import "testing"

// TestWaitsAcrossCaptures: calls of the kernel that are interrupted while a process comes and goes between native code and the cache, and in which the
// tracer has made calls of its own, are made again by the kernel, and return what they return natively.
func TestWaitsAcrossCaptures(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/waits.c", "-pthread")
	const config = `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true">` +
		`<Function name="number"><Intercept retType="s4"><Parameter index="0" type="s4" in="1"/></Intercept></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	for name, args := range map[string][]string{"native": nil, "stops": {"--engine", "no-jumps", "--engine", "no-native-capture"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			file := writeFile(t, dir, "c.xml", config)
			argv := append([]string{alleria(), "-q", "record", "-o", profileDir, "-c", file}, args...)
			r := run(t, command{argv: append(argv, "--", prog), dir: dir})
			if got, want := string(r.stdout), "nanosleep 0 \nselect 1 \nread 1 \n15000\n"; got != want || r.status != 0 {
				t.Errorf("status %d, it prints\n%swant\n%s%s", r.status, got, want, clip(r.stderr))
			}
		})
	}
}
