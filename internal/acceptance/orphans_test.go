package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestOrphans kills processes within fork: whoever they have created is numbered as theirs and recorded, whether it is inherited by a process of the tree
// or by another, and whether another process or a thread has killed them. Nobody but the kernel's list of children tells of it where the creator is followed.
func TestOrphans(t *testing.T) {
	t.Parallel()
	program := build(t, "../../testdata/trees/orphans.c", "-O1 -pthread")
	for way, variant := range []string{"", "inherits", "thread", "program"} {
		modes := treeModes(t)
		if variant == "program" {
			modes["followed, stopped at their ends"] = append([]string{"--engine", "stop-at-ends"}, modes["followed"]...)
		}
		for n, name := range slices.Sorted(maps.Keys(modes)) {
			if !inTurn(way+n, 0, 2) {
				continue
			}
			flags := modes[name]
			t.Run(name+" "+variant, func(t *testing.T) {
				t.Parallel()
				argv := []string{program, "12"}
				if variant != "" {
					argv = append(argv, variant)
				}
				native := run(t, command{argv: argv, dir: workDir(t)})
				if name == "dropped" {
					flags = []string{"--only", "count", "-o", profileDir}
				}
				dir := workDir(t)
				same(t, native, run(t, command{argv: append(append(append([]string{alleria(), "-q", "record"}, flags...), "--"), argv...), dir: dir}))
				creators(t, dir, string(native.stdout))
			})
		}
	}
}

// creators looks at the tree of TestOrphans: as many processes as have counted themselves, each creator below the first process, and each child below its own.
func creators(t *testing.T, dir, said string) {
	t.Helper()
	var want int
	if _, err := fmt.Sscan(said, &want); err != nil {
		t.Fatalf("%q: %v", said, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, profileDir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Processes []struct {
			Number, Parent, Exit int
		}
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	below, exits, numbers := map[int]int{}, map[int]int{}, map[int]bool{}
	for _, p := range tree.Processes {
		if numbers[p.Number] { // the same, in another program
			continue
		}
		numbers[p.Number] = true
		below[p.Parent]++
		exits[p.Exit]++
	}
	if n := (want - 1) / 2; len(numbers) != want || below[1] != n || len(below) != n+2 || exits[3] != n {
		t.Errorf("%d processes of %d, %d below the first, %d have children, %d ended with 3", len(numbers), want, below[1], len(below)-1, exits[3])
	}
}

// TestKilledUnseen kills children within the fork that creates them, by another process and by a thread of their creator's: each has its number, and ended by the signal. The end of such
// a one is reported before anybody has seen it, and before its creator's event or behind.
func TestKilledUnseen(t *testing.T) {
	t.Parallel()
	program := build(t, "../../testdata/trees/killed.c", "-O1 -pthread")
	const rounds = 120
	for _, variant := range [][]string{{}, {"thread"}} {
		modes := treeModes(t)
		modes["counted"] = []string{"--only", "count", "-o", profileDir}
		delete(modes, "dropped") // it leaves no tree
		argv := append([]string{program, fmt.Sprint(rounds)}, variant...)
		native := run(t, command{argv: argv, dir: t.TempDir()})
		for name, flags := range modes {
			t.Run(fmt.Sprint(name, variant), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				same(t, native, run(t, command{argv: append(append(append([]string{alleria(), "-q", "record"}, flags...), "--"), argv...), dir: dir}))
				text, err := os.ReadFile(filepath.Join(dir, profileDir, "run.json"))
				if err != nil {
					t.Fatal(err)
				}
				var tree struct {
					Processes []struct{ Exit *int }
				}
				if err := json.Unmarshal(text, &tree); err != nil {
					t.Fatal(err)
				}
				ends := map[string]int{}
				for _, p := range tree.Processes {
					if p.Exit == nil {
						ends["not known"]++
					} else {
						ends[fmt.Sprint(*p.Exit)]++
					}
				}
				if ends["137"] != rounds || len(ends) != 2 || ends["0"] != 2-len(variant) {
					t.Errorf("ends: %v, want %d times 137, and 0 of the others", ends, rounds)
				}
			})
		}
	}
}

// TestLastIsKilled kills the only process of a run within fork: its child lives on, and the run with it.
func TestLastIsKilled(t *testing.T) {
	t.Parallel()
	program := build(t, "../../testdata/trees/orphans.c", "-O1 -pthread")
	for name, flags := range treeModes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			begun := time.Now()
			r := run(t, command{argv: append(append(append([]string{alleria(), "-q", "record"}, flags...), "--"), program, "last"), dir: dir})
			if _, err := os.Stat(filepath.Join(dir, "lived")); err != nil || r.status != 128+9 {
				t.Errorf("status %d, after %v: %v", r.status, time.Since(begun), err)
			}
		})
	}
}

// TestSharedMemoryOutlivesProgram has a child that shares its creator's memory, and is no thread, go on when the creator has executed another program or has ended: in a code cache
// whose program is over.
func TestSharedMemoryOutlivesProgram(t *testing.T) {
	t.Parallel()
	program := build(t, "../../testdata/trees/sharing-vm.c", "-O1 -pthread")
	for _, variant := range []string{"exec", "thread", "exit"} {
		modes := treeModes(t)
		modes["recorded"] = []string{"-o", profileDir}
		native := run(t, command{argv: []string{program, variant}, dir: t.TempDir()})
		for name, flags := range modes {
			t.Run(name+" "+variant, func(t *testing.T) {
				t.Parallel()
				argv := append(append([]string{alleria(), "-q", "record"}, flags...), "--", program, variant)
				same(t, native, run(t, command{argv: argv, dir: t.TempDir()}))
			})
		}
	}
}
