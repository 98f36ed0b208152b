package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInterceptStatic captures functions that a static program chooses when it starts (IFUNC), by the names that they are called by, also where a pattern means what is chosen
// by a name of its own.
func TestInterceptStatic(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, writeFile(t, dir, "static.c", `#include <stdio.h>
#include <string.h>
int main(void)
{
	char b[16];
	strcpy(b, "abc");
	strcat(b, "/d");
	printf("%zu %s\n", strlen(b), strchr(b, '/'));
	return strcmp(b, "abc/d");
}
`), "-static -fno-builtin -g0")
	config := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window><On><Call name="main"/></On><Profile><Process><Thread><Image main="true">`+
		`<Function name="*str*"><Intercept auto="true"/></Function><Function name="strchr"><Intercept auto="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	if out := intercepted(t, dir, config, prog); out != "5 /d\n" {
		t.Errorf("it prints %q", out)
	}
	all := strings.Join(intercepts(t, dir), "\n")
	for _, want := range []string{`strcpy(to=0x[0-9a-f]+, from="abc") = "abc"`, `strlen(s="abc/d") = 5`, `strchr(s="abc/d", c='/') = "/d"`, `strcmp(a="abc/d", b="abc/d") = 0`} {
		if !regexp.MustCompile("(?m)^" + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(want)).MatchString(all) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
}

// TestInterceptNames has flags and numbers of the C library's functions by name, as strace writes those of the system calls that they make.
func TestInterceptNames(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	dir := workDir(t)
	prog := build(t, writeFile(t, dir, "names.c", `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	int fd = open("made", O_RDWR | O_CREAT | O_TRUNC | O_SYNC, 0640);
	open("made", O_RDONLY | O_CLOEXEC, 0);
	open("made", O_WRONLY | O_APPEND | O_NONBLOCK, 0);
	openat(AT_FDCWD, "none", O_RDONLY | O_DIRECTORY, 0);
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
	mprotect(p, 4096, PROT_NONE);
	madvise(p, 4096, MADV_DONTNEED);
	kill(getpid(), SIGCHLD);
	lseek(fd, 0, SEEK_END);
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	recv(s, p, 0, MSG_PEEK | MSG_DONTWAIT);
	access("made", R_OK | W_OK);
	unlinkat(AT_FDCWD, "none", AT_REMOVEDIR);
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&m);
	pthread_mutex_trylock(&m);
	return 0;
}
`), "-g0 -Wno-unused-result")
	names := []string{"open", "openat", "mmap", "mprotect", "madvise", "kill", "lseek", "socket", "recv", "access", "unlinkat", "pthread_mutex_trylock"}
	argv := []string{alleria(), "-q", "record", "-o", profileDir}
	for _, n := range names {
		argv = append(argv, "--intercept", n+"@libc.so.6")
	}
	run(t, command{argv: append(argv, "--", prog), dir: dir})
	run(t, command{argv: []string{strace, "-o", "calls", prog}, dir: dir})
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	// Names that stand behind the = of a parameter, those of one call in their order.
	constants := regexp.MustCompile(`=((?:[A-Z][A-Z0-9_]+)(?:\|[A-Z][A-Z0-9_]+)*)\b|mode=(0[0-7]+)`)
	seen := 0
	for _, line := range intercepts(t, dir) {
		name, _, _ := strings.Cut(line, "(")
		if name == "open" {
			name = "openat"
		}
		pattern := `(?m)^` + name + `\(`
		for _, m := range constants.FindAllStringSubmatch(line, -1) {
			if m[1] == "NULL" {
				continue
			}
			seen++
			pattern += `.*\b` + regexp.QuoteMeta(m[1]+m[2]) + `\b`
		}
		if name != "pthread_mutex_trylock" && !regexp.MustCompile(strings.Replace(pattern, `recv\(`, `recv(from)?\(`, 1)).Match(text) {
			t.Errorf("strace has no %s for %s", pattern, line)
		}
	}
	if seen != 20 {
		t.Errorf("%d names in\n%s", seen, strings.Join(intercepts(t, dir), "\n"))
	}
	if got := intercepts(t, dir, "--function", "pthread_mutex_trylock"); len(got) != 1 || !strings.HasSuffix(got[0], ") = EBUSY") {
		t.Errorf("%q", got)
	}
}

// TestInterceptChosenForSeveral names a function that two names were chosen for as it was asked for: by the one that an element has, else by both.
func TestInterceptChosenForSeveral(t *testing.T) {
	t.Parallel()
	source := `static int both(int n) { return n + 1; }
static int (*first_of(void))(int) { return both; }
static int (*second_of(void))(int) { return both; }
int first(int n) __attribute__((ifunc("first_of")));
int second(int n) __attribute__((ifunc("second_of")));
int main(void) { return first(1) + second(2) - 5; }
`
	for _, flags := range []string{"-O0 -g", "-O0 -g -static"} {
		prog := build(t, writeFile(t, workDir(t), "chosen.c", source), flags)
		for _, c := range []struct{ asked, want string }{
			{"first", "first"}, {"second", "second"}, {"first second", "first|second"}, {"*first second", "second"}, {"first second*", "first"}, {"firs* secon*", "first|second"},
		} {
			dir := workDir(t)
			argv := []string{alleria(), "-q", "record", "-o", profileDir}
			for _, name := range strings.Fields(c.asked) {
				argv = append(argv, "--intercept", name)
			}
			if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 0 || len(r.stderr) > 0 {
				t.Errorf("%s, %s: status %d, %s", flags, c.asked, r.status, clip(r.stderr))
			}
			want := []string{c.want + "(n=1) = 2", c.want + "(n=2) = 3"}
			var got []string
			for _, line := range intercepts(t, dir) {
				if !strings.Contains(line, "_of(") && !strings.Contains(line, "init_first(") {
					got = append(got, line)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q instead of %q", flags, c.asked, got, want)
			}
			for name := range strings.SplitSeq(c.want, "|") {
				if got := intercepts(t, dir, "--function", name); !slices.Equal(got, want) {
					t.Errorf("%s, %s: of %s %q instead of %q", flags, c.asked, name, got, want)
				}
			}
		}
	}
}
