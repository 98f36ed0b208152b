package config

import "slices"

// valueKind is how an attribute's value is spelled.
type valueKind uint8

const (
	textValue      valueKind = iota // any text but the empty one, taken literally
	boolValue                       // true false 1 0
	ordinalValue                    // a number in creation order; 0 and absent: any
	ordinal1Value                   // the same, from 1
	numberValue                     // decimal or 0x…, 64 bits
	signedValue                     // the same with an optional minus
	countValue                      // decimal or 0x…, or decimal with k, M, G
	count1Value                     // the same, from 1
	timeValue                       // decimal or 0x… milliseconds, or decimal with us, ms, s; from 1
	sampleValue                     // 1/N
	rateValue                       // 1/N, a percentage, a number below 1, auto
	depthValue                      // a generation, or several: 2, 1..3
	registersValue                  // comma-separated register names
	enumValue                       // one of attribute.values
)

// attribute describes one attribute: the row behind parser, schema, writer and help.
type attribute struct {
	name     string
	kind     valueKind
	required bool
	values   []string // of enumValue
	doc      string   // a sentence without a subject: "the …"
}

// element describes one element.
type element struct {
	name  string
	doc   string
	attrs []attribute
	// groups is what may stand inside, in this order.
	groups []group
	// event marks what may stand in On, Till, All and One.
	event bool
	// unique lists attributes whose written value may occur once among these
	// elements inside one parent: the part of "two identical selectors" that
	// XSD 1.0 can say. The parser's own rule is wider.
	unique []string
}

// group is a choice of elements that may stand at one place of a sequence.
type group struct {
	names    []string
	min, max int // max 0: any number
}

// attr finds an attribute's description.
func (e *element) attr(name string) *attribute {
	// A loop: an element has a dozen attributes at most, and a map for each would have
	// to be made at start.
	for i := range e.attrs {
		if e.attrs[i].name == name {
			return &e.attrs[i]
		}
	}
	return nil
}

// attrNames lists the attributes in the order of the table.
func (e *element) attrNames() []string {
	out := make([]string, len(e.attrs))
	for i := range e.attrs {
		out[i] = e.attrs[i].name
	}
	return out
}

// childNames lists what may stand inside.
func (e *element) childNames() []string {
	var out []string
	// A name may come twice, where an element may stand at two places of a sequence.
	for _, g := range e.groups {
		out = append(out, g.names...)
	}
	return out
}

// language is the whole table in document order. It is written here and in the
// other language files only, and never changed while running.
var language = slices.Concat(structureElements, eventElements, profileElements, captureElements)

// elementNamed finds an element's description.
func elementNamed(name string) *element {
	for i := range language {
		if language[i].name == name {
			return &language[i]
		}
	}
	return nil
}

// ElementNames lists every element of the language in document order.
func ElementNames() []string {
	out := make([]string, len(language))
	for i := range language {
		out[i] = language[i].name
	}
	return out
}

// parentsOf lists the elements in which name may stand.
func parentsOf(name string) []string {
	var out []string
	// Searched each time rather than stored: parents follow from children, and only
	// messages ask.
	for i := range language {
		if slices.Contains(language[i].childNames(), name) {
			out = append(out, language[i].name)
		}
	}
	return out
}

// structureElements is the frame: file, types, windows.
var structureElements = []element{
	{
		name: "AlleriaConfig",
		doc:  "The whole file: the types that interceptors use, then one or more windows.",
		attrs: []attribute{
			{name: "version", kind: enumValue, values: []string{"1.0"}, required: true, doc: "the version of the language"},
		},
		groups: []group{{[]string{"Types"}, 0, 1}, {[]string{"Window"}, 1, 0}},
	},
	{
		name: "Window",
		doc: "A stretch of execution to be recorded. Each followed process has its own instance, which opens and " +
			"closes for all threads of the process. Several windows are independent: an instruction is recorded " +
			"once, with everything that any open window asks for.",
		attrs: []attribute{
			{name: "name", kind: textValue, doc: "the name that reports use for the window; absent: its position in the file"},
			{name: "reopenable", kind: boolValue, doc: "whether On can open the window again after Till has closed it; needs an On"},
		},
		groups: []group{{[]string{"On"}, 0, 1}, {[]string{"Till"}, 0, 1}, {[]string{"Profile"}, 1, 1}},
		unique: []string{"name"},
	},
	{
		name: "On",
		doc: "The event that opens the window. Without On the window is open from the first instruction of the " +
			"process.",
		groups: []group{{slices.Concat(eventNames, []string{"Sample"}), 1, 1}},
	},
	{
		name:   "Till",
		doc:    "The event that closes the window. Without Till the window stays open until the process ends.",
		groups: []group{{eventNames, 1, 1}},
	},
}
