package main

import (
	"os"
	"path/filepath"
)

// tools are modes that compare the choices of the tool interface (docs/writing-tools.md) on the example that makes a record of every access: how
// room in a buffer is looked for, whether blocks have plans, how rings are handed over, and whether anything runs beside the program. They run
// when they are named. The example is built beside alleria by `make bench`.
func tools(alleria string) []mode {
	path := filepath.Join(filepath.Dir(alleria), "memtrace")
	missing := ""
	if _, err := os.Stat(path); err != nil {
		missing = err.Error()
	}
	var all []mode
	for _, w := range []struct {
		name, about string
		flags       []string
	}{
		{"tool-memtrace", "a record of every access, by a tool", nil},
		{"tool-memtrace-each", "the same, room looked for before each record", []string{"-advance", "each"}},
		{"tool-memtrace-general", "the same, without plans of blocks", []string{"-no-plans"}},
		{"tool-memtrace-nway", "the same, by way of nway", []string{"-buffering", "nway"}},
		{"tool-memtrace-fastforward", "the same, by way of fastforward", []string{"-buffering", "fastforward"}},
		{"tool-memtrace-sequential", "the same, the program waits meanwhile", []string{"-sequential"}},
		{"tool-memtrace-1M", "the same, rings of chunks of 1M", []string{"-bs", "1024"}},
	} {
		all = append(all, mode{name: w.name, about: w.about, missing: missing, slow: true,
			told: func(string) volume { return volume{} }, // its counts: it is not quiet
			command: func(program []string, _ string) []string {
				return append(append(append([]string{path}, w.flags...), "--"), program...)
			}})
	}
	return all
}
