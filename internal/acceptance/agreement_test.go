package acceptance

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// agreeing is a real program that several tools are compared on.
type agreeing struct {
	name  string
	argv  []string
	every bool // with -every only
}

// agreeingPrograms are programs of Debian that do the same in every run. Their functions are mostly without symbols: addresses stand for them.
func agreeingPrograms(t *testing.T, dir string, large bool) []agreeing {
	t.Helper()
	lines, fib := 400, "10"
	if large {
		lines, fib = 20000, "20"
	}
	text := filepath.Join(dir, "text")
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d the %x and %o of %d\n", i, i*i, i*7919, i%97)
	}
	if err := os.WriteFile(text, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return []agreeing{
		{name: "gzip", argv: []string{"-c", text}},
		{name: "bzip2", argv: []string{"-c", text}, every: true},
		{name: "perl", argv: []string{"-e", `sub f { my $n = shift; $n < 2 ? $n : f($n-1) + f($n-2) } print f(` + fib + `), join ",", sort map { $_ % 7 } 1 .. 300`}},
		{name: "sqlite3", argv: []string{":memory:", "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<" + fib + `00) insert into t select x,x%7 from c; select sum(a*b) from t group by b order by 1 desc;`}},
		{name: "jq", argv: []string{"-n", "[range(" + fib + `0) | {a: ., b: (. * 7919 % 101 | tostring)}] | group_by(.b) | map({k: .[0].b, n: (map(.a) | add)})`}, every: true},
		{name: "gawk", argv: []string{`{ n[$NF] += length($0) } END { for (i = 0; i < 97; i++) print i, n[i] }`, text}, every: true},
	}
}

// place is an instruction, wherever its image lies in a run.
type place struct {
	image string
	at    uint64
}

// site is a place that calls or jumps, and where to.
type site struct{ from, to place }

// profiled is what a tool says of a run: instructions by place, calls and what they cost with all that is called.
type profiled struct {
	own   map[place]uint64
	calls map[site]uint64
	costs map[site]uint64
}

// loadedAt is where an image lies, but for one that is linked to where it lies.
type loadedAt struct {
	base  uint64
	image string
}

// placeIn is the place of an address, among images by base.
func placeIn(all []loadedAt, addr uint64) place {
	for i := len(all) - 1; i >= 0; i-- {
		if addr >= all[i].base {
			return place{all[i].image, addr - all[i].base}
		}
	}
	return place{"", addr}
}

// loadedImage is what valgrind tells of an image: where its code is linked to, and where it lies.
var loadedImage = regexp.MustCompile(`Reading syms from (\S+)\n[^\n]*svma 0x([0-9a-f]+), avma 0x([0-9a-f]+)`)

// callgrindPlaces runs a program under callgrind and reads what it counts of each instruction.
func callgrindPlaces(t *testing.T, dir string, env []string, argv ...string) profiled {
	t.Helper()
	r := run(t, command{argv: append([]string{"valgrind", "-v", "-v", "--tool=callgrind", "--callgrind-out-file=cg.out", "--compress-strings=no",
		"--compress-pos=no", "--dump-instr=yes", "--skip-plt=no", "--separate-recs=1"}, argv...), dir: dir, env: env})
	var images []loadedAt
	for _, m := range loadedImage.FindAllStringSubmatch(string(r.stderr), -1) {
		linked, _ := strconv.ParseUint(m[2], 16, 64)
		at, _ := strconv.ParseUint(m[3], 16, 64)
		if name := filepath.Base(m[1]); !strings.HasPrefix(name, "callgrind") {
			images = append(images, loadedAt{at - linked, name})
		}
	}
	slices.SortFunc(images, func(a, b loadedAt) int { return cmp.Compare(a.base, b.base) })
	b, err := os.ReadFile(filepath.Join(dir, "cg.out"))
	if err != nil || len(images) < 3 {
		t.Fatalf("%v, %d images: %s", err, len(images), clip(r.stderr))
	}
	out := profiled{map[place]uint64{}, map[site]uint64{}, map[site]uint64{}}
	object, callee, calls := "", "", uint64(0)
	var to place
	in := func(object, text string) place {
		addr, _ := strconv.ParseUint(text, 0, 64)
		if object == "???" { // code in no section that it knows: an address of the run's
			return placeIn(images, addr)
		}
		return place{filepath.Base(object), addr}
	}
	for line := range strings.Lines(string(b)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch f := strings.Fields(line); {
		case key == "ob":
			object, callee = rest, ""
		case key == "cob":
			callee = rest
		case key == "calls":
			f = strings.Fields(rest)
			calls, _ = strconv.ParseUint(f[0], 10, 64)
			to = in(cmp.Or(callee, object), f[1])
		case len(f) == 3 && strings.HasPrefix(f[0], "0x"):
			n, _ := strconv.ParseUint(f[2], 10, 64)
			from := in(object, f[0])
			if calls == 0 {
				out.own[from] += n
				continue
			}
			out.calls[site{from, to}] += calls
			out.costs[site{from, to}] += n
			callee, calls = "", 0
		}
	}
	return out
}

