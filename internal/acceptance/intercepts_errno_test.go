package acceptance

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"alleria/internal/errno"
)

// TestInterceptErrno compares the errors of calls of the C library, in two threads, with what the program says of errno itself: natively and in the cache, by code and
// by the tracer, and with another place of errno.
func TestInterceptErrno(t *testing.T) {
	t.Parallel()
	var functions strings.Builder
	names := []string{"open", "close", "read", "lstat", "mkdir", "malloc", "mmap", "fopen", "realpath", "unlink"}
	for _, name := range names {
		fmt.Fprintf(&functions, `<Function name="%s"><Intercept auto="true"/></Function>`, name)
	}
	libc := `<Image name="libc.so.6">` + functions.String() + `</Image>`
	cached := libc + `<Image main="true"><Function name="calls"><Instruction cat="any"/></Function></Image>`
	for way, c := range map[string]struct{ flags, images, engine string }{
		"native":             {"-pthread", libc, "no-huge"},
		"native, tracer's":   {"-pthread", libc, "no-native-capture"},
		"in cache":           {"-pthread", cached, "no-huge"},
		"in cache, tracer's": {"-pthread", cached, "no-code-capture"},
		"static":             {"-pthread -static", `<Image main="true">` + functions.String() + `</Image>`, "no-huge"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			prog := build(t, "../../testdata/intercept/errno.c", c.flags)
			file := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread>`+c.images+`</Thread></Process></Profile></Window></AlleriaConfig>`)
			r := run(t, command{argv: []string{alleria(), "-q", "record", "--engine", c.engine, "-o", profileDir, "-c", file, "--", prog}, dir: dir})
			want := strings.Split(strings.TrimSpace(string(r.stdout)), "\n")
			var got []string
			for thread := range 2 {
				for _, line := range intercepts(t, dir, "--json", "--thread", fmt.Sprint(thread+1)) {
					var row struct{ Function, Caller, Errno string }
					if err := json.Unmarshal([]byte(line), &row); err != nil {
						t.Fatal(err)
					}
					if !strings.HasPrefix(row.Caller, "calls") || !slices.Contains(names, row.Function) {
						continue // of the library itself
					}
					if row.Errno != "" {
						text := syscall.Errno(errno.Number(row.Errno)).Error()
						row.Function += " (" + strings.ToUpper(text[:1]) + text[1:] + ")"
					}
					got = append(got, row.Function)
				}
			}
			if !slices.Equal(got, want) || len(want) != 72 {
				t.Errorf("%s%d lines\n%q\nwant %d\n%q", r.stderr, len(got), got, len(want), want)
			}
		})
	}
}

// TestInterceptErrnoAsStrace holds what programs are told by the C library against what strace says of the calls that these come from.
func TestInterceptErrnoAsStrace(t *testing.T) {
	t.Parallel()
	if find("strace") == "" {
		t.Skip("no strace")
	}
	var functions strings.Builder
	for _, name := range []string{"open", "open64", "openat", "openat64", "opendir", "access", "unlink", "unlinkat", "rmdir", "mkdir", "chdir", "stat", "stat64", "fstatat", "fstatat64", "lstat"} {
		fmt.Fprintf(&functions, `<Function name="%s"><Intercept auto="true"/></Function>`, name)
	}
	told := regexp.MustCompile(`(?m)"(/nonexistent[^"]*)".* = (?:-1|NULL) (E[A-Z]+ \([^()]*\))`)
	for _, prog := range [][]string{{"cat", "/nonexistent1"}, {"rm", "/nonexistent2"}, {"rmdir", "/nonexistent3"}, {"mkdir", "/nonexistent4/x"},
		{"python3", "-c", "import os\nfor f in os.listdir, os.rmdir, os.unlink, os.chdir:\n  try: f('/nonexistent5')\n  except OSError: pass"}} {
		if find(prog[0]) == "" {
			continue
		}
		dir := workDir(t)
		c := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image name="libc.so.6">`+functions.String()+`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
		run(t, command{argv: append([]string{alleria(), "-q", "record", "-o", profileDir, "-c", c, "--"}, prog...), dir: dir})
		got := make(map[string]bool)
		for _, m := range told.FindAllStringSubmatch(strings.Join(intercepts(t, dir), "\n"), -1) {
			got[m[1]+" "+m[2]] = true
		}
		out, _ := exec.Command("strace", append([]string{"-f", "-o", "/dev/stdout"}, prog...)...).Output()
		failed := regexp.MustCompile(`(?m)"(/nonexistent[^"]*)".* = -1 (E[A-Z]+ \([^()]*\))$`).FindAllStringSubmatch(string(out), -1)
		if len(failed) == 0 {
			t.Errorf("%q: strace says nothing: %s", prog, clip(out))
		}
		for _, m := range failed {
			if !got[m[1]+" "+m[2]] && !strings.Contains(m[0], "execve") {
				t.Errorf("%q: strace says %s, the calls of the library %v", prog, m[0], got)
			}
		}
	}
}
