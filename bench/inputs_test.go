package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// TestInputsStayTheSame pins the inputs' bytes: figures of different days are
// only comparable on the same work.
func TestInputsStayTheSame(t *testing.T) {
	var text, c bytes.Buffer
	writeText(&text, 1<<16)
	writeC(&c, 50)
	for name, x := range map[string]struct{ data, sum string }{
		"text":   {text.String(), "102ad354"},
		"c":      {c.String(), "29bf849a"},
		"sql":    {sqlScript(1000), "c82f75cb"},
		"python": {pythonScript(1000), "2247eace"},
		"perl":   {perlScript(1000), "e3121eac"},
		"ruby":   {rubyScript(1000), "bf35f03e"},
		"node":   {nodeScript(1000), "4e5dc472"},
		"java":   {javaSource(1000), "d1669274"},
		"lua":    {luaScript(1000), "faa76515"},
	} {
		sum := sha256.Sum256([]byte(x.data))
		if got := hex.EncodeToString(sum[:4]); got != x.sum {
			t.Errorf("%s: checksum %s, want %s", name, got, x.sum)
		}
	}
}

func TestWriteOnceLeavesNoHalves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for range 2 {
		if err := writeOnce(path, func(w *bufio.Writer) { _, _ = w.WriteString("whole") }); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "whole" {
		t.Errorf("%q, %v", b, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
