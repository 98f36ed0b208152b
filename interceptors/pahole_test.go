package interceptors

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestPahole compares records with what pahole says of them: sizes, and where each field lies.
func TestPahole(t *testing.T) {
	pahole, err := exec.LookPath("pahole")
	if err != nil {
		t.Skip("no pahole (Debian package dwarves)")
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "records.c"), filepath.Join(dir, "records")
	text := ""
	for name := range strings.FieldsSeq(headers) {
		text += fmt.Sprintf("#if __has_include(<%s>)\n#include <%s>\n#endif\n", name, name)
	}
	if err := os.WriteFile(src, []byte("#define _GNU_SOURCE\n"+text+"int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-fno-eliminate-unused-debug-types", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
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
	compared := 0
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if id := calls.TypeID(0); e.Tag == dwarf.TagStructType && want[name] != "" {
			if id = d.at(e.Offset, 1); id == 0 {
				continue
			}
			compared++
			if got := recordText(c.Table, c.Table.Type(id)); got != want[name] {
				t.Errorf("struct %s:\ngot  %s\nwant %s", name, got, want[name])
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d records were compared", compared)
	}
	t.Logf("%d records", compared)
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

// paholeRecords are pahole's records as recordText has them.
func paholeRecords(out string) map[string]string {
	begin := regexp.MustCompile(`^struct (\w+) \{$`)
	field := regexp.MustCompile(`^\t(?:\S.*|\} .*|\}) ?;? +/\* +(\d+)(?:: *(\d+))? +(\d+) \*/$`)
	width := regexp.MustCompile(`:(\d+);`)
	size := regexp.MustCompile(`^\t/\* size: (\d+),`)
	records := make(map[string]string)
	name, text := "", ""
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if m := begin.FindStringSubmatch(line); m != nil {
			name, text = m[1], ""
		} else if m := size.FindStringSubmatch(line); m != nil && name != "" {
			records[name], name = text+"size "+m[1], ""
		} else if m := field.FindStringSubmatch(line); m != nil {
			var at, bit, bytes, bits int
			fmt.Sscan(m[1], &at)
			fmt.Sscan(m[2], &bit)
			fmt.Sscan(m[3], &bytes)
			bits = 8 * bytes
			if w := width.FindStringSubmatch(line); m[2] != "" && w != nil {
				fmt.Sscan(w[1], &bits)
			}
			text += fmt.Sprintf("%d+%d ", 8*at+bit, bits)
		}
	}
	return records
}
