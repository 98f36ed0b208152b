package acceptance

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"alleria/abp"
)

// heatRow is a line of a heat map's table.
type heatRow struct {
	address, reads, writes uint64
	regions                string
}

// heatRows makes a heat map of what a command's arguments name and reads its table.
func heatRows(t *testing.T, dir string, args ...string) (rows []heatRow) {
	t.Helper()
	r := run(t, command{argv: append(append([]string{alleria(), "heatmap", "-o", "h.csv"}, args...), profileDir), dir: dir})
	if r.status != 0 {
		t.Fatalf("heatmap: %d %s", r.status, r.stderr)
	}
	f, err := os.Open(filepath.Join(dir, "h.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines[1:] {
		var n [3]uint64
		for i, field := range []string{l[0], l[2], l[3]} {
			if n[i], err = strconv.ParseUint(field, 0, 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, heatRow{n[0], n[1], n[2], l[4]})
	}
	return rows
}

// TestShared: what several processes write to memory that they share is added up, wherever each has it.
func TestShared(t *testing.T) {
	dir := workDir(t)
	prog := build(t, "../../testdata/trees/sharing.c", "")
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--", prog, "file"}, dir: dir}); r.status != 0 {
		t.Fatalf("record: %d %s", r.status, r.stderr)
	}
	want := map[string]map[uint64][2]uint64{
		"[shared]":      {0: {512, 1000}, 1: {512, 2000}, 2: {512, 3000}},
		"memfd:sharing": {0: {0, 1000}, 2: {0, 2000}, 4: {0, 3000}},
		"file":          {7: {0, 3}},
	}
	for name, pages := range want {
		rows := heatRows(t, dir, "--block", "4K", "--shared="+name)
		for _, r := range rows {
			if w := pages[r.address>>12]; w != [2]uint64{r.reads, r.writes} {
				t.Errorf("page %d of %s: %d reads, %d writes; expected %d", r.address>>12, name, r.reads, r.writes, w)
			}
			if !strings.HasPrefix(r.regions, name+" (") || !strings.Contains(r.regions, "p2, p3, p4)") {
				t.Errorf("%s is called %q", name, r.regions)
			}
		}
		if len(rows) != len(pages) {
			t.Errorf("%s: %+v, expected %v", name, rows, pages)
		}
	}
	if rows := heatRows(t, dir, "--block", "4K", "--shared"); len(rows) != 7 {
		t.Errorf("all that is shared: %+v", rows)
	}
	if rows := heatRows(t, dir, "--block", "4K", "--shared=anonymous"); len(rows) != 6 {
		t.Errorf("all that is shared and in no file: %+v", rows)
	}
	r := run(t, command{argv: []string{alleria(), "heatmap", "--shared=nothing", profileDir}, dir: dir})
	if r.status != 2 || !strings.Contains(string(r.stderr), `no memory that processes share is called "nothing"`) || strings.Contains(string(r.stderr), "alleria-") {
		t.Errorf("--shared=nothing: %d %s", r.status, r.stderr)
	}
	verified(t, dir)
}

// verified checks a profile.
func verified(t *testing.T, dir string) {
	t.Helper()
	if r := run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir}); r.status != 0 {
		t.Errorf("verify: %d %s%s", r.status, r.stdout, r.stderr)
	}
}

// TestMappedBetween: memory that is gone when anybody looks at the address space stands in its region, and a program that maps a thousand times makes no
// thousand rows.
func TestMappedBetween(t *testing.T) {
	prog := build(t, "../../testdata/trees/mapping.c", "")
	record := func(flags ...string) (dir string) {
		dir = workDir(t)
		if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 4<<12), 0o600); err != nil {
			t.Fatal(err)
		}
		text := windowed(`reopenable="true"`, `<On><Call name="work"/></On><Till><Return name="work"/></Till>`, "")
		writeConfig(t, dir, strings.Replace(text, `cat="any"`, `cat="any" accessAddressAndSize="true"`, 1))
		argv := append(append([]string{alleria(), "-q", "record", "-o", profileDir}, flags...), "--", prog, "file")
		if r := run(t, command{argv: argv, dir: dir}); r.status != 0 {
			t.Fatalf("record: %d %s", r.status, r.stderr)
		}
		return dir
	}
	dir := record()
	in := map[string][2]uint64{}
	for _, r := range heatRows(t, dir, "--block", "4K") {
		if r.regions == "" {
			t.Errorf("%#x, with %d reads and %d writes, lies nowhere", r.address, r.reads, r.writes)
		}
		n := in[r.regions]
		in[r.regions] = [2]uint64{n[0] + r.reads, n[1] + r.writes}
	}
	if in["[anonymous] of main"][1] < 64000+5000 || in["file"][0] < 2048 || in["[heap]"][1] < 256 {
		t.Errorf("reads and writes by region: %v", in)
	}
	p, err := abp.Open(filepath.Join(dir, profileDir))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rows := p.Process(1).Snapshots()
	if n := len(rows); n < 4 || n > 200 || rows[0].Change || !rows[1].Change {
		t.Errorf("%d rows tell of the address space", n)
	}
	verified(t, dir)

	// What is mapped while the program runs natively is found when the window opens.
	dir = record("-c", "w.xml")
	found := false
	for _, r := range heatRows(t, dir, "--block", "4K") {
		found = found || r.address == 0x200000000000 && r.writes == 5000 && r.regions == "[anonymous]"
	}
	if !found {
		t.Errorf("what work has written to: %+v", heatRows(t, dir, "--block", "4K"))
	}
	verified(t, dir)
}

// TestWhoAskedForMemory: memory without a name is called by the function that has mapped it.
func TestWhoAskedForMemory(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/trees/asking.c", "-O1")
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--", prog}, dir: dir}); r.status != 0 {
		t.Fatalf("record: %d %s", r.status, r.stderr)
	}
	writes := map[string]uint64{}
	for _, r := range heatRows(t, dir, "--block", "4K") {
		writes[r.regions] += r.writes
	}
	for function, n := range map[string]uint64{"make_table": 100, "make_pool": 200} {
		if got := writes["[anonymous] of "+function]; got != n {
			t.Errorf("%d writes to the memory of %s, want %d: %v", got, function, n, writes)
		}
	}
	found := false
	for name, got := range writes { // the function of the C library is static; it writes a header
		found = found || strings.HasPrefix(name, "[anonymous] of ") && got >= 300 && got < 304
	}
	if !found {
		t.Errorf("nothing has the 300 writes to malloc's memory: %v", writes)
	}
}
