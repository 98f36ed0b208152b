package acceptance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// servers are trees of processes that live with clients, and other projects' own tests of processes: each a script that
// starts what its arguments name under whatever stands before, uses it, ends it, and says what can be relied on
// (testdata/trees), or begins with "skip: " and why it cannot.
//
// They are for the long form of the tests: a short run has no use for databases and browsers, and installing
// them starts services on the machine. Which were there and agreed stands in docs/transparency.md by hand.
var servers = []struct {
	script string
	needs  []string // commands; the script is left out where one is missing
	root   int      // 1: as root only; -1: never as root
	rounds int      // in each way, where -rounds does not say how many
}{
	{"redis.sh", []string{"redis-server", "redis-cli", "redis-benchmark"}, 0, 20},
	{"nginx.sh", []string{"nginx", "curl"}, 0, 20},
	{"postgres.sh", []string{"initdb", "pgbench", "psql"}, -1, 20},
	{"daemons.sh", []string{"curl"}, 0, 5},
	{"desktop.sh", nil, 0, 1},
	{"cmake.sh", []string{"cmake", "ninja"}, 0, 20},
	{"make.sh", []string{"bash", "make", "gcc"}, 0, 20},
	{"terminal.sh", []string{"/usr/bin/python3"}, 0, 20},
	{"rights.sh", []string{"sudo", "su", "setpriv", "unshare", "script"}, 1, 20},
	{"chromium.sh", []string{"chromium"}, 0, 1},
	{"perl.sh", []string{"perl"}, 0, 1},
	{"python.sh", []string{"/usr/bin/python3"}, 0, 1},
	{"go.sh", nil, 0, 1},
	{"git.sh", []string{"git"}, 0, 1},
}

// TestServers compares what the scripts say of a native run and of traced ones.
func TestServers(t *testing.T) {
	if !*every {
		t.Skip("servers and browsers are part of the long form (-every)")
	}
	// As treeModes, but that the configurations lie where an ordinary user may read them.
	modes := map[string][]string{
		"followed": {"-c", "followed.xml", "--force", "-o", profileDir}, "armed": {"-c", "armed.xml", "--force", "-o", profileDir},
		"dropped": {"--discard"}, "counted": {"--only", "count", "--force", "-o", profileDir},
	}
	for _, s := range servers {
		t.Run(strings.TrimSuffix(s.script, ".sh"), func(t *testing.T) {
			for _, name := range s.needs {
				if find(name) == "" && !inPostgres(name) {
					t.Skipf("%s is not installed", name)
				}
			}
			if s.root == 1 && os.Getuid() != 0 {
				t.Skip("changes users, which only root may")
			}
			native := runServer(t, s.script, s.root < 0)
			if why, ok := strings.CutPrefix(string(native.stdout), "skip: "); ok {
				t.Skip(why)
			}
			if native.status != 0 {
				t.Fatalf("natively the script ends with %d\n%s", native.status, clip(native.stdout))
			}
			n := s.rounds
			if *rounds > 0 {
				n = *rounds
			}
			for name, flags := range modes {
				t.Run(name, func(t *testing.T) {
					for round := range n {
						traced := runServer(t, s.script, s.root < 0, append(append([]string{alleria(), "-q", "record"}, flags...), "--")...)
						if same(t, native, traced); t.Failed() {
							t.Fatalf("in round %d", round+1)
						}
					}
				})
			}
		})
	}
}

// inPostgres looks where Debian keeps what servers of one version need.
func inPostgres(name string) bool {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	return err == nil && len(found) > 0
}

// runServer runs a script in a directory of its own, with a port that nobody has, as nobody where the
// server refuses to be root.
func runServer(t *testing.T, script string, unprivileged bool, tracer ...string) result {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	path, err := filepath.Abs("../../testdata/trees/" + script)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := command{dir: publicDir(t), timeout: 10 * time.Minute}
	// By its text: a user without rights may not read where the project is.
	c.argv = append([]string{"sh", "-c", string(text), script, fmt.Sprint(port)}, tracer...)
	if unprivileged && os.Getuid() == 0 {
		if err := os.Chown(c.dir, int(nobody.Uid), int(nobody.Gid)); err != nil {
			t.Fatal(err)
		}
		c.attr = &syscall.SysProcAttr{Setpgid: true, Credential: &nobody}
	}
	r := run(t, c)
	r.stderr = nil // of clients; what servers say is in their logs
	return r
}

// publicDir makes a directory that every user can get to, with the configurations of treeModes.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "alleria-servers") // what testing makes is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range treeConfigs() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
