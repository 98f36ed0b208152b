package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProtectedCode counts what a program asks of the tracer that protects its code anew for each piece that it writes: what
// it has not changed is not translated again.
func TestProtectedCode(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/code-protect.c", "")
	dir := workDir(t)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--log", "log", "--cache", "off", "--only", "translate", "--", prog}, dir: dir})
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || r.status != 0 {
		t.Fatalf("%v, status %d\n%s", err, r.status, clip(r.stderr))
	}
	m := regexp.MustCompile(`Dispatches:(\d+)`).FindSubmatch(log)
	if slow := run(t, command{argv: []string{alleria(), "-q", "record", "--engine", "no-aside", "--only", "count", "--", prog}, dir: dir}); slow.status != 0 || string(slow.stdout) != string(r.stdout) {
		t.Errorf("no-aside: status %d\n%s", slow.status, clip(slow.stderr))
	}
	if m == nil {
		t.Fatalf("no count of requests in the log:\n%s", clip(log))
	}
	// Two for each round's calls of mprotect, and what is left for what it has changed: three blocks of a function.
	if n, _ := strconv.Atoi(string(m[1])); n < 2000 || n > 13000 {
		t.Errorf("%d requests, want 2,000 for 2,000 calls, and not more than 13,000", n)
	}
}

// TestRenewedCache has a program with more code than the cache has room for counted: translations are forgotten and made
// again while a thread waits in a call, and no count is lost with them.
func TestRenewedCache(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/code-churn.c", "-static")
	var want string
	for _, flags := range []string{"no-prefetch", "small-cache"} {
		dir := workDir(t)
		r := run(t, command{argv: []string{alleria(), "record", "--no-aslr", "--log", "log", "--engine", flags, "--only", "count", "--", prog}, dir: dir})
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || r.status != 0 {
			t.Fatalf("%s: %v, status %d\n%s", flags, err, r.status, clip(r.stderr))
		}
		// Of the program's own code and of that which it makes: how often threads find each other waiting, the C library counts as well.
		var got string
		for _, row := range regexp.MustCompile(`(?m)^ +(\d+) +[\d.]+ % +(?:code-churn-static +main|\[no image\] .*)$`).FindAllSubmatch(r.stderr, -1) {
			got += string(row[1]) + " "
		}
		m := regexp.MustCompile(`Renewed:(\d+)`).FindSubmatch(log)
		if n, _ := strconv.Atoi(string(m[1])); (n >= 3) != (flags == "small-cache") {
			t.Errorf("%s: the cache was renewed %d times", flags, n)
		}
		if want == "" {
			want = got
		}
		if got != want || strings.Count(got, " ") < 4 {
			t.Errorf("%s: %s\nwant %s\n%s", flags, got, want, clip(r.stderr))
		}
	}
}
