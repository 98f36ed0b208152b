package config

import (
	"errors"
	"fmt"

	"github.com/beevik/etree"
)

// node is an element with its place: what etree and the scan know, joined.
type node struct {
	Pos
	name     string
	attrs    []attr
	children []*node
	spec     *element // nil when no element has that name
	bad      bool     // an attribute is unknown or misspelt: values may read as absent
}

// attr is one attribute. Pos is where its name starts.
type attr struct {
	Pos
	name  string
	value string
}

// get returns an attribute, nil when absent.
func (n *node) get(name string) *attr {
	// A loop over at most a dozen, asked some twenty times an element: a map would
	// take longer to make.
	for i := range n.attrs {
		if n.attrs[i].name == name {
			return &n.attrs[i]
		}
	}
	return nil
}

// errJoin says that the two readings of one text disagree. Both decode with
// encoding/xml, so it cannot happen; it is an error and not a panic because the
// text comes from outside.
var errJoin = errors.New("the element tree and the text disagree")

// buildTree reads the text with etree and gives each element and attribute the
// place that the scan found, in document order.
func buildTree(s *scanner) (*node, error) {
	doc := etree.NewDocument()
	doc.ReadSettings = etree.ReadSettings{
		CharsetReader:          s.charset,
		PreserveDuplicateAttrs: true, // the scan reports them; dropping any would shift the join
	}
	// From the same bytes as the scan, the byte order mark cut off: with it all
	// columns of the first line would be one off.
	if err := doc.ReadFromBytes(s.text); err != nil {
		return nil, fmt.Errorf("element tree: %w", err)
	}
	root := doc.Root()
	if root == nil {
		return nil, errJoin
	}
	next := 0
	n := joinNode(s, root, &next)
	// Markers left over would mean that elements of the text are missing from the
	// tree: better refused than half read.
	if n == nil || next != len(s.markers) {
		return nil, errJoin
	}
	return n, nil
}

// joinNode converts one element and those inside; next is the ordinal of its
// start tag in the text. Recursion is bounded by maxDepth.
func joinNode(s *scanner, e *etree.Element, next *int) *node {
	if *next >= len(s.markers) {
		return nil
	}
	m := s.markers[*next]
	*next++
	// The join is by number, so a difference anywhere would shift all places behind
	// it.
	if len(m.attrs) != len(e.Attr) {
		return nil
	}
	n := &node{Pos: s.pos(m.at), name: e.FullTag()}
	for i, a := range e.Attr {
		// Of an attribute given twice, which the scan has reported, the first
		// counts.
		if !m.attrs[i].foreign && n.get(m.attrs[i].name) == nil {
			n.attrs = append(n.attrs, attr{s.pos(m.attrs[i].at), m.attrs[i].name, a.Value})
		}
	}
	for _, c := range e.ChildElements() {
		child := joinNode(s, c, next)
		if child == nil {
			return nil
		}
		n.children = append(n.children, child)
	}
	return n
}
