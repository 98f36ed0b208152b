package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"alleria/abp"
)

// wholeAnalyses are those that need all accesses in their order, with programs that give them something to count.
var wholeAnalyses = []string{"cache", "reuse", "coherence", "strides", "paths"}

// countsWithin adds up the counts in the JSON of an analysis, by what they are counts of.
func countsWithin(t *testing.T, dir string, args ...string) map[string]float64 {
	t.Helper()
	r := run(t, command{argv: append(append([]string{alleria(), "-q", "analyze"}, args...), "--json", profileDir), dir: dir})
	var all []map[string]json.RawMessage
	if err := json.Unmarshal(r.stdout, &all); r.status != 0 || err != nil {
		t.Fatalf("analyze %v: %v\n%s%s", args, err, clip(r.stdout), clip(r.stderr))
	}
	sums := map[string]float64{}
	var add func(name string, v any)
	add = func(name string, v any) {
		switch v := v.(type) {
		case float64:
			sums[name] += v
		case []any:
			for _, one := range v {
				add(name, one)
			}
		case map[string]any:
			for k, one := range v {
				add(name+"."+k, one)
			}
		}
	}
	for _, name := range []string{"total", "lines", "histogram", "references", "operands", "paths", "functions", "pairs"} {
		var v any
		if text, ok := all[0][name]; ok {
			if err := json.Unmarshal(text, &v); err != nil {
				t.Fatal(err)
			}
			add(name, v)
		}
	}
	counts := map[string]float64{}
	for _, name := range []string{"total.executed", "total.reads", "total.writes", "total.l1i_misses", "total.l1d_read_misses", "total.l1d_write_misses", "total.ll_read_misses",
		"total.ll_write_misses", "lines.l1_misses", "references", "histogram.references", "operands.accesses", "paths.count", "functions.runs.instructions", "functions.runs.executed",
		"total.cold_misses", "total.capacity_misses", "total.true_sharing_misses", "total.false_sharing_misses", "total.invalidating_stores", "total.invalidations",
		"total.memory", "total.dirty_transfers", "pairs.true_sharing_misses", "pairs.false_sharing_misses"} { // of lines only those with misses are told of
		if n, ok := sums[name]; ok {
			counts[name] = n
		}
	}
	return counts
}

// momentsOf returns when so large parts of a profile's executions had begun, in seconds since the start.
func momentsOf(t *testing.T, path string, parts ...float64) (out []string) {
	t.Helper()
	p, err := abp.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var all []uint64
	if err := p.EachExec(abp.Query{}, func(x *abp.Exec) error {
		all = append(all, x.TSC)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	h := p.Processes()[0].Header()
	for _, part := range parts {
		at := all[int(part*float64(len(all)))] - h.TSCAtStart
		out = append(out, strconv.FormatFloat(float64(at)/float64(h.TSCFrequency), 'f', 9, 64))
	}
	return out
}

// TestPartsOfTimeAddUp: what analyses count in one part of the time and in the other is what they count in all of it: what is outside
// moves lines, frames and threads all the same.
func TestPartsOfTimeAddUp(t *testing.T) {
	t.Parallel()
	for _, prog := range []string{
		build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie"),
		build(t, "../../testdata/calls/sharing.c", "-no-pie"),
	} {
		dir := workDir(t)
		run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address,time", "-o", profileDir, "--", prog}, dir: dir})
		splits := momentsOf(t, filepath.Join(dir, profileDir), 0.3, 0.5, 0.8)
		for _, name := range wholeAnalyses {
			whole, divided := countsWithin(t, dir, name), false
			for _, split := range splits {
				before, after := countsWithin(t, dir, name, "--time", "0-"+split), countsWithin(t, dir, name, "--time", split+"-1000")
				for k, n := range whole {
					// A path counts where it ends, and strides of a part begin anew.
					if before[k]+after[k] != n {
						t.Errorf("%s %s, %s: %g and %g until and from %s s, %g in all", filepath.Base(prog), name, k, before[k], after[k], split, n)
					}
					divided = divided || before[k] > 0.05*n && after[k] > 0.05*n
				}
			}
			if !divided || len(whole) == 0 {
				t.Errorf("%s %s: nothing was divided: %v", filepath.Base(prog), name, whole)
			}
		}
	}
}

// TestPartsByWindow: what analyses count while a window was open is as much as the report has of it.
func TestPartsByWindow(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	conf := filepath.Join(dir, "c.xml")
	const all = `<Profile><Process><Thread><Image><Function><Instruction cat="any" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile>`
	text := `<AlleriaConfig version="1.0"><Window name="all">` + all + `</Window><Window name="some" reopenable="true"><On><Call name="f42"/></On><Till><Return name="f42"/></Till>` +
		all + `</Window></AlleriaConfig>`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", conf, "-o", profileDir, "--", prog}, dir: dir}); r.status != 0 {
		t.Fatal(clip(r.stderr))
	}
	var report struct {
		Processes []struct {
			Windows []struct {
				Name                        string
				Openings                    int
				Instructions, Loads, Stores uint64
			}
		}
	}
	r := run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &report); err != nil {
		t.Fatal(err)
	}
	for _, w := range report.Processes[0].Windows {
		if w.Openings == 0 || w.Instructions == 0 {
			t.Fatalf("%+v", w)
		}
		accesses := fmt.Sprint(w.Loads + w.Stores)
		for name, want := range map[string]map[string]string{
			"cache":     {"total.executed": fmt.Sprint(w.Instructions), "total.reads": fmt.Sprint(w.Loads), "total.writes": fmt.Sprint(w.Stores)},
			"paths":     {"functions.runs.instructions": fmt.Sprint(w.Instructions)},
			"strides":   {"operands.accesses": accesses},
			"reuse":     {},
			"coherence": {},
		} {
			got := countsWithin(t, dir, name, "--window", w.Name)
			for k, n := range want {
				if fmt.Sprintf("%.0f", got[k]) != n {
					t.Errorf("%s, window %s: %s is %.0f, not %s", name, w.Name, k, got[k], n)
				}
			}
			if whole := countsWithin(t, dir, name); fmt.Sprint(whole) == fmt.Sprint(got) != (w.Name == "all") {
				t.Errorf("%s, window %s: %v, all %v", name, w.Name, got, whole)
			}
		}
	}
	for _, name := range wholeAnalyses {
		r := run(t, command{argv: []string{alleria(), "analyze", name, "--window", "sum", profileDir}, dir: dir})
		if r.status != 2 || len(r.stderr) == 0 {
			t.Errorf("%s: status %d, %s", name, r.status, clip(r.stderr))
		}
	}
}