// functionAt is a function of an image, by its beginning.
type functionAt struct {
	at   place
	name string
}

// recordedPlaces is what is recorded of a program, with its functions in order, and what edges between them cost.
type recordedPlaces struct {
	profiled
	functions []functionAt
	repeats   map[place]bool // instructions that are repeated
}

// recordPlaces records a program and reads what was counted of each instruction.
func recordPlaces(t *testing.T, dir string, env []string, argv ...string) *recordedPlaces {
	t.Helper()
	run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--"}, argv...), dir: dir, env: env})
	asked := func(v any, args ...string) {
		r := run(t, command{argv: append(append([]string{alleria()}, args...), profileDir), dir: dir})
		if err := json.Unmarshal(r.stdout, v); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, clip(r.stdout), clip(r.stderr))
		}
	}
	run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "drcov", "-o", "modules.drcov", profileDir}, dir: dir})
	modules, err := os.ReadFile(filepath.Join(dir, "modules.drcov"))
	if err != nil {
		t.Fatal(err)
	}
	var images []loadedAt
	for _, m := range regexp.MustCompile(`(?m)^ *\d+, 0x([0-9a-f]+), 0x[0-9a-f]+, 0x[0-9a-f]+, (\S+)$`).FindAllStringSubmatch(string(modules), -1) {
		base, _ := strconv.ParseUint(m[1], 16, 64)
		if file, err := elf.Open(m[2]); err == nil {
			if file.Type == elf.ET_EXEC { // places are its addresses
				base = 0
			}
			_ = file.Close()
		}
		images = append(images, loadedAt{base, filepath.Base(m[2])})
	}
	slices.SortFunc(images, func(a, b loadedAt) int { return cmp.Compare(a.base, b.base) })
	type function struct {
		Name    string
		Address uint64
	}
	var graph []struct {
		Functions []function
		Edges     []struct {
			Caller, Callee *function
			Each           struct{ Instructions uint64 } `json:"inclusive_each_call"`
			Calls          uint64
		}
	}
	var views []struct {
		Rows []struct {
			Address, Instructions uint64
			Text                  string
		}
	}
	asked(&graph, "analyze", "callgraph", "--json")
	asked(&views, "report", "--by-instruction", "--json")
	out := &recordedPlaces{profiled{map[place]uint64{}, map[site]uint64{}, map[site]uint64{}}, nil, map[place]bool{}}
	for _, f := range graph[0].Functions {
		out.functions = append(out.functions, functionAt{placeIn(images, f.Address), f.Name})
	}
	slices.SortFunc(out.functions, func(a, b functionAt) int {
		return cmp.Or(strings.Compare(a.at.image, b.at.image), cmp.Compare(a.at.at, b.at.at))
	})
	for _, row := range views[0].Rows {
		at := placeIn(images, row.Address)
		out.own[at] += row.Instructions
		out.repeats[at] = strings.HasPrefix(row.Text, "rep")
	}
	for _, e := range graph[0].Edges {
		if e.Caller == nil {
			continue
		}
		s := site{placeIn(images, e.Caller.Address), placeIn(images, e.Callee.Address)}
		out.calls[s] += e.Calls
		out.costs[s] += e.Each.Instructions
	}
	return out
}

// function is the name of the function that a place lies in, with its image.
func (r *recordedPlaces) function(p place) string {
	i, there := slices.BinarySearchFunc(r.functions, p, func(f functionAt, p place) int {
		return cmp.Or(strings.Compare(f.at.image, p.image), cmp.Compare(f.at.at, p.at))
	})
	if !there {
		i--
	}
	if i < 0 || r.functions[i].at.image != p.image {
		return p.image + "!?"
	}
	return fmt.Sprintf("%s!%s", p.image, r.functions[i].name)
}

