package acceptance

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gdbLine is a call, or a return, as testdata/intercept/values.py has it from gdb.
type gdbLine struct {
	Thread, Call int
	Function     string
	Of           map[string]gdbTree
	Result       *gdbTree
	End          bool // the last line
}

// gdbTree is a value: one of its members is there, or none, where gdb cannot tell.
type gdbTree struct {
	Int      *big.Int
	Size     int
	Float    *string
	Enum     *string
	Null     bool
	At       *big.Int
	To       *gdbTree
	Fields   []gdbField
	Elements []gdbTree
	unknown  bool
}

// hollow tells whether there is nothing in a record. It is not passed, and not captured.
func (t *gdbTree) hollow() bool {
	full := func(e gdbTree) bool { return !e.hollow() }
	return t.Fields != nil && !slices.ContainsFunc(t.Fields, func(f gdbField) bool { return full(f.value) }) || t.Elements != nil && !slices.ContainsFunc(t.Elements, full)
}

// gdbField is a pair of a name and a value.
type gdbField struct {
	name  string
	value gdbTree
}

func (t *gdbTree) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		t.unknown = true
		return nil
	}
	type plain gdbTree
	return json.Unmarshal(b, (*plain)(t))
}

func (f *gdbField) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&f.name, &f.value})
}

// interceptedCall is a line of intercepts --json.
type interceptedCall struct {
	Thread, Call int
	Function     string
	In           map[string]any
	Result       any
	End          string
}

// valuesLimit is how many calls of a program gdb is asked about: it stops the program twice for each.
const valuesLimit = 1500

// compareValues captures all calls of a program's functions, and compares arguments and results with what gdb says of
// them. The program has to be built without optimisation, to lie where it was linked. What points somewhere is followed once.
func compareValues(t *testing.T, bin string) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("no gdb")
	}
	dir := t.TempDir()
	config := interceptConfig(t, dir, `main="true"`, `<Function name="*"><Intercept auto="true" depth="1"/></Function>`)
	if _, ok := suiteRun(t, []string{alleria(), "-q", "record", "-o", filepath.Join(dir, profileDir), "-c", config, "--", bin}, time.Minute); !ok {
		t.Error("values: no end")
		return
	}
	calls := callsOf(t, dir)
	cmd := exec.Command(gdb, "-batch", "-nx", "-x", absolute(t, "../../testdata/intercept/values.py"), bin)
	out := filepath.Join(dir, "gdb.json")
	cmd.Dir, cmd.Env = dir, append(baseEnv(dir), "OUT="+out, "AT="+strings.Join(bodies(t, bin), " "), fmt.Sprint("LIMIT=", valuesLimit))
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	msg, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(msg, []byte("Traceback")) {
		t.Errorf("gdb: %v\n%s", err, clip(msg))
		return
	}
	compareWithGDB(t, calls, out)
}

// absolute is a path that holds in any directory.
func absolute(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// callsOf reads a recording's calls, in the order in which their threads made them.
func callsOf(t *testing.T, dir string) (calls []interceptedCall) {
	t.Helper()
	for _, line := range intercepts(t, dir, "--json", "--process", "1", "--max-string", "0", "--max-elements", "0") {
		var c interceptedCall
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b interceptedCall) int { return (a.Thread-b.Thread)<<32 + a.Call - b.Call })
	return calls
}

// bodies are the addresses at which a program's functions have stored their arguments: of each function the second row of the line table. What gdb
// takes for it is wrong where a function is all on one line, as macros make them.
func bodies(t *testing.T, bin string) (at []string) {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		return nil
	}
	r := data.Reader()
	var rows []uint64
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			slices.Sort(at) // what several units have is described in each
			return slices.Compact(at)
		}
		if e.Tag == dwarf.TagCompileUnit {
			rows = lineRows(t, data, e)
		}
		low, ok := e.Val(dwarf.AttrLowpc).(uint64)
		if size, sized := e.Val(dwarf.AttrHighpc).(int64); ok && sized && e.Tag == dwarf.TagSubprogram {
			i, _ := slices.BinarySearch(rows, low+1)
			if i < len(rows) && rows[i] < low+uint64(size) {
				at = append(at, fmt.Sprintf("%#x", rows[i]))
			}
		}
	}
}

// lineRows are the addresses of a unit's line table in order.
func lineRows(t *testing.T, data *dwarf.Data, unit *dwarf.Entry) (rows []uint64) {
	t.Helper()
	lr, err := data.LineReader(unit)
	if err != nil || lr == nil {
		return nil
	}
	var e dwarf.LineEntry
	for lr.Next(&e) == nil {
		rows = append(rows, e.Address)
	}
	slices.Sort(rows)
	return rows
}

