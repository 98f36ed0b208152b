package acceptance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readerConfig has two windows that are open together now and then, in programs that
// signals interrupt.
const readerConfig = `<AlleriaConfig version="1.0">
<Window name="all"><Profile><Process><Thread><Image><Function><Instruction cat="any" accessAddressAndSize="1" timeStamp="1"/></Function></Image></Thread></Process></Profile></Window>
<Window name="handler" reopenable="true">
<On><Call name="usr"/></On><Till><Return name="usr"/></Till>
<Profile><Process><Thread><Image main="true"><Function><Instruction cat="any" accessAddressAndSize="1"/></Function></Image></Thread></Process></Profile></Window>
</AlleriaConfig>`

// TestReadersByProcessors reads a profile of several threads with signals, faults and
// windows: whatever counts frames side by side gives the same with one processor, with two
// and with more than there are frames.
func TestReadersByProcessors(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/signals-threads.c", "-pthread")
	dir := workDir(t)
	writeConfig(t, dir, readerConfig)
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir}); r.status != 0 {
		t.Fatalf("record: %d %s", r.status, r.stderr)
	}
	read := func(processors string, args ...string) []byte {
		r := run(t, command{argv: append([]string{alleria()}, args...), dir: dir, env: []string{"GOMAXPROCS=" + processors}})
		if r.status != 0 {
			t.Fatalf("%s: %d %s%s", strings.Join(args, " "), r.status, r.stdout, r.stderr)
		}
		if args[0] != "heatmap" {
			return r.stdout
		}
		csv, err := os.ReadFile(filepath.Join(dir, "h.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return csv
	}
	for _, args := range [][]string{
		{"report", "--json", profileDir},
		{"report", "--json", "--function", "usr", profileDir},
		{"heatmap", "-o", "h.csv", "--block", "4K", profileDir},
		{"verify", profileDir},
	} {
		want := read("1", args...)
		if args[0] == "report" && !bytes.Contains(want, []byte(`"name": "usr"`)) {
			t.Errorf("%s: no function usr", strings.Join(args, " "))
		}
		for _, n := range []string{"2", "16"} {
			if got := read(n, args...); !bytes.Equal(got, want) {
				t.Errorf("%s: %s processors give\n%s\none gives\n%s", strings.Join(args, " "), n, clip(got), clip(want))
			}
		}
	}
	// Frames that are counted by what they list, and those that had to be decoded.
	if got, want := read("2", "report", "--json", profileDir), read("1", "report", "--json", "--decode", profileDir); !bytes.Equal(got, want) {
		t.Errorf("report gives\n%s\nand with --decode\n%s", clip(got), clip(want))
	}
}
