package interceptors

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"alleria/abp/calls"
	"alleria/internal/debuginfo"
)

// headers have some hundred records of the system's between them: network protocols, signals, terminals, file systems, devices.
const headers = `stdio.h stdlib.h time.h signal.h ucontext.h pthread.h semaphore.h dirent.h netdb.h termios.h sys/stat.h sys/socket.h sys/un.h sys/epoll.h sys/resource.h sys/ipc.h
sys/sem.h sys/shm.h sys/msg.h sys/statvfs.h sys/sysinfo.h sys/times.h sys/timex.h sys/uio.h sys/user.h sys/utsname.h sys/procfs.h sys/inotify.h netinet/in.h netinet/ip.h netinet/tcp.h netinet/udp.h netinet/ip_icmp.h
netinet/ip6.h netinet/icmp6.h net/if_arp.h elf.h link.h printf.h obstack.h fts.h glob.h regex.h search.h utmpx.h mntent.h grp.h pwd.h shadow.h linux/perf_event.h linux/bpf.h linux/ethtool.h linux/fs.h
linux/input.h linux/io_uring.h linux/kvm.h linux/netlink.h linux/rtnetlink.h linux/videodev2.h linux/nl80211.h linux/loop.h linux/hdreg.h linux/fb.h linux/vt.h linux/kd.h linux/userfaultfd.h linux/if_link.h`

// TestPahole compares records with what pahole says of them: sizes, and where each field lies. In C they are those of the system's headers, in C++ what a
// program has of its library, in Go the runtime's and what fmt and net need.
func TestPahole(t *testing.T) {
	includes := ""
	for name := range strings.FieldsSeq(headers) {
		includes += fmt.Sprintf("#if __has_include(<%s>)\n#include <%s>\n#endif\n", name, name)
	}
	for _, l := range []struct {
		file, text string
		build      []string
		least      int
	}{
		{"records.c", "#define _GNU_SOURCE\n" + includes + "int main(void) { return 0; }\n", []string{"gcc", "-g", "-fno-eliminate-unused-debug-types", "-w"}, 200},
		{"records.cc", `#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
struct odd { char c : 3; int i : 5; long l; std::string s; std::vector<int> v; std::optional<short> o; union { int a; double b; } u; };
int main() { odd o{}; std::map<int, std::string> m; std::thread t([] {}); t.join(); std::ostringstream s; s << m.size() << o.c; return 0; }
`, []string{"g++", "-g", "-fno-eliminate-unused-debug-types", "-w", "-pthread"}, 20},
		{"records.go", "package main\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n)\n\nfunc main() { fmt.Println(http.DefaultClient) }\n", []string{"go", "build"}, 1000},
	} {
		t.Run(l.file, func(t *testing.T) {
			dir := t.TempDir()
			src, bin := filepath.Join(dir, l.file), filepath.Join(dir, "records")
			if err := os.WriteFile(src, []byte(l.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(l.build[0], append(l.build[1:], "-o", bin, src)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			comparePahole(t, bin, l.least)
		})
	}
}

// comparePahole compares the records of a program, of which at least so many are to be found.
func comparePahole(t *testing.T, bin string, least int) {
	pahole, err := exec.LookPath("pahole")
	if err != nil {
		t.Skip("no pahole (Debian package dwarves)")
	}
	out, err := exec.Command(pahole, bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := paholeRecords(string(out))
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := debuginfo.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCompiler()
	d := newDebugInfo(c, data)
	compared := make(map[string]bool)
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag != dwarf.TagStructType && e.Tag != dwarf.TagClassType || want[name] == nil || e.Val(dwarf.AttrDeclaration) != nil {
			continue
		}
		id := d.at(e.Offset, 1)
		ty := c.Table.Type(id)
		if id == 0 || ty.Kind == calls.String { // has only what a string needs
			continue
		}
		compared[name] = true
		if got := recordText(c.Table, ty); !slices.Contains(want[name], got) {
			t.Errorf("struct %s:\ngot  %s\nwant %q", name, got, want[name])
		}
	}
	if len(compared) < least {
		t.Errorf("only %d records were compared", len(compared))
	}
	t.Logf("%d records", len(compared))
}

// recordText is a record's fields, by where they begin in bits, and its size.
func recordText(table *calls.Table, r *calls.Type) string {
	text := ""
	for _, f := range r.Fields {
		bits := uint32(f.Bits)
		if bits == 0 {
			bits = 8 * table.Type(f.Type).Size
		}
		text += fmt.Sprintf("%d+%d ", 8*f.Offset+uint32(f.Bit), bits)
	}
	return text + fmt.Sprint("size ", r.Size)
}

// paholeRecords are pahole's records as recordText has them, by name: in C++ and Go several may have one. Those that inherit are left out.
func paholeRecords(out string) map[string][]string {
	begin := regexp.MustCompile(`^(?:struct|class) (\S.*) \{$`)
	field := regexp.MustCompile(`^\t(?:\S.*|\} .*|\}) ?;? +/\* +(\d+)(?:: *(\d+))? +(\d+) \*/$`)
	width := regexp.MustCompile(`:(\d+);`)
	size := regexp.MustCompile(`^\t/\* size: (\d+),`)
	records := make(map[string][]string)
	name, text := "", ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if m := begin.FindStringSubmatch(line); m != nil {
			name, text = m[1], ""
		} else if strings.Contains(line, "<ancestor>") || strings.Contains(line, "_vptr.") {
			name = ""
		} else if m := size.FindStringSubmatch(line); m != nil && name != "" {
			records[name] = append(records[name], text+"size "+m[1])
			name = ""
		} else if m := field.FindStringSubmatch(line); m != nil {
			var at, bit, bytes, bits int
			fmt.Sscan(m[1], &at)
			fmt.Sscan(m[2], &bit)
			fmt.Sscan(m[3], &bytes)
			if bytes > 1<<18 && !strings.Contains(line, "];") {
				bytes = 8 // a function of Go's, of which it does not know the size
			}
			bits = 8 * bytes
			if w := width.FindStringSubmatch(line); m[2] != "" && w != nil {
				fmt.Sscan(w[1], &bits)
			}
			text += fmt.Sprintf("%d+%d ", 8*at+bit, bits)
		}
	}
	return records
}
