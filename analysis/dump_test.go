package analysis

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"alleria/abp"
)

func dump(t *testing.T, q abp.Query, o DumpOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Dump(&b, openDemo(t), q, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDump(t *testing.T) {
	golden(t, "dump.txt", []byte(dump(t, abp.Query{Threads: []uint32{1}}, DumpOptions{Syntax: Intel, From: 396})))
	golden(t, "dump-att.txt", []byte(dump(t, abp.Query{Threads: []uint32{2}}, DumpOptions{Syntax: ATT, Count: 3, NoCode: true})))
}

func TestDumpCountAndFilters(t *testing.T) {
	full := dump(t, abp.Query{}, DumpOptions{Syntax: Intel})
	if n := strings.Count(full, "call 0x401100"); n != 100 {
		t.Errorf("%d calls, want 100", n)
	}
	if n := strings.Count(full, " load "); n != 275 {
		t.Errorf("%d loads, want 275", n)
	}
	only := dump(t, abp.Query{Functions: []string{"demo::work"}}, DumpOptions{Syntax: Intel})
	if strings.Contains(only, "main") && strings.Contains(only, "call") || !strings.Contains(only, "demo::work") {
		t.Errorf("a filter on a function let others through:\n%.300s", only)
	}
	short := dump(t, abp.Query{}, DumpOptions{Syntax: Intel, Count: 2})
	if n := strings.Count(short, "demo::work") + strings.Count(short, "main+0x4 "); n > 2 {
		t.Errorf("more than two instructions:\n%s", short)
	}
	var b bytes.Buffer
	if err := Dump(&b, openDemo(t), abp.Query{}, DumpOptions{Syntax: Intel, From: 1e9}); !errors.Is(err, abp.ErrNoSuchPlace) {
		t.Errorf("an instruction that is not there: %v", err)
	}
}

func TestHeatOfProfile(t *testing.T) {
	p := openDemo(t)
	h, err := HeatOf(p, p.Process(1), abp.Query{}, DefaultHeatBlock, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := h.Map("demo", DefaultHeatBlock, DefaultHeatColumns, Regions(p.Process(1)))
	if m.Total != (Traffic{275, 274}) {
		t.Errorf("total %+v, want what the report counts", m.Total)
	}
	if len(m.Rows) != 3 || m.Rows[0].Label != "[heap]" || m.Rows[2].Label != "[stack]" {
		t.Errorf("lines %+v", m.Rows)
	}
	only, err := HeatOf(p, p.Process(1), abp.Query{Functions: []string{"memcpy"}}, DefaultHeatBlock, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := only.Map("demo", DefaultHeatBlock, DefaultHeatColumns, nil); m.Total != (Traffic{64, 64}) {
		t.Errorf("memcpy alone: %+v", m.Total)
	}
}
