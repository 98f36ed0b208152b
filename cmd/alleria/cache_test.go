package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alleria/internal/diskcache"
)

// TestCacheCommand lists what is kept, passes over what is not readable, and removes all of it.
func TestCacheCommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	command := func(args ...string) (status int, out, messages string) {
		var o, m bytes.Buffer
		status = run(append([]string{"cache"}, args...), strings.NewReader(""), &o, &m)
		return status, o.String(), m.String()
	}
	if status, out, messages := command(); status != 0 || out != "" || !strings.Contains(messages, "has no translations") {
		t.Errorf("of nothing: status %d, %q, %q", status, out, messages)
	}
	if _, err := os.Stat(filepath.Join(home, "alleria")); err == nil {
		t.Error("to list makes the directory")
	}
	d, err := diskcache.Open(filepath.Join(home, "alleria"))
	if err != nil {
		t.Fatal(err)
	}
	for key, about := range map[string]string{"a": `{"program":"/bin/one\u001b","blocks":300,"written":"2026-01-02T03:04:05Z"}`, "b": `{"program":"/bin/two","blocks":400}`, "c": `{"image":"/lib/libc.so.6","functions":3000}`} {
		if err := d.Store(key, about, [][]byte{make([]byte, 3000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "odd.entry"), []byte("odd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := command(); status != 0 || !strings.Contains(out, "/bin/one?") || !strings.Contains(out, "/bin/two") || !strings.Contains(out, d.Path()) || !strings.Contains(out, "names of 1 image: ") {
		t.Errorf("status %d\n%s", status, out)
	}
	status, out, _ := command("--json")
	var list cacheList
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 {
		t.Fatalf("status %d, %v\n%s", status, err, out)
	}
	if len(list.Entries) != 2 || list.Entries[0].Blocks+list.Entries[1].Blocks != 700 || list.Bytes < 9000 || list.Names.Images != 1 || list.Names.Bytes < 3000 || list.Most != diskcache.DefaultMost || list.Directory != d.Path() {
		t.Errorf("%+v", list)
	}
	if status, _, messages := command("clear"); status != 0 || !strings.Contains(messages, ": 4, ") {
		t.Errorf("status %d, %q", status, messages)
	}
	if left, _ := os.ReadDir(d.Path()); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	if err := os.Chmod(d.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	if status, _, messages := command(); status == 0 || !strings.Contains(messages, "0700") {
		t.Errorf("of a directory for all: status %d, %q", status, messages)
	}
}
