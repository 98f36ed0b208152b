package acceptance

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/internal/programfile"
	"alleria/internal/randprog"
)

// TestRandomConfigurationsBeside is TestRandomConfigurations over programs that have
// another thread, which does work of its own. What the first thread does is compared.
func TestRandomConfigurationsBeside(t *testing.T) { newPairs(t, true) }

// TestRandomConfigurationsBesideAgain runs one that lost system calls: code opened the window that records them.
func TestRandomConfigurationsBesideAgain(t *testing.T) { randomPairs(t, 410373, true, true) }

// oracleBeside is oracleRun for a program that starts another thread. The single-step
// engine follows one, so that another call takes the place of the one that starts it; its number is
// put right in what it tells.
func oracleBeside(t *testing.T, dir, prog string) *oracleTrace {
	t.Helper()
	both, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	alone, ok := randprog.WithoutBeside(both)
	if !ok {
		t.Fatalf("%s: where does the thread start?", prog)
	}
	replaceProgram(t, prog, alone)
	tr := oracleRun(t, dir, prog)
	replaceProgram(t, prog, both)
	for i := range tr.facts {
		if tr.facts[i].call != unix.SYS_GETPID {
			continue
		}
		tr.facts[i].call = unix.SYS_CLONE
		tr.facts[i].regs["rax"][0] = unix.SYS_CLONE
		tr.facts[i-1].code = bytes.Clone(tr.facts[i-1].code)
		tr.facts[i-1].code[1] = unix.SYS_CLONE
		tr.beside = make(map[uint64]bool)
		for k := 1; k <= randprog.BesideShared; k++ {
			tr.beside[tr.facts[i+k].addr] = true
		}
		return tr
	}
	t.Fatalf("%s starts no thread", prog)
	return nil
}

// replaceProgram writes an executable anew; nothing that runs has it open.
func replaceProgram(t *testing.T, path string, content []byte) {
	t.Helper()
	name := filepath.Join(filepath.Dir(path), filepath.Base(path)+".new")
	if err := programfile.Write(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, path); err != nil {
		t.Fatal(err)
	}
}
