package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keptIn is a folder for what is kept between the runs of a test alone, which others' runs have nothing in; files are those of translations.
func keptIn(dir string) (path string, files func() []string) {
	path = filepath.Join(dir, "kept")
	return path, func() []string {
		translations, _ := keptFiles(path)
		return translations
	}
}

// keptFiles are the files of translations and of functions' names in a folder. What is read ahead is the name of a file, in a small one of its own (reuse.Disk.ReadAhead), which is neither.
func keptFiles(path string) (translations, names []string) {
	found, _ := filepath.Glob(filepath.Join(path, "*"))
	for _, file := range found {
		switch b, _ := os.ReadFile(file); {
		case bytes.Contains(b[:min(len(b), 4096)], []byte("first 1\n")):
		case bytes.Contains(b[:min(len(b), 4096)], []byte(`"functions":`)):
			names = append(names, file)
		default:
			translations = append(translations, file)
		}
	}
	return translations, names
}

// TestKeptNames: a second run takes functions' names from the first, also under another configuration, and tells the same; damaged ones are made anew.
func TestKeptNames(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	kept, _ := keptIn(dir)
	log := filepath.Join(dir, "log")
	profile := func(out string, more ...string) (text string, taken, made int) {
		_ = os.Remove(log)
		argv := append([]string{alleria(), "--log", log, "record", "-q", "--no-aslr", "--cache", kept, "--force", "-o", out, "--fields", "function,branch"}, more...)
		if r := run(t, command{argv: append(argv, "--", "/bin/true"), dir: dir}); r.status != 0 {
			t.Fatalf("%s: status %d, %s", out, r.status, r.stderr)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(b), "functions' names: ")
		if _, err := fmt.Sscanf(line, "%d images kept, %d made", &taken, &made); err != nil {
			t.Fatalf("%s: %v in %s", out, err, b)
		}
		return withoutTIDs(string(run(t, command{argv: []string{alleria(), "dump", out}, dir: dir}).stdout)), taken, made
	}
	cold, none, all := profile("cold")
	_, names := keptFiles(kept)
	if none != 0 || all < 3 || len(names) < 1 || !strings.Contains(cold, "__libc_start_main") {
		t.Errorf("the first run took %d tables, made %d and kept %d", none, all, len(names))
	}
	warm, taken, made := profile("warm")
	if cold != warm || taken != len(names) || made != all-taken {
		t.Errorf("the second run took %d of %d tables and made %d; they differ from line %s on", taken, len(names), made, firstDifference(cold, warm))
	}
	if off, taken, made := profile("off", "--engine", "no-kept-names"); off != cold || taken != 0 || made != all {
		t.Errorf("without it took %d tables and made %d; they differ from line %s on", taken, made, firstDifference(cold, off))
	}
	if _, taken, _ := profile("other", "--image", "libc.so.6"); taken == 0 {
		t.Error("another configuration took none")
	}
	for i, file := range names {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if b[len(b)*3/4] ^= 1; i%2 == 1 {
			b = b[:len(b)/2]
		}
		writeFile(t, kept, filepath.Base(file), string(b))
	}
	if again, taken, made := profile("damaged"); again != cold || taken != 0 || made != all {
		t.Errorf("of damaged ones it took %d tables and made %d; they differ from line %s on", taken, made, firstDifference(cold, again))
	}
}

// keptRun runs a program with what is kept in a folder, and returns how many blocks it began with.
func keptRun(t *testing.T, dir, kept string, flags []string, argv ...string) (result, int) {
	t.Helper()
	got, of := statsOf(t, dir, append([]string{"--cache", kept}, flags...), argv...)
	return got, of("Reused")
}

