package difftest

import (
	"path/filepath"
	"testing"
	"time"

	"alleria/engine"
	"alleria/engine/launch"
)

// replaced is a client that takes long with a first thread that has stopped, so that another one executes a program meanwhile.
type replaced struct {
	*recorder
	path     string
	met      int // hits and creations
	programs int
}

// long is for how long it takes: the other thread needs some milliseconds.
const long = 60 * time.Millisecond

// replacedAlone is the client of a run of one process, which is traced or only followed.
type replacedAlone struct {
	alone
	c    *replaced
	fate engine.Fate
}

func (r replacedAlone) Traced(*engine.Process) engine.Handler { return r.c }

func (r replacedAlone) Executed(int) engine.Fate {
	r.c.programs++
	return r.fate
}

func (r replacedAlone) Born(int, int) engine.Fate {
	r.c.met++
	time.Sleep(long)
	return engine.Detach
}

func (c *replaced) Started(p *engine.Process) error {
	if err := c.recorder.Started(p); err != nil {
		return err
	}
	addr, err := addresses(c.path, p.PID())
	if err != nil {
		return err
	}
	return p.Notify(addr("meet"))
}

func (c *replaced) Notified(*engine.Thread, uint64, engine.NotifiedRegs) {
	c.met++
	time.Sleep(long)
}

// TestReplacedWhileStopped has a thread execute a program while the first one has stopped and the tracer is busy with that. The other
// takes the first one's id: what the tracer asks for then must not concern the new program.
func TestReplacedWhileStopped(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "trees", "replaced.c"), []string{"-O1", "-pthread"})
	for _, c := range []struct {
		name string
		fate engine.Fate
		mode engine.Mode
		met  int
	}{
		{"native", engine.Trace, engine.ModeNative, 4},
		{"translated", engine.Trace, engine.ModePlain, 4},
		{"counted", engine.Trace, engine.ModeCount, 4},
		{"followed", engine.Follow, engine.ModeNative, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := &replaced{recorder: &recorder{v: variant{mode: c.mode}}, path: path}
			o := engine.Options{Program: launch.Program{Path: path, Argv: []string{path}, Env: environment()}, ChunkBytes: 256 << 10, Chunks: 2}
			var st engine.Status
			out := captured(t, func() {
				var err error
				st, err = engine.New(o, replacedAlone{alone{cl.recorder}, cl, c.fate}).Run()
				if err != nil {
					t.Error(err)
					killChildren()
				}
			})
			if got := ended(st.Exited, st.Code, int(st.Signal)); got != "exit 0" || out != "done\n" {
				t.Errorf("%s, %q", got, out)
			}
			// On a busy machine the other thread may be the first.
			if cl.met < c.met/2 || cl.programs != 5 {
				t.Errorf("%d hits and creations in %d programs, want %d in 5", cl.met, cl.programs, c.met)
			}
		})
	}
}
