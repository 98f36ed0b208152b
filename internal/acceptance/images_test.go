package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImagesSelected records a program that spends its time in its own code, in
// libraries of the system and in one of its own, by each way to select images.
func TestImagesSelected(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/windows/late.c", "-O1 -ldl")
	lib := build(t, "../../testdata/windows/late.c", "-O1 -shared -fPIC -DLIBRARY")
	name := func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
	for image, want := range map[string][]string{
		`main="true"`:                 {name(prog)},
		`anyButSys="true"`:            {name(prog), name(lib)},
		`name="` + name(lib) + `"`:    {name(lib)},
		`path="` + lib + `"`:          {name(lib)},
		`name="libc.so.6"`:            {"libc.so.6"},
		`name="ld-linux-x86-64.so.2"`: {"ld-linux-x86-64.so.2"},
		``:                            {name(prog), name(lib), "libc.so.6", "ld-linux-x86-64.so.2"},
	} {
		writeConfig(t, dir, strings.Replace(everything(""), "<Image>", "<Image "+image+">", 1))
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog, lib}, dir: dir})
		if r.status != 0 || len(r.stderr) > 0 {
			t.Fatalf("<Image %s>: status %d\n%s", image, r.status, clip(r.stderr))
		}
		var report struct {
			Processes []struct{ Images []struct{ Name string } }
		}
		if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout, &report); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, im := range report.Processes[0].Images {
			if !strings.HasPrefix(im.Name, "[") {
				got = append(got, im.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("<Image %s>: recorded %v, want %v", image, got, want)
		}
	}
}

// TestImagesByLinks names a library by its SONAME, by links beside it and elsewhere,
// in selections and in events: maps show only the file that these lead to.
func TestImagesByLinks(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	plugin := build(t, "../../testdata/events/plugin.c", "-shared -fPIC -Wl,-soname,libplug.so.9")
	prog := build(t, "../../testdata/events/loads.c", "-fno-inline")
	lib := filepath.Join(dir, "libplug.so.9.8.7")
	if err := os.Link(plugin, lib); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("libplug.so.9.8.7", filepath.Join(dir, "plug.so")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lib, filepath.Join(dir, "..", "far.so")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		`name="libplug.so.9.8.7"`:             true,
		`name="libplug.so.9"`:                 true,
		`name="plug.so"`:                      true,
		`name="libplug.so"`:                   false,
		`name="far.so"`:                       false,
		`path="` + dir + `/plug.so"`:          true,
		`path="` + dir + `/../far.so"`:        true,
		`path="` + dir + `/libplug.so.9"`:     false, // there is no such file
		`path="` + dir + `/libplug.so.9.8.7"`: true,
	} {
		for _, config := range []string{
			windowed("", `<On><Load `+name+`/></On>`, ""),
			windowed("", `<On><Call name="plugin_run" image`+strings.ToUpper(name[:1])+name[1:]+`/></On>`, ""),
			strings.Replace(windowed("", "", ""), "<Image>", "<Image "+name+">", 1),
		} {
			got := record(t, dir, config, prog, filepath.Join(dir, "plug.so"))
			if n := len(got["1/1"].addrs); (n > 0) != want {
				t.Errorf("%s: %d instructions recorded", config, n)
			}
		}
	}
}
