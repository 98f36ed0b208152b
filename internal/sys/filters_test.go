package sys

import "testing"

func TestFilters(t *testing.T) {
	status := func(mode, count string) string {
		return "Name:\ta\nSeccomp:\t" + mode + "\n" + count + "Cpus_allowed:\t3\n"
	}
	for _, c := range []struct {
		thread, creator string
		beyond          bool
	}{
		{status("0", "Seccomp_filters:\t0\n"), status("0", "Seccomp_filters:\t0\n"), false},
		{status("2", "Seccomp_filters:\t1\n"), status("0", "Seccomp_filters:\t0\n"), true},
		{status("2", "Seccomp_filters:\t1\n"), status("2", "Seccomp_filters:\t1\n"), false},
		{status("2", "Seccomp_filters:\t3\n"), status("2", "Seccomp_filters:\t1\n"), true},
		{status("1", "Seccomp_filters:\t0\n"), status("0", "Seccomp_filters:\t0\n"), true},
		{status("2", ""), status("0", ""), true},
		{status("2", ""), status("2", ""), false},
		{"Name:\ta\n", "Name:\ta\n", false},
	} {
		f, err := parseFilters(c.thread)
		if err != nil {
			t.Fatal(err)
		}
		o, err := parseFilters(c.creator)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Beyond(o); got != c.beyond {
			t.Errorf("%q beyond %q: %v, want %v", c.thread, c.creator, got, c.beyond)
		}
	}
	if _, err := parseFilters("Seccomp:\tx\n"); err == nil {
		t.Error("a mode that is no number is accepted")
	}
	if _, err := ReadFilters(0); err != nil {
		t.Error(err)
	}
}

func FuzzFilters(f *testing.F) {
	f.Add("Seccomp:\t2\nSeccomp_filters:\t1\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = parseFilters(s) })
}
