package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chunksOf is how many chunks of rings a run has filled, of each not the last; 0: it was over before anybody looked.
func chunksOf(t *testing.T, dir, out string) (sum int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, out, "adaptive.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		var row struct{ Chunks int }
		if len(line) > 0 && json.Unmarshal(line, &row) == nil {
			sum += row.Chunks
		}
	}
	return sum
}

// TestSampleLeftOut: a sample of reuse distances is the same, to the byte, whether the program's threads leave out executions that access no line of it or everything goes through the rings, and
// the same as of a profile; so are sums of instructions and accesses. That holds where blocks are left early, by faults and signals, and of accesses in two lines.
func TestSampleLeftOut(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	data := filepath.Join(dir, "data")
	text, rng := make([]byte, 300_000), rand.New(rand.NewPCG(1, 9))
	for i := range text {
		text[i] = "etaoin shrdlu cmfwyp"[rng.IntN(20)]
	}
	if err := os.WriteFile(data, text, 0o644); err != nil {
		t.Fatal(err)
	}
	programs := [][]string{
		{build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")},
		{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")},
		{build(t, "../../testdata/programs/signals-faults.c", "-O1")},
		{build(t, "../../testdata/programs/signals-nested.c", "-O1")},
		{build(t, "../../testdata/programs/returns-noncanonical.c", "-O1")},
		{find("gzip"), "-c", data}, {find("bzip2"), "-c", data},
		{find("sqlite3"), ":memory:", "create table t(a,b); insert into t values(1,2),(3,4); select sum(a*b) from t group by b order by 1 desc;"},
	}
	ways := [][]string{nil, {"--engine", "no-lazy"}, {"--engine", "no-super"}, {"--sequential", "--bs", "16"}, {"--fields", "address,branch,time"}}
	for i, argv := range programs {
		if argv[0] == "" {
			continue
		}
		size := []string{"64", "128"}[i%2]
		analysis := fmt.Sprintf("reuse(sample=64;line=%s)", size)
		all := recordBeside(t, dir, "all", analysis, []string{"--engine", "no-conditions"}, argv...)
		want, sums := analysisJSON(t, dir, "all", "reuse"), lastLine(all.stderr)
		faults := strings.Contains(argv[0], "noncanonical") // of branches more is recorded, where their faults are looked into
		for k, flags := range ways {
			if !inTurn(i, k%2, 2) {
				continue
			}
			if faults && len(flags) > 1 && flags[0] == "--fields" {
				continue
			}
			r := recordBeside(t, dir, "some", analysis, flags, argv...)
			same(t, result{stdout: all.stdout, status: all.status}, result{stdout: r.stdout, status: r.status})
			if got := analysisJSON(t, dir, "some", "reuse"); !bytes.Equal(got, want) {
				t.Errorf("%s %v: %s\nall: %s", argv[0], flags, clip(got), clip(want))
			}
			if got := lastLine(r.stderr); !bytes.Equal(bytes.ReplaceAll(got, []byte(" in some"), nil), bytes.ReplaceAll(sums, []byte(" in all"), nil)) {
				t.Errorf("%s %v: %s, all: %s", argv[0], flags, got, sums)
			}
			if some, all := chunksOf(t, dir, "some"), chunksOf(t, dir, "all"); flags == nil && all > 40 && some > all/2 {
				t.Errorf("%s: %d chunks of %d", argv[0], some, all)
			}
		}
		run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "-o", profileDir, "--"}, argv...), dir: dir, env: bound})
		r := run(t, command{argv: []string{alleria(), "analyze", "reuse", "--json", "--sample", "64", "--line", size, profileDir}, dir: dir})
		if !bytes.Equal(r.stdout, want) && !faults {
			t.Errorf("%s: of the profile %s%s\nbeside: %s", argv[0], clip(r.stdout), clip(r.stderr), clip(want))
		}
	}
}

// lastLine is the last line of a text.
func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
