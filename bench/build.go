package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildProgram is a tree of processes: make builds many small C files with four jobs at a time.
const buildProgram = "build"

// prepareBuild writes its sources and the script that builds them, which prints the sum that the built program does.
func prepareBuild(dir string, s size) ([]string, error) {
	files := pick(s, 200, 40)
	src := filepath.Join(dir, fmt.Sprintf("build-%d", files))
	if err := os.MkdirAll(src, 0o755); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	write := func(name, text string) error {
		return writeOnce(filepath.Join(src, name), func(w *bufio.Writer) { _, _ = w.WriteString(text) })
	}
	var objects, sum strings.Builder
	for i := range files {
		text := fmt.Sprintf("#include <stdio.h>\n#include <stdlib.h>\nint f%d(int x) {\n\tint s = 0;\n\tfor (int i = 0; i < x; i++)\n\t\ts += abs(i * %d - x);\n\treturn s;\n}\n", i, i)
		if err := write(fmt.Sprintf("f%d.c", i), text); err != nil {
			return nil, err
		}
		fmt.Fprintf(&objects, " f%d.o", i)
		fmt.Fprintf(&sum, " + f%d(%d)", i, i)
	}
	if err := write("main.c", "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 0"+sum.String()+"); return 0; }\n"); err != nil {
		return nil, err
	}
	if err := write("Makefile", "prog: main.o"+objects.String()+"\n\t@cc -o $@ $^\n%.o: "+src+"/%.c\n\t@cc -O1 -w -c -o $@ $<\n"); err != nil {
		return nil, err
	}
	script := `d=$(mktemp -d) && make -s -j4 -C $d -f "$1/Makefile" && $d/prog; s=$?; rm -rf $d; exit $s`
	return []string{"sh", "-c", script, "sh", src}, nil
}

// leavesChildren tells whether a mode of the build would measure make alone: Valgrind's are not asked to follow children, but for one.
func leavesChildren(program, mode string) bool {
	return program == buildProgram && strings.HasPrefix(mode, "vg-") && mode != valgrindChildren
}

// valgrindChildren is Valgrind in each process of a build. It only runs when it is named: it starts in a second, a thousand times.
const valgrindChildren = "vg-children"

// buildTarget is what a build must reach; dr is DynamoRIO's slowdown with all children, doing nothing.
func buildTarget(mode string, dr float64) target {
	switch mode {
	case "followed":
		return target{must: 1.05}
	case "count":
		return target{must: 5}
	case "addresses":
		return target{must: dr}
	case "disk":
		return target{must: 2 * dr}
	}
	return target{}
}

// straceChildren is a tracer of system calls, which stops at all of them.
func straceChildren() mode {
	path, err := exec.LookPath("strace")
	m := mode{name: "strace-f", about: "strace -f, every system call to /dev/null", rival: true, command: func(program []string, _ string) []string {
		return append([]string{path, "-f", "-o", "/dev/null"}, program...)
	}}
	if err != nil {
		m.missing = "strace is not installed"
	}
	return m
}
