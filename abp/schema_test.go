package abp

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// schema interprets as much of Kaitai Struct's language as schemas/abp.ksy uses,
// so that the description is held to what is written: a field too many, too few
// or of the wrong size leaves bytes over or runs out of them.
type schema struct {
	Seq   []field                          `yaml:"seq"`
	Types map[string]struct{ Seq []field } `yaml:"types"`
	Enums map[string]map[int]string        `yaml:"enums"`
}

type field struct {
	ID       string `yaml:"id"`
	Type     any    `yaml:"type"`
	Size     string `yaml:"size"`
	Rest     bool   `yaml:"size-eos"`
	Contents any    `yaml:"contents"`
	Repeat   string `yaml:"repeat"`
	Expr     string `yaml:"repeat-expr"`
	Until    string `yaml:"repeat-until"`
	If       string `yaml:"if"`
	Enum     string `yaml:"enum"`
}

// node is a parsed structure: numbers, strings, bytes, nodes and lists of them.
type node map[string]any

type parser struct {
	*schema
	b    []byte
	self node
	name string
}

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...))
}

// value evaluates one of the expressions that the description uses.
func (p *parser) value(expr string, index int) (int, error) {
	if n, err := strconv.Atoi(expr); err == nil {
		return n, nil
	}
	var v any = p.self
	for part := range strings.SplitSeq(strings.ReplaceAll(expr, "[_index]", "."+strconv.Itoa(index)), ".") {
		switch t := v.(type) {
		case node:
			v = t[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(t) {
				return 0, p.fail("expression %q", expr)
			}
			v = t[i]
		}
	}
	n, ok := v.(uint64)
	if !ok {
		return 0, p.fail("expression %q", expr)
	}
	return int(n), nil
}

func (p *parser) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.b) {
		return nil, p.fail("%d bytes wanted, %d left", n, len(p.b))
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b, nil
}

func (p *parser) seq(fields []field) error {
	for _, f := range fields {
		if f.If == "not _io.eof" && len(p.b) == 0 {
			continue
		}
		if f.Repeat == "" {
			v, err := p.one(f, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", f.ID, err)
			}
			p.self[f.ID] = v
			continue
		}
		list := []any{}
		n := 1 << 30
		if f.Repeat == "expr" {
			var err error
			if n, err = p.value(f.Expr, 0); err != nil {
				return err
			}
		}
		for i := 0; i < n && (f.Repeat == "expr" || len(p.b) > 0); i++ {
			v, err := p.one(f, i)
			if err != nil {
				return fmt.Errorf("%s %d: %w", f.ID, i, err)
			}
			list = append(list, v)
			if f.Repeat == "until" && v.(node)["type"] == uint64(SectionDirectory) {
				break
			}
		}
		p.self[f.ID] = list
	}
	return nil
}

func (p *parser) one(f field, index int) (any, error) {
	if f.Contents != nil {
		want := ""
		switch c := f.Contents.(type) {
		case string:
			want = c
		case []any:
			for _, e := range c {
				if n, ok := e.(int); ok {
					want += string([]byte{byte(n)})
				} else {
					want += e.(string)
				}
			}
		}
		got, err := p.take(len(want))
		if err == nil && string(got) != want {
			err = p.fail("%q, want %q", got, want)
		}
		return nil, err
	}
	typ, _ := f.Type.(string)
	if s, ok := f.Type.(map[string]any); ok {
		typ = p.choose(s)
	}
	if f.Rest {
		return p.take(len(p.b))
	}
	if f.Size != "" {
		n, err := p.value(f.Size, index)
		if err != nil {
			return nil, err
		}
		b, err := p.take(n)
		if err != nil || typ == "" || typ == "str" {
			return b, err
		}
		sub := &parser{schema: p.schema, b: b, self: node{}, name: typ}
		if err := sub.seq(p.Types[typ].Seq); err != nil {
			return nil, err
		}
		if len(sub.b) != 0 {
			return nil, sub.fail("%d bytes left of %d", len(sub.b), n)
		}
		return sub.self, nil
	}
	if len(typ) == 2 && (typ[0] == 'u' || typ[0] == 's') {
		b, err := p.take(int(typ[1] - '0'))
		if err != nil {
			return nil, err
		}
		var wide [8]byte
		copy(wide[:], b)
		v := binary.LittleEndian.Uint64(wide[:])
		if f.Enum != "" && p.Enums[f.Enum][int(v)] == "" && v < 32 {
			return nil, p.fail("%s %d is not in %s", f.ID, v, f.Enum)
		}
		return v, nil
	}
	t, ok := p.Types[typ]
	if !ok {
		return nil, p.fail("unknown type %q", typ)
	}
	sub := &parser{schema: p.schema, b: p.b, self: node{}, name: typ}
	err := sub.seq(t.Seq)
	p.b = sub.b
	return sub.self, err
}

