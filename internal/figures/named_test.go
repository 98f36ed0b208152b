package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTestsExist: the tests and fixtures that the tables of what was mended, and of what was asked for, name are there.
func TestNamedTestsExist(t *testing.T) {
	root := "../.."
	have := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		have[filepath.Base(path)] = true
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\(`).FindAllSubmatch(text, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(?:[\\w/]+\\.)?((?:Test|Fuzz)\\w+|[\\w-]+\\.(?:c|S|cc))`")
	for _, page := range []string{"held.md", "mended.md", "cab-held.md", "analyses-held.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs/internal", page))
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllSubmatch(text, -1)
		for _, m := range found {
			if !have[string(m[1])] {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
		if len(found) < 20 {
			t.Errorf("%s names %d tests and fixtures", page, len(found))
		}
	}
}