// compareWithGDB matches calls with gdb's by their order, of those functions that gdb has stopped in.
func compareWithGDB(t *testing.T, calls []interceptedCall, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var entered []gdbLine
	ended := false
	results := map[[2]int]*gdbTree{}
	known := map[string]bool{}
	for line := range bytes.Lines(data) {
		var l gdbLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ended = l.End
		if ended {
			break
		}
		if l.Result != nil {
			results[[2]int{l.Thread, l.Call}] = l.Result
			continue
		}
		entered, known[l.Function] = append(entered, l), true
	}
	if !ended {
		t.Fatalf("gdb did not get to the end: %s", clip(data))
	}
	calls = slices.DeleteFunc(calls, func(c interceptedCall) bool { return !known[c.Function] })
	slices.SortStableFunc(entered, func(a, b gdbLine) int { return a.Thread - b.Thread })
	if len(entered) < valuesLimit && len(entered) != len(calls) {
		t.Errorf("values: %d calls, gdb sees %d", len(calls), len(entered))
	}
	compared, wrong := 0, 0
	for i := range min(len(entered), len(calls)) {
		g, c := &entered[i], &calls[i]
		if g.Function != c.Function {
			t.Errorf("values: call %d is of %s, gdb says %s", i, c.Function, g.Function)
			return
		}
		why := argumentsDiffer(c, g)
		if r := results[[2]int{g.Thread, g.Call}]; r != nil && c.End == "returned" && why == "" {
			why = treesDiffer("result", c.Result, r)
			compared++
		}
		compared += len(g.Of)
		if why != "" {
			if wrong++; wrong < 5 {
				t.Errorf("values: call %d of %s: %s", i, c.Function, why)
			}
		}
	}
	t.Logf("%d calls, %d values compared, %d calls differ", min(len(entered), len(calls)), compared, wrong)
}

// argumentsDiffer tells where arguments are not what gdb says; "" if they are.
func argumentsDiffer(c *interceptedCall, g *gdbLine) string {
	for name, want := range g.Of {
		got, ok := c.In[name]
		if !ok && strings.HasPrefix(name, "__") {
			continue // what the compiler passes to some constructors of a class, gdb says of all
		}
		if !ok {
			return fmt.Sprintf("it has no argument %s", name)
		}
		if why := treesDiffer(name, got, &want); why != "" {
			return why
		}
	}
	return ""
}

// treesDiffer compares a value of --json with gdb's.
func treesDiffer(at string, got any, want *gdbTree) string {
	differ := func() string { b, _ := json.Marshal(want); return fmt.Sprintf("%s is %v, gdb says %s", at, got, b) }
	same := true
	switch {
	case want.unknown || got == nil && want.hollow():
	case want.Null:
		same = got == nil
	case want.At != nil:
		return pointersDiffer(at, got, want)
	case want.Enum != nil:
		s, _ := got.(string)
		same = s == want.Int.String() || s == strings.NewReplacer("(", "", ")", "", " ", "").Replace(*want.Enum)
	case want.Int != nil:
		same = sameInt(got, want)
	case want.Float != nil:
		same = sameNumber(fmt.Sprint(got), *want.Float, want.Size)
	case want.Elements != nil:
		return elementsDiffer(at, got, want.Elements)
	case want.Fields != nil:
		m, ok := got.(map[string]any)
		if !ok {
			return differ()
		}
		for i, f := range want.Fields {
			name := f.name
			if name == "" {
				name = fmt.Sprint("#", i)
			}
			if why := treesDiffer(at+"."+name, m[name], &f.value); why != "" {
				return why
			}
		}
	}
	if !same {
		return differ()
	}
	return ""
}

// sameInt compares integers, characters and truths: of a byte, whatever its sign.
func sameInt(got any, want *gdbTree) bool {
	if b, ok := got.(bool); ok {
		return b == (want.Int.Sign() != 0)
	}
	n, ok := new(big.Int).SetString(fmt.Sprint(got), 10)
	if !ok {
		return false
	}
	if want.Size == 1 {
		return byte(n.Int64()) == byte(want.Int.Int64())
	}
	return n.Cmp(want.Int) == 0
}

// sameNumber compares floating-point numbers as gdb and the command spell them.
func sameNumber(got, want string, size int) bool {
	x, err1 := strconv.ParseFloat(got, 64)
	y, err2 := strconv.ParseFloat(want, 64)
	if strings.Contains(want, "nan") {
		return err1 == nil && math.IsNaN(x)
	}
	if size == 4 || size == 0 || size == 2 {
		x, y = float64(float32(x)), float64(float32(y))
	}
	return err1 == nil && err2 == nil && (x == y || size > 8 && math.Abs(x-y) <= 1e-15*math.Abs(y))
}

// pointersDiffer compares what a pointer leads to, where both have followed it.
func pointersDiffer(at string, got any, want *gdbTree) string {
	switch g := got.(type) {
	case nil:
		if want.To != nil && (want.To.Null || want.To.At != nil) {
			return "" // it leads to a pointer that is null, of which JSON says no more
		}
		return at + " is NULL, gdb says it is not"
	case string: // an address, or text
		return ""
	case map[string]any:
		if _, ok := g["status"]; ok {
			return ""
		}
	case []any:
		if len(g) > 0 && want.To != nil && want.To.Elements == nil {
			got = g[0]
		}
	}
	if want.To == nil {
		return ""
	}
	return treesDiffer("*"+at, got, want.To)
}

// elementsDiffer compares arrays; of characters, text.
func elementsDiffer(at string, got any, want []gdbTree) string {
	if s, ok := got.(string); ok {
		for i := range min(len(s), len(want)) {
			if want[i].Int != nil && s[i] < 0x80 && byte(want[i].Int.Int64()) != s[i] {
				return fmt.Sprintf("%s is %q, gdb says %s at %d", at, s, want[i].Int, i)
			}
		}
		return ""
	}
	l, ok := got.([]any)
	if ok && len(want) == 0 {
		return "" // gdb has no length for it
	}
	if !ok || len(l) != len(want) {
		return fmt.Sprintf("%s is %v, gdb says %d elements", at, got, len(want))
	}
	for i := range l {
		if why := treesDiffer(fmt.Sprintf("%s[%d]", at, i), l[i], &want[i]); why != "" {
			return why
		}
	}
	return ""
}
