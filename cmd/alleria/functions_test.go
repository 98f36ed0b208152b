package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"alleria/internal/against/codec"
)

// functionList runs functions and splits its lines into fields.
func functionList(t *testing.T, args ...string) (rows [][]string) {
	t.Helper()
	status, out, errs := command(t, append([]string{"-q", "functions"}, args...)...)
	if status != 0 || errs != "" {
		t.Fatalf("functions %v: %d %q", args, status, errs)
	}
	for _, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// column is one field of all rows.
func column(rows [][]string, n int) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r[n])
	}
	return out
}

func TestFunctionsOfFixture(t *testing.T) {
	program := fixture.Program(t)
	got := column(functionList(t, "--sort", "name", program, "codec::*"), 1)
	want := []string{"codec::Encoder::encode", "codec::Encoder::encode", "codec::twice<int>", "codec::twice<long>"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = column(functionList(t, "--linked", "--sort", "name", program, "_ZN5codec*"), 1)
	want = []string{"_ZN5codec5twiceIiEET_S1_", "_ZN5codec5twiceIlEET_S1_", "_ZN5codec7Encoder6encodeEPKhm", "_ZN5codec7Encoder6encodeEi"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	rows := functionList(t, "--sizes", "--sources", "--image", "libhelper.so.1", program, "helper_sum")
	if len(rows) != 1 || rows[0][1] == "0" || rows[0][2] != "helper_sum" || !strings.HasSuffix(rows[0][3], "helper.c:1") {
		t.Errorf("helper_sum: %v", rows)
	}
	// The source file of the template's instances, each at the template's line.
	for _, r := range functionList(t, "--sources", program, "codec::twice*") {
		if !strings.HasSuffix(r[2], "codec.cc:3") {
			t.Errorf("%v: not at the template's line", r)
		}
	}
	// By the path of a library, also of one that the program is not linked with.
	path := filepath.Join(filepath.Dir(program), "libhelper.so.1.2")
	for _, args := range [][]string{{"--image", path, program, "helper_sum"}, {"--image", path, "/bin/sh", "helper_sum"}, {path, "helper_sum"}} {
		if rows := functionList(t, args...); len(rows) != 1 {
			t.Errorf("%v: %v", args, rows)
		}
	}
	if all, some := functionList(t, "--stubs", program), functionList(t, program); len(all) <= len(some) {
		t.Errorf("%d functions with stubs, %d without", len(all), len(some))
	}
}

// TestFunctionsAgainstNm compares addresses, sizes and names with those of nm.
func TestFunctionsAgainstNm(t *testing.T) {
	program := fixture.Program(t)
	status, out, _ := command(t, "functions", "--json", program)
	var rows []functionRow
	if err := json.Unmarshal([]byte(out), &rows); err != nil || status != 0 {
		t.Fatal(status, err)
	}
	nm, err := exec.Command("nm", "-S", "--defined-only", program).Output()
	if err != nil {
		t.Skipf("nm: %v", err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+) ([0-9a-f]+) [TtWw] (\S+)$`).FindAllStringSubmatch(string(nm), -1) {
		n++
		if !slices.ContainsFunc(rows, func(r functionRow) bool {
			return r.Linked == m[3] && fmt.Sprintf("%016x %016x", r.Address, r.Size) == m[1]+" "+m[2] && r.Kind == "function"
		}) {
			t.Errorf("%s is missing or different", m[0])
		}
	}
	if n < 5 {
		t.Errorf("nm shows only %d functions", n)
	}
}

func TestFunctionsOfSystem(t *testing.T) {
	rows := functionList(t, "--sizes", "--sort", "size", codec.Installed(t, "/bin/gzip"))
	for i, r := range rows[1:] {
		var before, this int
		fmt.Sscan(rows[i][1], &before)
		fmt.Sscan(r[1], &this)
		if this > before {
			t.Errorf("%v before %v", rows[i], r)
		}
	}
	if names := column(rows, 2); !slices.Contains(names, "main") || !slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "gzip+0x") }) {
		t.Errorf("gzip has %v", names[:5])
	}
	rows = functionList(t, "--image", "libc.so.6", "/bin/gzip", "memcpy")
	if len(rows) == 0 || slices.ContainsFunc(rows, func(r []string) bool { return !slices.Contains(r, "memcpy") }) { // one for each version
		t.Errorf("memcpy: %v", rows)
	}
	if _, _, errs := command(t, "functions", "/bin/gzip"); !strings.Contains(errs, "functions of gzip have no name") {
		t.Errorf("not said that gzip is stripped: %q", errs)
	}
}

func TestFunctionsErrors(t *testing.T) {
	program := fixture.Program(t)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{program, "codec::Encoder::encod"}, 2, "the nearest: codec::Encoder::encode"},
		{[]string{"--image", "libnone.so", program}, 2, "its images are codec, libhelper.so.1.2"},
		{[]string{"--image", "/no/such.so", program}, 2, "no such file"},
		{[]string{"--sort", "age", program}, 2, "--sort is address, name or size"},
		{[]string{"--linked", "--demangle", program}, 2, "linked"},
		{[]string{"alleria-no-such-program"}, 127, "no such program"},
	} {
		status, out, errs := command(t, append([]string{"functions"}, c.args...)...)
		if status != c.status || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q %q", c.args, status, out, errs)
		}
	}
}
