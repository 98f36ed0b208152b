package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"alleria/schemas"

	"alleria/config/vocab"
)

var update = flag.Bool("update", false, "rewrite generated and golden files")

const schemaPath = "../schemas/" + schemas.ConfigName

// TestSchemaIsGenerated holds the schema against the language table. The
// generator lives in a test because the program itself has no use for it.
func TestSchemaIsGenerated(t *testing.T) {
	want := generateSchema()
	if *update {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return // the embedded copy is the old one until the next build
	}
	if !bytes.Equal(want, schemas.Config()) {
		t.Errorf("%s is not what the language table says; run go test ./config -run TestSchemaIsGenerated -update", schemaPath)
	}
}

// generateSchema writes the XSD that the language table amounts to.
func generateSchema() []byte {
	g := &schemaWriter{}
	g.put(0, `<?xml version="1.0" encoding="UTF-8"?>`)
	g.put(0, `<!-- Generated from the language table of package config by its tests; edit the table, not this file.`)
	g.put(0, `     Editors find it by xsi:noNamespaceSchemaLocation="alleria.xsd" on AlleriaConfig. -->`)
	g.put(0, `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="unqualified">`)
	g.doc(1, "The window configuration of Alleria. What XSD 1.0 cannot say (attributes that exclude each other, identical "+
		"selectors, references between types and variables, ranges of numbers) is checked by the program only.")
	g.put(1, `<xs:element name="AlleriaConfig" type="AlleriaConfig">`)
	g.doc(2, elementNamed("AlleriaConfig").doc)
	g.unique(2, elementNamed("AlleriaConfig"))
	g.put(1, `</xs:element>`)
	for i := range language {
		g.element(&language[i])
	}
	g.put(1, `<xs:group name="event">`)
	g.doc(2, "An event, in On, Till, All and One.")
	g.put(2, `<xs:choice>`)
	for _, name := range eventNames {
		g.use(3, name, 1, 1)
	}
	g.put(2, `</xs:choice>`)
	g.put(1, `</xs:group>`)
	g.valueTypes()
	g.put(0, `</xs:schema>`)
	return g.Bytes()
}

type schemaWriter struct{ bytes.Buffer }

func (g *schemaWriter) put(depth int, format string, args ...any) {
	g.WriteString(strings.Repeat("  ", depth))
	if len(args) == 0 {
		g.WriteString(format + "\n")
		return
	}
	fmt.Fprintf(g, format+"\n", args...)
}

func (g *schemaWriter) doc(depth int, text string) {
	r := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	g.put(depth, "<xs:annotation><xs:documentation>%s</xs:documentation></xs:annotation>", r.Replace(text))
}

// element writes the complex type of an element; the elements themselves are
// local to their parents, so that only AlleriaConfig can be a file's root.
func (g *schemaWriter) element(e *element) {
	g.put(1, `<xs:complexType name="%s">`, e.name)
	g.doc(2, e.doc)
	g.content(e)
	for i := range e.attrs {
		a := &e.attrs[i]
		use := ifText(a.required, ` use="required"`)
		if a.kind != enumValue {
			g.put(2, `<xs:attribute name="%s" type="%s"%s>`, a.name, typeName(a.kind), use)
			g.doc(3, a.doc+". It takes "+a.right()+".")
			g.put(2, `</xs:attribute>`)
			continue
		}
		g.put(2, `<xs:attribute name="%s"%s>`, a.name, use)
		g.doc(3, a.doc+".")
		g.put(3, `<xs:simpleType><xs:restriction base="xs:token">`)
		for _, v := range a.values {
			g.put(4, `<xs:enumeration value="%s"/>`, v)
		}
		g.put(3, `</xs:restriction></xs:simpleType>`)
		g.put(2, `</xs:attribute>`)
	}
	g.put(1, `</xs:complexType>`)
}

func (g *schemaWriter) content(e *element) {
	if len(e.groups) == 0 {
		// Not simply empty: then a schema processor refuses a line break between
		// start and end tag. No element can satisfy this wildcard.
		g.put(2, `<xs:sequence><xs:any namespace="urn:none" processContents="strict" minOccurs="0"/></xs:sequence>`)
		return
	}
	g.put(2, `<xs:sequence>`)
	for i, grp := range e.groups {
		// A* B? A* is ambiguous to a schema processor that may not look ahead;
		// A* (B A*)? says the same.
		if i+2 == len(e.groups) && i > 0 && slices.Equal(e.groups[i-1].names, e.groups[i+1].names) {
			g.put(3, `<xs:sequence minOccurs="0">`)
			g.use(4, grp.names[0], 1, 1)
			g.use(4, e.groups[i+1].names[0], 0, 0)
			g.put(3, `</xs:sequence>`)
			break
		}
		g.group(grp)
	}
	g.put(2, `</xs:sequence>`)
}