// TestKeptBetweenRuns: the second run of a program begins with what the first has translated, prints the same and counts the same, at other addresses.
func TestKeptBetweenRuns(t *testing.T) {
	t.Parallel()
	argv := []string{"perl", "-e", `my %h; $h{$_ % 97} .= $_ for 1..3000; print join(",", map { length $h{$_} } sort { $a <=> $b } keys %h), "\n"`}
	for _, mode := range []string{"translate", "count"} {
		dir := workDir(t)
		kept, files := keptIn(dir)
		cold, none := keptRun(t, dir, kept, []string{"--only", mode}, argv...)
		warm, many := keptRun(t, dir, kept, []string{"--only", mode}, argv...)
		off, zero := keptRun(t, dir, kept, []string{"--only", mode, "--engine", "no-disk-cache"}, argv...)
		if none != 0 || many < 1000 || zero != 0 || len(files()) != 1 {
			t.Errorf("%s: runs began with %d blocks, %d, and %d where that is off; files: %v", mode, none, many, zero, files())
		}
		if mode == "translate" { // code that counts comes besides, in the file that is there
			keptRun(t, dir, kept, []string{"--only", "count"}, argv...)
			if _, both := keptRun(t, dir, kept, []string{"--only", "count"}, argv...); both < many*3/2 {
				t.Errorf("with both kinds of code kept a run began with %d blocks, %d of one", both, many)
			}
		}
		for _, r := range []result{warm, off} {
			if r.status != cold.status || mode == "translate" && string(r.stdout) != string(cold.stdout) {
				t.Errorf("%s: status %d, %q; the first time %d, %q", mode, r.status, clip(r.stdout), cold.status, clip(cold.stdout))
			}
		}
	}
	dir := workDir(t)
	kept, _ := keptIn(dir)
	prog := build(t, "../../testdata/reuse/forks.c", "-O1")
	counts := func(flags ...string) string {
		run(t, command{argv: append(append([]string{alleria(), "record", "-q", "--only", "count", "--no-aslr", "--cache", kept, "--force", "-o", "out"}, flags...), "--", prog), dir: dir})
		return string(run(t, command{argv: []string{alleria(), "report", "--tree", "out"}, dir: dir}).stdout)
	}
	if cold, warm, off := counts(), counts(), counts("--cache", "off"); cold != warm || cold != off || !strings.Contains(cold, "forks") {
		t.Errorf("counts the first time:\n%s\nthe second:\n%s\nwith nothing kept:\n%s", cold, warm, off)
	}
}

// TestKeptRecords: a second run that records begins with the first one's code, and records the same; another configuration begins with nothing of it.
func TestKeptRecords(t *testing.T) {
	t.Parallel()
	argv := []string{"/bin/echo", "some", "words"}
	for name, flags := range map[string][]string{
		"fields": {"--fields", "function,address,branch"}, "blocks": {"--only", "blocks"}, "image": {"--image", "main", "--fields", "address"}, "function": {"--image", "libc.so.6", "--function", "*str*", "--fields", "function,branch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			kept, files := keptIn(dir)
			profile := func(out string, more ...string) (text string, reused, asked int) {
				got, of := statsOf(t, dir, append(append([]string{"--no-aslr", "--cache", kept, "-o", out}, flags...), more...), argv...)
				if string(got.stdout) != "some words\n" || got.status != 0 {
					t.Errorf("%s: it printed %q, status %d, %s", out, got.stdout, got.status, got.stderr)
				}
				if v := run(t, command{argv: []string{alleria(), "verify", "-q", out}, dir: dir}); v.status != 0 {
					t.Errorf("%s: %s%s", out, v.stdout, v.stderr)
				}
				dump := run(t, command{argv: []string{alleria(), "dump", out}, dir: dir}).stdout
				report := run(t, command{argv: []string{alleria(), "report", "--by-program", out}, dir: dir}).stdout
				return withoutTIDs(string(dump)) + string(report), of("Reused"), of("Dispatches")
			}
			cold, none, many := profile("cold")
			warm, some, few := profile("warm")
			off, zero, _ := profile("off", "--engine", "no-disk-cache")
			if cold != warm || cold != off {
				t.Errorf("profiles differ from line %s on; that without what was kept from line %s on", firstDifference(cold, warm), firstDifference(cold, off))
			}
			if none != 0 || some < 500 || zero != 0 || few*4 > many || len(files()) != 1 {
				t.Errorf("runs began with %d blocks, %d, and %d where that is off; %d requests, then %d; files: %v", none, some, zero, many, few, files())
			}
			if list := run(t, command{argv: []string{alleria(), "cache", "--cache", kept, "--json"}, dir: dir}); !strings.Contains(string(list.stdout), `"records": true`) {
				t.Errorf("kept is %s%s", list.stdout, list.stderr)
			}
			if _, other := keptRun(t, dir, kept, []string{"--discard", "--fields", "time"}, argv...); other != 0 || len(files()) != 2 {
				t.Errorf("with another configuration it began with %d blocks; files: %v", other, files())
			}
		})
	}
}