// choose takes the case of a switch: by section type where nothing is
// compressed, or by the kind of a row.
func (p *parser) choose(s map[string]any) string {
	cases := map[string]string{}
	raw, _ := s["cases"].(map[string]any)
	for k, v := range raw {
		cases[k] = v.(string)
	}
	if byNumber, ok := s["cases"].(map[any]any); ok {
		for k, v := range byNumber {
			cases[fmt.Sprint(k)] = v.(string)
		}
	}
	if s["switch-on"] == "head.kind" {
		return cases[fmt.Sprint(p.self["head"].(node)["kind"])]
	}
	if p.self["flags"] != uint64(0) {
		return ""
	}
	return cases["section_type::"+p.Enums["section_type"][int(p.self["type"].(uint64))]]
}

// everyRow is a file with a row of each kind.
func everyRow(t *testing.T) []byte {
	t.Helper()
	whole := sampleFile(t)
	f, err := openBytes(whole)
	if err != nil {
		t.Fatal(err)
	}
	end := f.Processes()[0].Main().sections
	first := end[len(end)-2].Offset // the frame index: before it sections can be inserted
	out := append([]byte(nil), whole[:first]...)
	add := func(s SectionType, payload []byte) { out = AppendSection(out, s, 0, payload) }
	add(SectionCPUID, (&CPUIDLeaf{}).Append(nil))
	add(SectionBlocks, AppendPackedRow(nil, packedVector(t)))
	add(SectionWindows, (&WindowEvent{Reason: "r"}).Append((&WindowDef{Name: "n"}).Append(nil)))
	add(SectionLLW, (&Snapshot{Change: true, Regions: []Region{{Label: "y", Inode: 5}}}).Append((&Snapshot{Regions: []Region{{Label: "x"}, {}}}).Append(nil)))
	add(SectionProcessFamily, (&FamilyRow{Command: []string{"a", "b"}}).Append(nil))
	add(SectionFunctions, (&Function{Name: "f", File: "g"}).Append(nil))
	add(SectionSyscalls, (&Syscall{}).Append(nil))
	add(SectionSignals, (&Signal{}).Append(nil))
	add(SectionQueries, (&QueryMessage{Text: "t"}).Append(nil))
	add(SectionSubProfiles, (&SubProfile{Path: "p"}).Append(nil))
	add(SectionFrameSums, (&FrameSums{Dynamic: make([]DynamicSum, 2), Cuts: make([]CutSum, 1)}).Append(nil))
	return append(out, whole[first:]...)
}

func TestSchema(t *testing.T) {
	text, err := os.ReadFile("../schemas/abp.ksy")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	b := everyRow(t)
	p := &parser{schema: &s, b: b, self: node{}, name: "file"}
	if err := p.seq(s.Seq); err != nil {
		t.Fatal(err)
	}
	if len(p.b) != 0 {
		t.Errorf("%d bytes left of %d", len(p.b), len(b))
	}
	seen := map[uint64]bool{}
	for _, v := range p.self["sections"].([]any) {
		seen[v.(node)["type"].(uint64)] = true
	}
	for typ := SectionInfo; typ <= SectionSampling; typ++ {
		if !seen[uint64(typ)] && typ != SectionInterceptors && typ != SectionTypes {
			t.Errorf("%s was not tried", typ)
		}
		if name := s.Enums["section_type"][int(typ)]; strings.ToUpper(name) != typ.String() {
			t.Errorf("section type %d is %q, in the library %s", typ, name, typ)
		}
	}
}