func (g *schemaWriter) group(grp group) {
	bounds := occurs(grp.min, grp.max)
	switch {
	case len(grp.names) == 1:
		g.use(3, grp.names[0], grp.min, grp.max)
	case slices.Equal(grp.names, eventNames):
		g.put(3, `<xs:group ref="event"%s/>`, bounds)
	default:
		g.put(3, `<xs:choice%s>`, bounds)
		rest := grp.names
		if len(rest) > len(eventNames) && slices.Equal(rest[:len(eventNames)], eventNames) {
			g.put(4, `<xs:group ref="event"/>`)
			rest = rest[len(eventNames):]
		}
		for _, name := range rest {
			g.use(4, name, 1, 1)
		}
		g.put(3, `</xs:choice>`)
	}
}

func occurs(lo, hi int) string {
	s := ""
	if lo != 1 {
		s += fmt.Sprintf(` minOccurs="%d"`, lo)
	}
	switch hi {
	case 0:
		s += ` maxOccurs="unbounded"`
	case 1:
	default:
		s += fmt.Sprintf(` maxOccurs="%d"`, hi)
	}
	return s
}

// use writes a local element.
func (g *schemaWriter) use(depth int, name string, lo, hi int) {
	e := elementNamed(name)
	if !slices.ContainsFunc(e.childNames(), func(c string) bool { return len(elementNamed(c).unique) > 0 }) {
		g.put(depth, `<xs:element name="%s" type="%s"%s/>`, name, name, occurs(lo, hi))
		return
	}
	g.put(depth, `<xs:element name="%s" type="%s"%s>`, name, name, occurs(lo, hi))
	g.unique(depth+1, e)
	g.put(depth, `</xs:element>`)
}

// unique writes the constraints on an element's children. Children that share
// an attribute share the name space: Type and Pointer.
func (g *schemaWriter) unique(depth int, e *element) {
	children := e.childNames()
	slices.Sort(children)
	children = slices.Compact(children)
	over := map[string][]string{}
	var order []string
	for _, child := range children {
		for _, attr := range elementNamed(child).unique {
			if over[attr] == nil {
				order = append(order, attr)
			}
			over[attr] = append(over[attr], child)
		}
	}
	for _, attr := range order {
		g.put(depth, `<xs:unique name="%s-%s"><xs:selector xpath="%s"/><xs:field xpath="@%s"/></xs:unique>`,
			e.name, attr, strings.Join(over[attr], "|"), attr)
	}
}

func typeName(k valueKind) string {
	return [...]string{
		textValue: "text", boolValue: "flag", ordinalValue: "ordinal", ordinal1Value: "ordinalFrom1", numberValue: "number",
		signedValue: "signedNumber", countValue: "count", count1Value: "countFrom1", timeValue: "time", sampleValue: "sample", rateValue: "rate",
		depthValue: "generations", registersValue: "registers",
	}[k]
}

// valueTypes writes the simple types. They build on token, whose collapsing of
// white space is what the parser's trim does; texts build on string.
func (g *schemaWriter) valueTypes() {
	for k := textValue; k < enumValue; k++ {
		base := "xs:token"
		if k == textValue {
			base = "xs:string"
		}
		g.put(1, `<xs:simpleType name="%s">`, typeName(k))
		g.doc(2, strings.ToUpper(spellings[k].right[:1])+spellings[k].right[1:]+".")
		g.put(2, `<xs:restriction base="%s">`, base)
		switch k {
		case textValue:
			g.put(3, `<xs:minLength value="1"/>`)
		case boolValue:
			for _, v := range []string{"true", "false", "1", "0"} {
				g.put(3, `<xs:enumeration value="%s"/>`, v)
			}
		case registersValue:
			one := "(" + strings.Join(vocab.Registers(), "|") + ")"
			g.put(3, `<xs:pattern value="%s( ?, ?%s)*"/>`, one, one)
		default:
			g.put(3, `<xs:pattern value="%s"/>`, spellings[k].pattern)
		}
		g.put(2, `</xs:restriction>`)
		g.put(1, `</xs:simpleType>`)
	}
}