// agreement is how much is equal, and what differs for which reason; without one it is a mistake.
type agreement struct {
	equal     int
	explained map[string][]string // what differs, by reason
}

// compare compares what two tools say of the same things. Of those without a name nothing is said; why explains a difference, or says "".
func compare[K comparable](got, want map[K]uint64, name func(K) string, why func(k K, got, want uint64) string) agreement {
	a := agreement{explained: map[string][]string{}}
	one := func(k K, g, w uint64) {
		n := name(k)
		if n == "" {
			return
		}
		if g == w {
			a.equal++
			return
		}
		reason := why(k, g, w)
		a.explained[reason] = append(a.explained[reason], fmt.Sprintf("%s: %d, callgrind %d", n, g, w))
	}
	for k, w := range want {
		one(k, got[k], w)
	}
	for k, g := range got {
		if _, there := want[k]; !there {
			one(k, g, 0)
		}
	}
	return a
}

// check writes how much is equal, and has the test fail by what has no reason.
func (a *agreement) check(t *testing.T, what string, least int) {
	t.Helper()
	text := fmt.Sprintf("%s: %d are equal", what, a.equal)
	for _, reason := range slices.Sorted(maps.Keys(a.explained)) {
		if reason != "" {
			text += fmt.Sprintf("; %d: %s", len(a.explained[reason]), reason)
		}
	}
	t.Log(text)
	for i, d := range slices.Sorted(slices.Values(a.explained[""])) {
		if i < 40 {
			t.Errorf("%s: %s", what, d)
		}
	}
	if a.equal < least {
		t.Errorf("%s: only %d are equal", what, a.equal)
	}
}

// valgrindsEnv is what a program finds in its environment under valgrind, which adds a library that is loaded first, and places to look for it.
func valgrindsEnv(t *testing.T, dir string, env []string) []string {
	t.Helper()
	r := run(t, command{argv: []string{"valgrind", "-q", "--tool=none", "env"}, dir: dir, env: env})
	return strings.Split(strings.TrimSpace(string(r.stdout)), "\n")
}

// withoutRepeats is bound, and has the library not repeat string instructions, of which callgrind counts each iteration.
var withoutRepeats = []string{"LD_BIND_NOW=1", "PERL_HASH_SEED=0",
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-ERMS,-FSRM,-RTM,-Prefer_No_VZEROUPPER,Fast_Unaligned_Load"}

// sumBy adds up by another key.
func sumBy[K, L comparable](m map[K]uint64, name func(K) L) map[L]uint64 {
	out := map[L]uint64{}
	for k, n := range m {
		out[name(k)] += n
	}
	return out
}

// otherwise has functions in which a program does not do the same under valgrind, and why.
var otherwise = []struct {
	function *regexp.Regexp
	why      string
}{
	{regexp.MustCompile(`^libc\.so\.6!(_Exit|_exit)$`), "callgrind does not count the block that ends the process"},
	{regexp.MustCompile(`^libc\.so\.6!(__x86_cacheinfo|init_cacheinfo\S*|__cpu_features\S*|__libc_early_init)$`), "goes by what the processor says of itself"},
	{regexp.MustCompile(`^(libc\.so\.6!(__)?(time|gettimeofday|clock_gettime|clock_gettime@GLIBC\S*|strstr|wcsnlen|dl_vdso_vsym)|\[vdso\]!\S+)$`), "valgrind has no vDSO, and another processor's name"},
	{regexp.MustCompile(`^libsigsegv\.so\S*!`), "reads what is mapped"},
	{regexp.MustCompile(`^libc\.so\.6!__(str|mem|raw|wcs|wmem)\w+_(avx2\w*|avx_\w+|sse2\w*|evex\w*)$`), "goes by where its operands lie in their pages"},
}

// edgeOf is a call by functions.
type edgeOf struct{ caller, callee string }

// comparison compares what was recorded with callgrind's: by instruction, by function, by edge and by what edges cost.
type comparison struct {
	got  *recordedPlaces
	want profiled
	// Functions that differ, and those that call them, or go there otherwise.
	differ, above map[string]bool
}

// outside tells what is not compared: the loader's work is to see what the processor, and the environment, have.
func (c *comparison) outside(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "ld-linux") || n == "!?" })
}