// TestKeptRecordsMoved: in later runs, at other addresses, a program's own data lie as far from its code as they did, and it reads and writes the same.
func TestKeptRecordsMoved(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/globals.c", "-O2 -fno-stack-protector")
	dir := workDir(t)
	kept, _ := keptIn(dir)
	var runs [3]string
	for i := range runs {
		got, reused := keptRun(t, dir, kept, []string{"--image", "main", "--force", "-o", "out"}, prog)
		if (reused > 0) != (i > 0) || got.status != 0 {
			t.Errorf("run %d began with %d blocks, status %d", i, reused, got.status)
		}
		runs[i] = byDistance(t, run(t, command{argv: []string{alleria(), "dump", "--json", "out"}, dir: dir}).stdout)
	}
	if strings.Count(runs[0], "main+") < 1000 || runs[0] != runs[1] || runs[1] != runs[2] {
		t.Errorf("the second run differs from line %s on, the third from line %s", firstDifference(runs[0], runs[1]), firstDifference(runs[1], runs[2]))
	}
}

// TestKeptOfOtherModules: a program that loads another library each time finds the code of all that it has loaded in earlier runs, and in the same one.
func TestKeptOfOtherModules(t *testing.T) {
	t.Parallel()
	asks := build(t, "../../testdata/reuse/asks.c", "")
	libs := []string{build(t, "../../testdata/reuse/wide.c", "-O1 -shared -fPIC -DVALUE=1"), build(t, "../../testdata/reuse/wide.c", "-O1 -shared -fPIC -DVALUE=2")}
	for name, flags := range map[string][]string{"translate": {"--only", "translate"}, "record": {"--no-aslr", "--fields", "function,address,branch", "--force", "-o", "out"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			kept, _ := keptIn(dir)
			ask := func(i int, flags ...string) (text string, asked int) {
				got, of := statsOf(t, dir, flags, asks, libs[i])
				if string(got.stdout) != fmt.Sprintln(i+1) || got.status != 0 {
					t.Errorf("library %d: it printed %q, status %d, %s", i, got.stdout, got.status, got.stderr)
				}
				if name == "record" {
					if v := run(t, command{argv: []string{alleria(), "verify", "-q", "out"}, dir: dir}); v.status != 0 {
						t.Errorf("library %d: %s%s", i, v.stdout, v.stderr)
					}
					text = withoutTIDs(string(run(t, command{argv: []string{alleria(), "dump", "out"}, dir: dir}).stdout))
				}
				return text, of("Dispatches")
			}
			var cold [2]string
			for i := range cold {
				cold[i], _ = ask(i, flags...)
			}
			for n := range 4 {
				text, asked := ask(n%2, append([]string{"--cache", kept}, flags...)...)
				if text != cold[n%2] {
					t.Errorf("run %d differs from one with nothing kept from line %s on", n, firstDifference(text, cold[n%2]))
				}
				if (asked > 200) != (n < 2) {
					t.Errorf("run %d made %d requests", n, asked)
				}
			}
		})
	}
	dir := workDir(t)
	script := fmt.Sprintf("%[1]s %[2]s; %[1]s %[3]s; exit 0", asks, libs[0], libs[1])
	got, of := statsOf(t, dir, []string{"--only", "translate"}, "sh", "-c", script)
	again, both := statsOf(t, dir, []string{"--only", "translate"}, "sh", "-c", strings.Replace(script, "exit 0", script, 1))
	if string(got.stdout) != "1\n2\n" || string(again.stdout) != "1\n2\n1\n2\n" || both("Dispatches") > of("Dispatches")+400 {
		t.Errorf("%q with %d requests, %q with %d", got.stdout, of("Dispatches"), again.stdout, both("Dispatches"))
	}
}

