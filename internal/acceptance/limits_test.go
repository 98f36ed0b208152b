package acceptance

import (
	"bytes"
	"strings"
	"testing"
)

// What a program is given besides its arguments: limits, signals, descriptors, processors,
// scheduling, control groups.
const givenScript = `nproc; ulimit -a; cat /proc/self/cgroup; chrt -p $$ | sed 's/pid [0-9]*/pid/'; nice
grep -E '^(Sig(Blk|Ign|Cgt)|Cpus_allowed|Seccomp|NoNewPrivs|Threads|Umask|Cap)' /proc/self/status
cut -d' ' -f 19,41 /proc/self/stat
ls /proc/self/fd | wc -l
cat /proc/self/timerslack_ns 2>/dev/null
cat /proc/self/oom_score_adj; pwd; umask`

// TestGiven compares what a program is given with a native run's: in the code cache and natively, on
// all processors and on one, with open files limited, signals ignored and descriptors closed.
func TestGiven(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	ways := map[string]string{
		"plainly":           `exec "$@"`,
		"one processor":     `exec taskset -c 0 "$@"`,
		"few open files":    `ulimit -S -n 123; exec "$@"`,
		"a signal ignored":  `trap "" USR1 PIPE; exec "$@"`,
		"no standard input": `exec "$@" <&-`,
		"more descriptors":  `exec 7</dev/null 9>/dev/null; exec "$@"`,
		"signal 32 ignored": `exec perl -e 'my $a = pack("QQQQ", 1, 0, 0, 0); syscall(13, 32, $a, 0, 8) == 0 or die "$!"; exec @ARGV' -- "$@"`,
		"nice":              `exec nice -n 5 "$@"`,
		"batch":             `exec chrt -b 0 "$@"`,
		"another directory": `cd /; umask 027; exec "$@"`,
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			under := func(argv ...string) result {
				return run(t, command{argv: append(append([]string{"sh", "-c", way, "sh"}, argv...), "sh", "-c", givenScript), dir: dir})
			}
			native := under()
			if native.status != 0 {
				t.Skipf("natively: status %d, %s", native.status, native.stderr)
			}
			flags := [][]string{
				{"--only", "translate"},
				{"--only", "translate", "--engine", "no-handover,no-batch"},
				{"--discard", "--on-call", "nosuch"},
			}
			if name != "plainly" {
				flags = flags[:short(1, len(flags))]
			}
			for _, flags := range flags {
				argv := append(append([]string{alleria(), "-q", "record"}, flags...), "--")
				if got := under(argv...); !bytes.Equal(got.stdout, native.stdout) || got.status != native.status {
					t.Errorf("%s: status %d\n%s\nnatively\n%s\n%s", strings.Join(flags, " "), got.status, got.stdout, native.stdout, got.stderr)
				}
			}
		})
	}
}
