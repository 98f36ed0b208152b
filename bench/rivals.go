package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// rivals are the tools that alleria is measured against, where they are
// installed: Valgrind's by PATH, DynamoRIO's by $DYNAMORIO_HOME.
//
// They are asked for what is nearest to the same question, with their own best options,
// and their output goes where ours goes. Where a rival has two settings, both are rows
// and the faster one is what targets are derived from.
func rivals() []mode {
	return append(valgrind(), dynamoRIO()...)
}

// valgrind's tools. Those that take a hundred times as long as the program
// run only when they are named.
// It serialises threads, which its figure for the threaded program includes.
func valgrind() []mode {
	path, err := exec.LookPath("valgrind")
	missing := ""
	if err != nil {
		missing = "valgrind is not installed"
	}
	tool := func(name, about string, slow bool, flags ...string) mode {
		return mode{name: name, about: about, missing: missing, rival: true, slow: slow,
			command: func(program []string, _ string) []string {
				return append(append([]string{path, "-q"}, flags...), program...)
			}}
	}
	children := tool(valgrindChildren, "Valgrind alone, in all processes", true, "--tool=none", "--trace-children=yes")
	children.only = buildProgram
	return []mode{
		children,
		tool("vg-none", "Valgrind alone", false, "--tool=none"),
		tool("vg-lackey", "lackey, counts", true, "--tool=lackey", "--basic-counts=yes"),
		tool("vg-trace", "lackey, every access as text", true, "--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null"),
		tool("vg-cachegrind", "cachegrind with its caches", true, "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"),
		tool("vg-callgrind", "callgrind", true, "--tool=callgrind", "--callgrind-out-file=/dev/null"),
	}
}

// dynamoRIO has two settings for most modes, because its trace building helps
// long runs and hurts short ones; the better one is the rival.
func dynamoRIO() []mode {
	home := os.Getenv("DYNAMORIO_HOME")
	drrun := filepath.Join(home, "bin64", "drrun")
	missing := ""
	if home == "" {
		missing = "DYNAMORIO_HOME is not set"
	} else if _, err := os.Stat(drrun); err != nil {
		missing = err.Error()
	}
	sample := func(name string) string { return filepath.Join(home, "samples", "bin64", "lib"+name+".so") }
	tool := func(name, about string, after func(string) (volume, error), flags ...string) mode {
		return mode{name: name, about: about, missing: missing, rival: true, after: after,
			command: func(program []string, dir string) []string {
				argv := []string{drrun}
				for _, f := range flags {
					if f == "DIR" {
						f = dir
					}
					argv = append(argv, f)
				}
				return append(append(argv, "--"), program...)
			}}
	}
	bytesOnly := func(dir string) (v volume, err error) {
		v.bytes, err = sizeOf(dir)
		return v, err
	}
	return []mode{
		tool("dr", "DynamoRIO alone", nil),
		tool("dr-notrace", "DynamoRIO alone, no traces", nil, "-disable_traces"),
		tool("dr-inscount", "DynamoRIO, exact counts", nil, "-c", sample("inscount")),
		tool("dr-inscount-nt", "the same, no traces", nil, "-disable_traces", "-c", sample("inscount")),
		// Beyond its maximum size drmemtrace goes on tracing and writes nothing.
		tool("dr-addresses", "drmemtrace, output dropped", nil, "-t", "drmemtrace", "-offline", "-max_trace_size", "1", "-outdir", "DIR"),
		tool("dr-disk", "drmemtrace to disk with lz4", bytesOnly, "-t", "drmemtrace", "-offline", "-raw_compress", "lz4", "-outdir", "DIR"),
	}
}