// TestKeptOfAnotherProgram: a program that was built anew, with the same size at the same path, runs as it is now, and takes the place of what was kept.
func TestKeptOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	kept, files := keptIn(dir)
	prog := filepath.Join(dir, "prog")
	for i, word := range []string{"one", "two"} {
		c := writeFile(t, dir, word+".c", `#include <stdio.h>
int main(void) { for (volatile int i = 0; i < 3; i++) puts("`+word+`"); return `+string(rune('1'+i))+`; }
`)
		if r := run(t, command{argv: []string{"gcc", "-O1", "-o", prog, c}, dir: dir}); r.status != 0 {
			t.Skipf("gcc: %s", r.stderr)
		}
		for round := range 2 {
			got, reused := keptRun(t, dir, kept, []string{"--only", "translate"}, prog)
			if want := strings.Repeat(word+"\n", 3); string(got.stdout) != want || got.status != i+1 {
				t.Errorf("%s, run %d: %q, status %d", word, round, got.stdout, got.status)
			}
			if (reused > 200) != (round == 1) || len(files()) != 1 {
				t.Errorf("%s, run %d began with %d blocks; %d files", word, round, reused, len(files()))
			}
		}
	}
}

// TestKeptIsDamaged: with code that records and without, a file that is cut off, or has another byte, is removed, and the run goes on without; one in a folder that others may write is not read.
func TestKeptIsDamaged(t *testing.T) {
	t.Parallel()
	argv := []string{"dash", "-c", "for i in 1 2 3; do echo $i; done"}
	for _, flags := range [][]string{{"--only", "translate"}, {"--discard"}} {
		damaged(t, flags, argv)
	}
	dir := workDir(t)
	kept := filepath.Join(dir, "kept")
	keptRun(t, dir, kept, []string{"--only", "translate"}, argv...)
	if err := os.Chmod(kept, 0o777); err != nil {
		t.Fatal(err)
	}
	if r := run(t, command{argv: append([]string{alleria(), "record", "--cache", kept, "--only", "translate", "--"}, argv...), dir: dir}); r.status != 2 || !strings.Contains(string(r.stderr), "0700") {
		t.Errorf("with a folder for everybody: status %d, %s", r.status, r.stderr)
	}
	log := filepath.Join(dir, "log")
	if err := os.Mkdir(filepath.Join(dir, "alleria"), 0o755); err != nil { // the user's own by its name
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	native := run(t, command{argv: argv, dir: dir})
	r := run(t, command{argv: append([]string{alleria(), "--log", log, "record", "--only", "translate", "--"}, argv...), dir: dir, env: []string{"XDG_CACHE_HOME=" + dir}})
	if b, _ := os.ReadFile(log); r.status != 0 || string(r.stdout) != string(native.stdout) || len(r.stderr) > 0 || !strings.Contains(string(b), "kept translations") {
		t.Errorf("with the user's folder open to others: status %d, %q, %q; log: %s", r.status, r.stdout, r.stderr, b)
	}
}

// damaged runs a program with damaged files, one kind of damage after the other.
func damaged(t *testing.T, flags, argv []string) {
	t.Helper()
	dir := workDir(t)
	kept, files := keptIn(dir)
	native := run(t, command{argv: argv, dir: dir})
	keptRun(t, dir, kept, flags, argv...)
	if len(files()) != 1 {
		t.Fatalf("%v is kept", files())
	}
	whole, err := os.ReadFile(files()[0])
	if err != nil {
		t.Fatal(err)
	}
	name := files()[0]
	for what, damage := range map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil }, "cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"another byte": func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "something else": func([]byte) []byte { return []byte("#!/bin/sh\n") },
	} {
		writeFile(t, kept, filepath.Base(name), string(damage(append([]byte(nil), whole...))))
		got, reused := keptRun(t, dir, kept, flags, argv...)
		if reused != 0 || string(got.stdout) != string(native.stdout) || got.status != 0 || len(got.stderr) > 0 {
			t.Errorf("%s: began with %d blocks; %q, %q, status %d", what, reused, got.stdout, got.stderr, got.status)
		}
		if _, reused = keptRun(t, dir, kept, flags, argv...); reused == 0 {
			t.Errorf("%s: nothing is kept any more", what)
		}
	}
}

