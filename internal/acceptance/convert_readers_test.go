package acceptance

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// reader runs a form of .ci/readers, which reads converted files with others' packages; the test is skipped where they are not
// installed.
func reader(t *testing.T, form, what, stdin string) string {
	t.Helper()
	modules := os.Getenv("READERS")
	if modules == "" {
		modules = "../../testdata/build/readers"
	}
	if _, err := os.Stat(filepath.Join(modules, "node_modules/@duckdb/node-api")); err != nil {
		t.Skip("DuckDB and speedscope are not installed (.ci/readers install)")
	}
	cmd := exec.Command("../../.ci/readers", form, what)
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", form, err, clip(errs.Bytes()))
	}
	return string(out)
}

// TestConvertSpeedscopeSchema: the file is what speedscope says that its files are.
func TestConvertSpeedscopeSchema(t *testing.T) {
	t.Parallel()
	reader(t, "speedscope", conversions(t).file(t, "speedscope", ".json"), "")
}

// accessRow is what the queries of the documentation are about, of a row of the CSV table.
type accessRow struct {
	instruction   uint64
	function      string
	store         bool
	address, size uint64
	value         string
}

func accessRows(t *testing.T, c *converted) (rows []accessRow) {
	t.Helper()
	list, err := csv.NewReader(bytes.NewReader(c.alleria(t, "convert", "--to", "csv", "out"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list[1:] {
		var a accessRow
		a.instruction, _ = strconv.ParseUint(r[3], 10, 64)
		a.function, a.store, a.value = r[7], r[9] == "true", r[12]
		a.address, _ = strconv.ParseUint(r[10], 0, 64)
		a.size, _ = strconv.ParseUint(r[11], 10, 64)
		rows = append(rows, a)
	}
	return rows
}

// TestConvertDuckDB runs the queries of the documentation in DuckDB, and holds what they say to the CSV table.
func TestConvertDuckDB(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	rows := accessRows(t, c)
	last := rows[len(rows)/2] // a store whose bytes are written again and again, and an address in its middle
	for _, r := range rows {
		if r.store && r.function == "main" && r.size == 8 {
			last = r
		}
	}
	doc, err := os.ReadFile("../../docs/converting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, queries, ok := strings.Cut(string(doc), "```sql\n")
	queries, _, found := strings.Cut(queries, "```")
	if !ok || !found {
		t.Fatal("the documentation has no queries")
	}
	at, before := last.address+last.size/2, last.instruction+1
	queries = strings.NewReplacer("140737488346112", fmt.Sprint(at), "1000000", fmt.Sprint(before)).Replace(queries)
	dir := t.TempDir()
	c.alleria(t, "convert", "--to", "parquet", "-o", dir+"/accesses.parquet", "out")
	c.alleria(t, "convert", "--to", "parquet", "-o", dir+"/accesses/", "out")

	var got [][]map[string]any
	for line := range strings.Lines(reader(t, "duckdb", dir, queries)) {
		var r []map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 4 {
		t.Fatalf("%d queries had answers, want 4", len(got))
	}
	writers, lines := map[string][2]uint64{}, map[uint64]map[string]uint64{}
	for _, r := range rows {
		if !r.store {
			continue
		}
		w := writers[r.function]
		writers[r.function] = [2]uint64{w[0] + 1, w[1] + r.size}
		if lines[r.address/64] == nil {
			lines[r.address/64] = map[string]uint64{}
		}
		lines[r.address/64][r.function]++
	}
	if len(got[0]) != min(10, len(writers)) || len(got[1]) == 0 || len(got[2]) != 1 || len(got[3]) != 1 {
		t.Fatalf("%d, %d, %d, %d rows", len(got[0]), len(got[1]), len(got[2]), len(got[3]))
	}
	for _, g := range got[0] {
		if w := writers[fmt.Sprint(g["function"])]; fmt.Sprint(g["stores"], " ", g["bytes"]) != fmt.Sprint(w[0], " ", w[1]) {
			t.Errorf("stores of %v: %v of %v bytes, want %v", g["function"], g["stores"], g["bytes"], w)
		}
	}
	for _, g := range got[1] {
		line, _ := strconv.ParseUint(fmt.Sprint(g["line"]), 10, 64)
		stores := uint64(0)
		for _, n := range lines[line] {
			stores += n
		}
		if len(lines[line]) < 2 || fmt.Sprint(g["writers"], " ", g["stores"]) != fmt.Sprint(len(lines[line]), " ", stores) {
			t.Errorf("line %#x: %v functions with %v stores, want %d with %d", line*64, g["writers"], g["stores"], len(lines[line]), stores)
		}
	}
	value, _ := strconv.ParseUint(last.value, 0, 64)
	if g := got[2][0]; fmt.Sprint(g["instruction"], " ", g["function"], " ", g["value"]) != fmt.Sprint(last.instruction, " ", last.function, " ", value) {
		t.Errorf("the last write to %#x before instruction %d is %v, want %+v", at, before, g, last)
	}
	if n := fmt.Sprint(got[3][0]["count_star()"]); n != fmt.Sprint(len(rows)) {
		t.Errorf("the dataset has %s rows, want %d", n, len(rows))
	}
}
