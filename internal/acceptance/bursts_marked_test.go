package acceptance

import (
	"path/filepath"
	"runtime"
	"testing"

	"alleria/abp"
	"alleria/analysis/stream"
)

// gapCounter counts where records are missing.
type gapCounter struct{ gaps, parts uint64 }

func (g *gapCounter) Stretch(*abp.Exec, []uint64) { g.parts++ }
func (g *gapCounter) Single(*abp.Exec)            { g.parts++ }
func (g *gapCounter) Gap()                        { g.gaps++ }

// TestBurstsAreMarked: who follows a thread's records is told where bursts end, as often as there were bursts, whether frames are decoded
// ahead or not; of a whole recording nobody is told anything.
func TestBurstsAreMarked(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/mix.c", mixFlags)
	for out, flags := range map[string][]string{"counted": {"--sample-rate", "10%"}, "timed": {"--sample-rate", "10%", "--sample-by", "time"}, "whole": nil} {
		argv := append([]string{alleria(), "-q", "record", "-o", out}, flags...)
		run(t, command{argv: append(argv, "--", prog), dir: dir})
		p, err := abp.Open(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		proc := p.Processes()[0]
		var bursts, lost uint64
		for _, s := range proc.Strata() {
			bursts += s.Bursts
			lost += s.Lost
		}
		for _, n := range []int{1, 3} {
			was := runtime.GOMAXPROCS(n)
			var g gapCounter
			err := stream.Thread(p, proc, &proc.Threads()[0], nil, &g)
			runtime.GOMAXPROCS(was)
			// The last one ends with the program. A gap behind another one is one with it, of which what is overwritten makes more.
			if err != nil || lost == 0 && (g.gaps > bursts || g.gaps+2 < bursts) || (out == "counted") && bursts < 2 || g.parts == 0 && out != "timed" {
				t.Errorf("%s, %d processors: %v, %d gaps, %d bursts, %d parts", out, n, err, g.gaps, bursts, g.parts)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
