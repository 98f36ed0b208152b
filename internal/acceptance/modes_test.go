package acceptance

import "testing"

// mode is one way of running a target under alleria.
type mode struct {
	name  string   // in the table of the documentation
	flags []string // of record
	disk  bool     // writes a profile, which has to be sound
}

// profileDir is where a disk mode records to, in the run's directory.
const profileDir = "profile.out"

// modes are those that every command must be the same in. Recording everything
// appears twice: consumers that drop entries keep up with the target, those
// that write make it wait for room.
func modes() []mode {
	out := []string{"-o", "../" + profileDir}
	return []mode{
		{"translate", []string{"--only", "translate"}, false},
		{"count", []string{"--only", "count"}, false},
		{"record", out, true},
		{"discard", []string{"--discard"}, false},
		{"main", append([]string{"--on-call", "main", "--till-return", "main"}, out...), true},
	}
}

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
