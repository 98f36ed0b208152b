package acceptance

import (
	"flag"
	"hash/fnv"
	"testing"
)

var every = flag.Bool("every", false, "run every program in every mode")

// short is few in the short form of the tests, all with -every.
func short(few, all int) int {
	if *every {
		return all
	}
	return few
}

// inTurn tells whether the short form has a pair of a case and a way, both by number: one way of each case, the next one of the next. With -every all are had.
func inTurn(number, way, ways int) bool { return *every || number%ways == way }

// mode is one way of running a target under alleria.
type mode struct {
	name  string   // in the table of the documentation
	flags []string // of record
	disk  bool     // writes a profile, which has to be sound
}

// profileDir is where a disk mode records to, in the run's directory.
const profileDir = "profile.out"

// modes are those that a command must be the same in. Recording everything
// appears twice: consumers that drop entries keep up with the target, those
// that write make it wait for room.
func modes() []mode {
	out := []string{"-o", "../" + profileDir}
	return []mode{
		{"translate", []string{"--only", "translate"}, false},
		{"count", []string{"--only", "count"}, false},
		{"record", out, true},
		{"discard", []string{"--discard"}, false},
		{"edges", append([]string{"--analysis", "callgraph", "--sequential"}, out...), false},
		{"main", append([]string{"--on-call", "main", "--till-return", "main"}, out...), true},
	}
}

// turnOf returns the modes that a program runs in: record, which everything has
// to bear, and n of the others, which its name decides, so that they stay the same
// when programs are added. All programs in all modes take twice as long and have
// not found more.
func turnOf(name string, n int) []mode {
	h := fnv.New32a()
	h.Write([]byte(name))
	i := int(h.Sum32() % 1000)
	all := modes()
	var out, others []mode
	for _, m := range all {
		if m.name == "record" {
			out = append(out, m)
		} else {
			others = append(others, m)
		}
	}
	for k := range n {
		out = append(out, others[(i+k)%len(others)])
	}
	return out
}

// fixtureTurn is a fixture's modes: recorded to disk, and half of them in another one, or all modes if that is asked for.
func fixtureTurn(name string) []mode {
	if *every {
		return modes()
	}
	return fixtureFew(name)
}

// fixtureFew is those of the short form.
func fixtureFew(name string) []mode { return turnOf(name, len(name)%2) }

// under is the command that runs argv in a mode.
func (m mode) under(argv []string) []string {
	full := append([]string{alleria(), "-q", "record"}, m.flags...)
	return append(append(full, "--"), argv...)
}

// verify lets alleria check the profile that a run left in dir.
func verify(t testing.TB, dir string) {
	t.Helper()
	if r := run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir}); r.status != 0 {
		t.Errorf("verify: status %d\n%s%s", r.status, clip(r.stdout), clip(r.stderr))
	}
}