// instructions compares executions of each instruction but repeated ones.
func (c *comparison) instructions() agreement {
	name := func(p place) string {
		if f := c.got.function(p); !c.outside(f) && !c.got.repeats[p] {
			return fmt.Sprintf("%s (%#x)", f, p.at)
		}
		return ""
	}
	return compare(c.got.own, c.want.own, name, func(p place, _, _ uint64) string {
		c.differ[c.got.function(p)] = true
		return c.reason(c.got.function(p))
	})
}

// reason is why a function does something else under valgrind.
func (c *comparison) reason(f string) string {
	for _, o := range otherwise {
		if o.function.MatchString(f) {
			return o.why
		}
	}
	return ""
}

// functions compares what is executed of each function, and notes which differ.
func (c *comparison) functions() agreement {
	single := func(m map[place]uint64) map[string]uint64 {
		out := map[string]uint64{}
		for p, n := range m {
			if f := c.got.function(p); !c.got.repeats[p] {
				out[f] += n
			} else if c.got.own[p] != c.want.own[p] {
				c.differ[f] = true
			}
		}
		return out
	}
	return compare(single(c.got.own), single(c.want.own), c.compared, func(f string, _, _ uint64) string {
		c.differ[f] = true
		return c.reason(f)
	})
}

// compared is the name of a function that is compared.
func (c *comparison) compared(f string) string {
	if c.outside(f) {
		return ""
	}
	return f
}

func (e edgeOf) String() string { return e.caller + " -> " + e.callee }

// edges compares calls and what they cost.
func (c *comparison) edges() (calls, costs agreement) {
	by := func(s site) edgeOf { return edgeOf{c.got.function(s.from), c.got.function(s.to)} }
	gotCalls, wantCalls := sumBy(c.got.calls, by), sumBy(c.want.calls, by)
	gotCosts, wantCosts := sumBy(c.got.costs, by), sumBy(c.want.costs, by)
	calls = compare(gotCalls, wantCalls, func(e edgeOf) string {
		if c.outside(e.caller, e.callee) {
			return ""
		}
		return e.String()
	}, func(e edgeOf, g, w uint64) string {
		switch _, stripped, _ := strings.Cut(e.callee, "!"); {
		case g > w && (strippedName.MatchString(stripped) || stripped == "register_tm_clones"): // whose symbol has no size
			return "callgrind takes jumps to code without a symbol for no calls"
		case g < w && e.caller == e.callee:
			return "callgrind takes jumps of a function to its own beginning for calls"
		default:
			return cmp.Or(c.reason(e.callee), c.reason(e.caller))
		}
	})
	for f := range c.differ {
		c.above[f] = true
	}
	for grown := true; grown; { // everything that leads to what differs
		grown = false
		for e := range gotCosts {
			if !c.above[e.caller] && (c.above[e.callee] || gotCalls[e] != wantCalls[e]) {
				c.above[e.caller], grown = true, true
			}
		}
	}
	costs = compare(gotCosts, wantCosts, func(e edgeOf) string {
		if c.outside(e.caller, e.callee) || gotCalls[e] == 0 || gotCalls[e] != wantCalls[e] {
			return ""
		}
		return e.String()
	}, func(e edgeOf, _, _ uint64) string {
		if c.above[e.callee] {
			return "something below differs"
		}
		return ""
	})
	return calls, costs
}

// TestAgreement compares what is recorded of real programs with callgrind: how often each instruction was executed, which calls each function made, and what they cost with
// all that was called. Each difference has a reason that is not ours.
func TestAgreement(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	for _, p := range agreeingPrograms(t, inputDir(t), *every) {
		t.Run(p.name, func(t *testing.T) {
			prog := find(p.name)
			if prog == "" || p.every && !*every {
				t.Skipf("no %s, or not in the short form", p.name)
			}
			argv, dir := append([]string{prog}, p.argv...), t.TempDir()
			c := &comparison{differ: map[string]bool{}, above: map[string]bool{}}
			c.got, c.want = recordPlaces(t, dir, valgrindsEnv(t, dir, withoutRepeats), argv...), callgrindPlaces(t, dir, withoutRepeats, argv...)
			instructions, functions := c.instructions(), c.functions()
			calls, costs := c.edges()
			instructions.check(t, "instructions", 4000)
			functions.check(t, "functions", 150)
			calls.check(t, "edges", 120)
			costs.check(t, "costs", 100)
		})
	}
}
