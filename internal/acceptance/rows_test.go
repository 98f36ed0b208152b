package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rowsTable lists the rows of the window language's tables with the test of each.
const rowsTable = "../../docs/internal/conformance.md"

// rowCase is the test of one row: windows over testdata/windows/rows.S, compared entry
// by entry with the model over the single-step engine.
type rowCase struct {
	name    string
	windows func(m rowMaker) []*oracleWindow
	// openings is how many the windows have together, and instructions how many are
	// recorded, by the fixture's design: they are here so that a model which does
	// nothing is no oracle. 0 instructions: not said.
	openings, instructions int
}

// TestConfigRows has a case for each row that one thread can show.
func TestConfigRows(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows.S", "-nostdlib -static -no-pie")
	// The environment, and with it the stack, is the same in all runs.
	dir := t.TempDir()
	tr := oracleRun(t, dir, prog)
	ways := [][]string{nil, {"--engine", "no-toggle"}, {"--engine", "no-busy,no-toggle"}}
	for n, c := range rowCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			windows := c.windows(rowMaker{tr})
			for k, flags := range ways {
				if !inTurn(n, k, len(ways)) {
					continue
				}
				if msg := tr.modelled(t, dir, fmt.Sprint("row", n), windows, flags...); msg != "" {
					t.Fatalf("%v: %s", flags, msg)
				}
			}
			result := runWindows(windows, len(tr.facts))
			openings, instructions := 0, 0
			for _, change := range result.changes {
				if change.opened {
					openings++
				}
			}
			for i := range tr.facts {
				if tr.wants(windows, result.open[i], &tr.facts[i]) != nil {
					instructions++
				}
			}
			if openings != c.openings || c.instructions != 0 && instructions != c.instructions {
				t.Errorf("%d openings and %d instructions, by design %d and %d", openings, instructions, c.openings, c.instructions)
			}
		})
	}
}

// TestConfigRowsListed compares the list of rows with the schema, which has every
// element and attribute, and with the tests.
func TestConfigRowsListed(t *testing.T) {
	rows := readRows(t)
	schema, err := os.ReadFile("../../schemas/alleria.xsd")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range schemaRows(string(schema)) {
		if rows[row] == "" {
			t.Errorf("%s has no row %q", rowsTable, row)
		}
	}
	tests := testNames(t)
	cases := make(map[string]bool)
	for _, c := range rowCases() {
		cases["TestConfigRows/"+c.name] = false
	}
	for row, test := range rows {
		for name := range strings.FieldsSeq(strings.ReplaceAll(test, ",", " ")) {
			if _, ok := cases[name]; ok {
				cases[name] = true
			} else if function, _, _ := strings.Cut(name, "/"); !tests[function] || function == "TestConfigRows" {
				t.Errorf("row %q names %s, which is not there", row, name)
			}
		}
	}
	for name, listed := range cases {
		if !listed {
			t.Errorf("%s lists no row for %s", rowsTable, name)
		}
	}
}

// readRows reads the table: the test by the row.
func readRows(t *testing.T) map[string]string {
	b, err := os.ReadFile(rowsTable)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, "|"); len(f) == 4 && f[1] != " row " && !strings.HasPrefix(f[1], "-") {
			name := strings.Trim(f[1], " `")
			if rows[name] != "" {
				t.Errorf("row %q twice", name)
			}
			rows[name] = strings.Trim(strings.ReplaceAll(f[2], "`", ""), " ")
		}
	}
	return rows
}

// schemaRows is every element of the schema, and every attribute of each.
func schemaRows(schema string) (rows []string) {
	element := ""
	for _, m := range regexp.MustCompile(`<xs:(complexType|attribute) name="(\w+)"`).FindAllStringSubmatch(schema, -1) {
		if m[1] == "complexType" {
			element = m[2]
			rows = append(rows, element)
		} else {
			rows = append(rows, element+" "+m[2])
		}
	}
	return rows
}

// testNames is all tests of the project.
func testNames(t *testing.T) map[string]bool {
	names := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
