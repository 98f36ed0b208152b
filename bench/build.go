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
	files := pick(s, 60, 12)
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

// leavesChildren tells whether a mode of the build would measure make alone: Valgrind's are not asked to follow children.
func leavesChildren(program, mode string) bool {
	return program == buildProgram && strings.HasPrefix(mode, "vg-")
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
