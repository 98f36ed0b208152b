package config

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	// maxBytes bounds a file. A configuration is written by hand; something
	// larger is a wrong file name (a profile, a core) and would only cost memory.
	maxBytes = 16 << 20
	// maxDepth bounds nesting. The language itself is eight deep; only All and
	// One nest without end, and the passes over the tree recurse.
	maxDepth = 64

	xsiNamespace = "http://www.w3.org/2001/XMLSchema-instance"
)

// marker is where an element's start tag and its attributes stand, as byte
// offsets. etree keeps none of this, hence the second reading of the text.
type marker struct {
	at    int
	attrs []attrMarker
}

type attrMarker struct {
	name string
	at   int
	// foreign attributes belong to XML itself (namespace declarations) or to
	// schema instances (where the schema is); they are not ours to judge.
	foreign bool
}

// scanner walks the tokens of encoding/xml and notes what etree loses.
type scanner struct {
	*faults
	file string
	text []byte
	// converted: the text was of another encoding, which its declaration may still name.
	converted bool
	lines     []int // byte offset of each line's first byte
	markers   []marker
	// The last place that pos was asked for, and the runes in front of it in its line: a file may
	// be one line of a megabyte, and places are mostly asked for in their order.
	last, column int
}

// newScanner prepares the line index.
func newScanner(file string, text []byte, f *faults) *scanner {
	s := &scanner{faults: f, file: file, text: text, lines: []int{0}}
	for i, b := range text {
		// Old Macintosh line ends are no line ends to any editor of today either.
		if b == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// pos converts a byte offset.
func (s *scanner) pos(at int) Pos {
	// The decoder's offsets are trusted to be about right only: after an error they
	// may lie behind the end.
	at = min(max(at, 0), len(s.text))
	line := sort.SearchInts(s.lines, at+1) - 1
	if s.last < s.lines[line] || s.last > at {
		s.last, s.column = s.lines[line], 0
	}
	s.column += utf8.RuneCount(s.text[s.last:at])
	s.last = at
	return Pos{s.file, line + 1, s.column + 1}
}

// scan reads all tokens. It reports false when the text is not well-formed
// enough for a tree to be built from it.
func (s *scanner) scan() bool {
	// Token and not RawToken: it checks that tags fit and resolves prefixes. It
	// reports an element that closes itself as start and end, the end without
	// text of its own, which is why only start tags are marked.
	dec := xml.NewDecoder(bytes.NewReader(s.text))
	dec.CharsetReader = s.charset
	var open []marker
	var names []string
	roots, root := 0, 0 // how many there are, and where the last begins
	for {
		at := int(dec.InputOffset())
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.syntax(err, at, int(dec.InputOffset()), open, names)
			return false
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if len(open) == 0 {
				roots, root = roots+1, at
			}
			m := s.startTag(at, int(dec.InputOffset()), t)
			s.markers = append(s.markers, m)
			open, names = append(open, m), append(names, t.Name.Local)
			// Given up rather than reported and continued: what follows is the same
			// again, thousands of times.
			if len(open) > maxDepth {
				s.rule(s.pos(at), fmt.Sprintf("elements are nested more than %d deep", maxDepth),
					"nest All and One less deeply")
				return false
			}
		case xml.EndElement:
			// Never empty here: the decoder refuses an end tag without a start.
			open, names = open[:len(open)-1], names[:len(names)-1]
		case xml.CharData:
			s.charData(at, t)
		case xml.ProcInst:
			// encoding/xml lets it pass anywhere; every other reader refuses.
			if t.Target == "xml" && at != 0 {
				s.shape(s.pos(at), "an XML declaration in the middle of the file",
					"it can only be the very first thing")
			}
		}
	}
	return s.oneRoot(roots, root)
}

// oneRoot tells whether there is one outermost element, and reports it if not;
// at is where the last of them begins.
func (s *scanner) oneRoot(roots, at int) bool {
	// Counted here because encoding/xml takes a sequence of documents for one.
	if roots != 1 {
		what := "the file holds no element"
		if roots > 1 {
			what = fmt.Sprintf("the file has %d outermost elements", roots)
		}
		s.shape(s.pos(at), what, "there is exactly one, AlleriaConfig")
	}
	return roots == 1
}

// charset accepts any declared encoding of text that has been converted already, or that reads
// alike in all.
func (s *scanner) charset(label string, in io.Reader) (io.Reader, error) {
	if !s.converted {
		return nil, fmt.Errorf("the encoding %q is declared", label)
	}
	return in, nil
}

// charData reports text between elements: nothing in the language holds any.
func (s *scanner) charData(at int, text xml.CharData) {
	// Indentation, in nearly all cases.
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	raw := s.text[at:]
	for len(raw) > 0 && strings.IndexByte(" \t\r\n", raw[0]) >= 0 {
		raw = raw[1:]
		at++
	}
	// A word shows which text is meant; the rest may be pages.
	word := string(bytes.Fields(text)[0])
	if utf8.RuneCountInString(word) > 20 {
		word = string([]rune(word)[:20]) + "…"
	}
	s.shape(s.pos(at), fmt.Sprintf("the text %q stands between elements", word),
		"everything is said in attributes; a remark goes into <!-- … -->")
}

// syntax words the decoder's complaint. The offset before the token is used for
// tags that don't fit, because the decoder stops behind the offending tag.
func (s *scanner) syntax(err error, before, after int, open []marker, names []string) {
	what, at := err.Error(), after
	var se *xml.SyntaxError
	if errors.As(err, &se) {
		what = se.Msg
	}
	right := "the file must be well-formed XML"
	// By text, since the package has one type of error for everything. A message that
	// changes falls through to the general one, and a test notices.
	switch {
	case strings.Contains(what, "unexpected EOF") && len(open) > 0:
		last := len(open) - 1
		what = fmt.Sprintf("the file ends while <%s> of line %d is open", names[last], s.pos(open[last].at).Line)
		right = fmt.Sprintf("close it with </%s>", names[last])
	case strings.Contains(what, "closed by") && len(open) > 0:
		last := len(open) - 1
		at = before
		what = fmt.Sprintf("<%s> of line %d is closed by %s", names[last], s.pos(open[last].at).Line, what[strings.LastIndex(what, "closed by ")+len("closed by "):])
		right = fmt.Sprintf("close it with </%s> first", names[last])
	case strings.Contains(what, "unexpected end element"):
		at = before
		right = "remove it, or add the start tag that it closes"
	case strings.Contains(what, "encoding"):
		at = 0
		right = "save the file as UTF-8 and declare that, or nothing"
	}
	s.shape(s.pos(at), what, right)
}

// startTag finds the attributes in the raw text of a start tag that the decoder
// has already accepted, and checks what the decoder lets pass: an attribute
// given twice, and attributes that nothing separates.
func (s *scanner) startTag(from, to int, t xml.StartElement) marker {
	m := marker{at: from}
	raw := s.text[from:to]
	i := 1 // behind the <, then behind the name, then behind each value
	for i < len(raw) && !isSpace(raw[i]) && raw[i] != '>' && raw[i] != '/' {
		i++
	}
	seen := map[string]bool{}
	for n := 0; n < len(t.Attr); n++ {
		start := skipSpace(raw, i)
		end := start
		for end < len(raw) && raw[end] != '=' && !isSpace(raw[end]) {
			end++
		}
		name := string(raw[start:end])
		q := skipSpace(raw, end)               // at '='
		q = skipSpace(raw, min(q+1, len(raw))) // at the quote
		if q >= len(raw) {
			break // unreachable after the decoder's approval; never index past it
		}
		// The same quote as opened it: the other kind may stand inside.
		closing := bytes.IndexByte(raw[q+1:], raw[q])
		if start == i {
			s.shape(s.pos(from+start), fmt.Sprintf("nothing separates %s from what precedes it", name), "put a space before it")
		}
		// encoding/xml accepts it and etree keeps both; XML does not allow it, and the
		// two values are two intentions.
		if seen[name] {
			s.shape(s.pos(from+start), fmt.Sprintf("%s is given twice", name), "keep one of them")
		}
		seen[name] = true
		m.attrs = append(m.attrs, attrMarker{name, from + start, isForeign(t.Attr[n].Name)})
		i = q + 1 + max(closing, 0) + 1
	}
	return m
}

// isForeign recognises the attributes that any XML file may carry to name its
// schema, which is how editors find the one in package schemas.
func isForeign(n xml.Name) bool {
	return n.Space == "xmlns" || n.Space == xsiNamespace &&
		(n.Local == "noNamespaceSchemaLocation" || n.Local == "schemaLocation")
}

// isSpace is XML's notion of white space: narrower than Unicode's, which must
// not be trimmed from names.
func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// skipSpace returns the index of the first byte from i on that is no white
// space, which may be the length.
func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}
