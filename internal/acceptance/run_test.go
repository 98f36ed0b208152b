package acceptance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// command is one program run.
type command struct {
	argv    []string
	stdin   string // file in the working directory; "": /dev/null
	env     []string
	dir     string
	timeout time.Duration // 0: as long as a run may take on a busy machine
	attr    *syscall.SysProcAttr
}

// result is what can be seen of a program from outside.
type result struct {
	stdout, stderr []byte
	status         int // exit status; 128+N where signal N ended it, as a shell says it
	took           time.Duration
}

// run executes a command. A run that does not end is a failure of the test and
// killed, with everything it started: children of an interrupted target would hold
// the pipes open.
func run(t testing.TB, c command) result {
	t.Helper()
	if c.timeout == 0 {
		c.timeout = 3 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(baseEnv(c.dir), c.env...)
	cmd.SysProcAttr = c.attr
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.stdin != "" {
		f, err := os.Open(filepath.Join(c.dir, c.stdin))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdin = f
	}
	start := time.Now()
	err := cmd.Run()
	r := result{out.Bytes(), errs.Bytes(), 0, time.Since(start)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s: no end within %v\nstdout: %s\nstderr: %s", strings.Join(c.argv, " "), c.timeout, clip(r.stdout), clip(r.stderr))
		r.status = -1
	case errors.As(err, &exit):
		ws := exit.Sys().(syscall.WaitStatus)
		r.status = ws.ExitStatus()
		if ws.Signaled() {
			r.status = 128 + int(ws.Signal())
		}
	case err != nil:
		t.Fatalf("%s: %v", c.argv[0], err)
	}
	return r
}

// baseEnv is an environment that makes programs' output independent of the
// user and the machine.
func baseEnv(dir string) []string {
	return []string{"PATH=" + path(), "HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Join(testRoot, "cache"), "LC_ALL=C.UTF-8", "TZ=UTC", "TMPDIR=" + os.TempDir(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2001-02-03T04:05:06Z", "GIT_COMMITTER_DATE=2001-02-03T04:05:06Z"}
}

// path prefers the distribution's programs: version managers put scripts of
// theirs in front.
func path() string { return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }

// find looks a program up where the runs do; "" if it is not installed.
func find(name string) string {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err != nil {
			return ""
		}
		return name
	}
	for _, d := range filepath.SplitList(path()) {
		if p := filepath.Join(d, name); isProgram(p) {
			return p
		}
	}
	return ""
}

func isProgram(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// tree lists the files below dir with what they hold, one a line, so that two
// trees compare as text. Names below skip are left out.
func tree(t testing.TB, dir string, skip ...string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		for _, s := range skip {
			if rel == s {
				return fs.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			what = fmt.Sprintf("%d %x", len(data), sha256.Sum256(timeless(data)))
		case info.Mode()&fs.ModeSymlink != 0:
			what, _ = os.Readlink(p)
		}
		fmt.Fprintf(&b, "%s %v %s\n", rel, info.Mode(), what)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// timeless returns what a file holds without what differs between two copies of
// one directory: git notes of each file when its inode was changed last, and
// the inode's number, in an index that it writes anew. Everything else in it is
// compared: names, objects, sizes, modes, extensions.
func timeless(data []byte) []byte {
	const (
		head, sum = 12, 20 // "DIRC", version, number of entries; a checksum at the end
		fixed     = 62     // of an entry, before its name
	)
	if len(data) < head+sum || string(data[:8]) != "DIRC\x00\x00\x00\x02" {
		return data
	}
	out := bytes.Clone(data[:len(data)-sum])
	at := head
	for n := binary.BigEndian.Uint32(out[8:]); n > 0 && at+fixed < len(out); n-- {
		clear(out[at : at+8])     // ctime
		clear(out[at+16 : at+24]) // device and inode
		name := int(binary.BigEndian.Uint16(out[at+60:]) & 0xfff)
		at += (fixed + name + 8) &^ 7 // padded with 1 to 8 zeros
	}
	return out
}

// clip bounds what a failure prints.
func clip(b []byte) string {
	const most = 2000
	if len(b) <= most {
		return string(b)
	}
	return string(b[:most/2]) + "\n…\n" + string(b[len(b)-most/2:])
}
