package abp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemaCompiled reads a file that has every kind of row with what Kaitai Struct's own compiler makes of the description. CI installs the
// compiler (.ci/kaitai install); where it is not there the test is skipped.
func TestSchemaCompiled(t *testing.T) {
	modules := os.Getenv("KAITAI")
	if modules == "" {
		modules = "../testdata/build/kaitai"
	}
	if _, err := os.Stat(filepath.Join(modules, "node_modules/kaitai-struct-compiler")); err != nil {
		t.Skip("Kaitai Struct's compiler is not installed (.ci/kaitai install)")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node")
	}
	file := filepath.Join(t.TempDir(), "every.abp")
	if err := os.WriteFile(file, everyRow(t), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("../.ci/kaitai", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for typ := SectionInfo; typ <= SectionSampling; typ++ {
		if typ != SectionInterceptors && typ != SectionTypes && !strings.Contains(string(out), typ.String()+" ") {
			t.Errorf("%s was not read:\n%s", typ, out)
		}
	}
}
