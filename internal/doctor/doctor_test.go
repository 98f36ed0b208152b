package doctor

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// healthy is a machine where everything is allowed; the tests break one thing
// each.
func healthy() (host, map[string]string) {
	files := map[string]string{
		"/proc/cpuinfo":                      "model name\t: Test\nflags\t\t: bmi2 rtm\n",
		"/proc/self/maps":                    "",
		"/proc/self/status":                  "Name:\tx\nSeccomp:\t0\n",
		"/proc/meminfo":                      "MemAvailable:   8000000 kB\n",
		"/proc/sys/vm/overcommit_memory":     "0\n",
		"/proc/sys/kernel/yama/ptrace_scope": "1\n",
	}
	return host{
		file: func(p string) (string, error) {
			s, ok := files[p]
			if !ok {
				return "", fs.ErrNotExist
			}
			return s, nil
		},
		seize:    func() error { return nil },
		execFile: func() error { return nil },
		limit:    func(int) (uint64, bool) { return 0, false },
		machine:  "amd64",
	}, files
}

func find(t *testing.T, h host, check string) Finding {
	t.Helper()
	for _, f := range diagnose(h) {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("nothing is said about %s", check)
	return Finding{}
}

func TestDoctorFindsNothingWrong(t *testing.T) {
	h, _ := healthy()
	for _, f := range diagnose(h) {
		if f.Verdict == Bad || f.Verdict == Warn && f.Check != "processor" {
			t.Errorf("%+v", f)
		}
	}
	if f := find(t, h, "BMI2"); !strings.HasPrefix(f.Found, "present") {
		t.Errorf("BMI2: %+v", f)
	}
	if f := find(t, h, "AVX-512"); f.Found != "absent" {
		t.Errorf("AVX-512: %+v", f)
	}
}

func TestDoctorNamesTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name, check string
		change      func(*host, map[string]string)
		verdict     Verdict
		remedy      string
	}{
		{"yama 3", "ptrace", func(h *host, f map[string]string) {
			h.seize = func() error { return syscall.EPERM }
			f["/proc/sys/kernel/yama/ptrace_scope"] = "3\n"
		}, Bad, "next boot"},
		{"container", "ptrace", func(h *host, _ map[string]string) {
			h.seize = func() error { return syscall.EPERM }
		}, Bad, "SYS_PTRACE"},
		{"noexec", "memory files", func(h *host, _ map[string]string) {
			h.execFile = func() error { return errors.New("denied") }
		}, Bad, "vm.memfd_noexec=0"},
		{"no proc", "/proc", func(_ *host, f map[string]string) { delete(f, "/proc/self/maps") }, Bad, "mount"},
		{"overcommit", "overcommit", func(_ *host, f map[string]string) {
			f["/proc/sys/vm/overcommit_memory"] = "2\n"
		}, Warn, "overcommit_memory=0"},
		{"ulimit", "ulimit -v", func(h *host, _ map[string]string) {
			h.limit = func(int) (uint64, bool) { return 1 << 30, true }
		}, Warn, "ulimit -v unlimited"},
		{"file sizes", "ulimit -f", func(h *host, _ map[string]string) {
			h.limit = func(int) (uint64, bool) { return 1 << 30, true }
		}, Warn, "ulimit -f unlimited"},
		{"memory", "memory", func(_ *host, f map[string]string) {
			f["/proc/meminfo"] = "MemAvailable: 1000 kB\n"
		}, Warn, "free some"},
		{"arm", "processor", func(h *host, _ map[string]string) { h.machine = "arm64" }, Bad, "x86-64"},
		{"filter", "seccomp", func(_ *host, f map[string]string) {
			f["/proc/self/status"] = "Seccomp:\t2\n"
		}, Info, ""},
	} {
		h, files := healthy()
		c.change(&h, files)
		f := find(t, h, c.check)
		if f.Verdict != c.verdict || !strings.Contains(f.Remedy, c.remedy) {
			t.Errorf("%s: %+v, want %s and %q", c.name, f, c.verdict, c.remedy)
		}
	}
}

// TestSummary: doctor ends with a sentence.
func TestSummary(t *testing.T) {
	for want, all := range map[string][]Finding{
		"recorded here.":  {{Verdict: Good}, {Verdict: Info}},
		"marked warn.":    {{Verdict: Good}, {Verdict: Warn}},
		"is put right.":   {{Verdict: Warn}, {Verdict: Bad}},
		"recorded here. ": {},
	} {
		if got := Summary(all); !strings.HasSuffix(got, strings.TrimSpace(want)) {
			t.Errorf("%+v: %s", all, got)
		}
	}
}