// TestKeptX87: what code has the tracer put right in memory is put right by code that was taken over as well, wherever the cache lies now.
func TestKeptX87(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog, kept := build(t, "../../testdata/reuse/x87.c", ""), filepath.Join(dir, "kept")
	for n := range 3 {
		got, reused := keptRun(t, dir, kept, []string{"--only", "translate"}, prog)
		if string(got.stdout) != "own\n" || got.status != 0 || n > 0 && reused == 0 {
			t.Errorf("run %d, with %d blocks: %q, status %d", n, reused, got.stdout, got.status)
		}
	}
	got, reused := statOf(t, dir, "Reused", []string{"--only", "translate", "--cache", "off"}, "sh", "-c", prog+"; "+prog+"; exit 0")
	if string(got.stdout) != "own\nown\n" || reused == 0 {
		t.Errorf("in one run, with %d blocks: %q", reused, got.stdout)
	}
}

// TestKeptOfProgramThatMakesCode: what a program with threads has translated of files stays for its next start; the code that it has made does not, where the
// next one has made other code.
func TestKeptOfProgramThatMakesCode(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog, kept := build(t, "../../testdata/reuse/makes.c", "-O1 -pthread"), filepath.Join(dir, "kept")
	for _, mode := range []string{"translate", "count"} {
		for n, arg := range []string{"1", "1", "1000", "7"} {
			native := run(t, command{argv: []string{prog, arg}, dir: dir})
			got, reused := keptRun(t, dir, kept, []string{"--only", mode}, prog, arg)
			off, none := keptRun(t, dir, kept, []string{"--only", mode, "--engine", "no-reuse"}, prog, arg)
			if got.status != 0 || mode == "translate" && (string(got.stdout) != string(native.stdout) || string(off.stdout) != string(native.stdout)) {
				t.Errorf("%s, run %d: %q, %q with nothing kept; natively %q, status %d", mode, n, got.stdout, off.stdout, native.stdout, got.status)
			}
			if n > 0 && reused < 300 || none != 0 {
				t.Errorf("%s, run %d began with %d blocks", mode, n, reused)
			}
		}
	}
}

// TestDroppedStarts: what is dropped is counted alike in first runs and in those that begin with what is kept, whether facts are checked when they are read or before, whatever reads the
// file, says how long records are, and makes rings.
func TestDroppedStarts(t *testing.T) {
	t.Parallel()
	want := ""
	for _, off := range []string{"", "check-facts", "read-alone", "names-later", "no-sizes", "meet-each", "large-rings"} {
		dir := workDir(t)
		kept, files := keptIn(dir)
		flags := []string{"--no-aslr", "--fields", "address", "--discard"}
		if off != "" {
			flags = append(flags, "--engine", off)
		}
		argv := append([]string{alleria(), "record", "--cache", kept}, flags...)
		for round := range 3 {
			r := run(t, command{argv: append(argv, "--", "/bin/ls", "/nothing/there"), dir: dir})
			_, got, _ := strings.Cut(string(r.stderr), "alleria: ")
			if want == "" {
				want = got
			}
			if r.status != 2 || got != want || !strings.Contains(got, "instructions") || !strings.Contains(string(r.stderr), "/nothing/there") || len(files()) != 1 {
				t.Errorf("%s, run %d: status %d, %d files\n%swant %s", off, round, r.status, len(files()), r.stderr, want)
			}
		}
		if _, reused := keptRun(t, dir, kept, flags, "/bin/ls", "/nothing/there"); reused < 1000 {
			t.Errorf("%s: a later run begins with %d blocks", off, reused)
		}
	}
}
