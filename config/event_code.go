package config

import (
	"fmt"
	"strings"
)

// The events on functions that are entered and left.
var (
	callSpec = eventSpec{kind: EventCall, traits: Occurs | AtCode | OfFunction, decode: decodeFunctionEvent, image: functionImage,
		element: element{name: "Call", attrs: functionEventAttrs,
			doc: "Fires when the function is entered: by a call, or by a jump from outside it. A window that it opens " +
				"records from the function's first instruction on. Without imageName and imagePath, the function is one of the " +
				"main executable."},
		words: func(e *Event, of string) string {
			return e.functionWords() + " is entered" + nthTime(e.Threshold) + e.inThread() + of
		},
	}
	returnSpec = eventSpec{kind: EventReturn, traits: Occurs | AtCode | OfFunction, decode: decodeFunctionEvent, image: functionImage,
		element: element{name: "Return", attrs: functionEventAttrs,
			doc: "Fires when the function has returned: its ret has executed with the stack pointer of an entry. Leaving " +
				"by longjmp, an exception or exit is no return. Without imageName and imagePath, the function is one of the main executable."},
		words: func(e *Event, of string) string {
			return e.functionWords() + " has returned" + nthTime(e.Threshold) + e.inThread() + of
		},
	}
)

// Call and Return default to the main executable where Function in a Profile
// defaults to all images: an event on the first "init" of any library would
// fire in the loader, long before what its author means.
var functionEventAttrs = []attribute{
	{name: "name", kind: textValue, required: true,
		doc: "the function: demangled without parameters, or as linked; may hold * for any characters"},
	{name: "imageName", kind: textValue, doc: "the file name of the function's image; excludes imagePath"},
	{name: "imagePath", kind: textValue, doc: "the full path of the function's image; excludes imageName"},
	{name: "decorated", kind: boolValue, doc: "true: name is the symbol as linked and nothing else"},
	eventProcess, eventThread,
	{name: "threshold", kind: countValue,
		doc: "the occurrence at which the event fires, counted over all threads and from 1 again at each reopening; absent or 0: the first. Excludes thread"},
}

// decodeFunctionEvent decodes what Call and Return add. A threshold counts over all
// threads, so together with a thread it has no meaning that both halves of the
// sentence agree on; the published profiler refused it too.
func decodeFunctionEvent(d *decoder, n *node, e *Event, _ bool) {
	e.Name, e.Decorated = n.text("name"), n.flag("decorated")
	e.ImageName, e.ImagePath = n.text("imageName"), n.text("imagePath")
	if got := n.given("imageName", "imagePath"); len(got) > 1 {
		d.rule(got[1].Pos, fmt.Sprintf("%s gives %s besides %s", n.name, got[1].name, got[0].name), "at most one of imageName and imagePath can be given")
	}
	// Neither is right as well, and means the main executable. That is the default of
	// the published profiler, which old files rely on.
	d.imageNames(n, "imageName", "imagePath")
	d.functionName(n)
	if e.Threshold > 0 && e.Thread > 0 {
		d.rule(n.get("threshold").Pos, fmt.Sprintf("%s gives both threshold and thread", n.name),
			"a threshold counts over all threads: keep one of them")
	}
}

// functionImage is the image that holds the function; naming none means the main executable.
func functionImage(e *Event) (path, name string, given bool) {
	return e.ImagePath, e.ImageName, e.ImagePath != "" || e.ImageName != ""
}

// functionName warns of a name with its parameters: names are compared without.
func (d *decoder) functionName(n *node) {
	a := n.get("name")
	if a == nil || n.flag("decorated") || !strings.HasSuffix(a.value, ")") {
		return
	}
	// The last parenthesis: what stands before it may hold others, of function types
	// among template arguments.
	open := strings.LastIndexByte(a.value, '(')
	// operator() and (anonymous namespace) are names, not parameters.
	if open <= 0 || strings.HasSuffix(a.value[:open], "operator") || strings.HasSuffix(a.value, "(anonymous namespace)") {
		return
	}
	d.warn(a.Pos, fmt.Sprintf("name=%q can match no function: names are compared without parameters", short(a.value)),
		fmt.Sprintf("write %q", short(a.value[:open])))
}

// functionWords names the function with its image. The main executable is named
// although it is the default: that an event without image means it, and not all
// images, is the mistake to expect.
func (e *Event) functionWords() string {
	where := "the main executable"
	if image := e.ImageName + e.ImagePath; image != "" {
		where = image
	}
	return fmt.Sprintf("%s%s of %s", ifText(e.Decorated, "the symbol "), e.Name, where)
}

// The event on an instruction by its address.
var addressSpec = eventSpec{kind: EventAddress, traits: Occurs | AtCode,
	element: element{name: "Address",
		doc: "Fires when the instruction at an address is about to execute; works in stripped binaries. Give image " +
			"and offset, or value.",
		attrs: []attribute{
			{name: "image", kind: textValue, doc: "the image's file name, or its full path"},
			{name: "offset", kind: numberValue, doc: "the address as in the image's file, before the loader moved it"},
			{name: "value", kind: numberValue, doc: "the address in the running process"},
			eventProcess, eventThreshold,
		}},
	decode: decodeAddress,
	// "About to": what the window records begins or ends before that instruction.
	words: func(e *Event, of string) string {
		where := "address " + hex(e.Value)
		if e.Image != "" {
			where = e.addressWords()
		}
		return "the instruction at " + where + " is about to execute" + nthTime(e.Threshold) + of
	},
	// One attribute for both: a file name cannot hold a slash.
	image: func(e *Event) (path, name string, given bool) { return e.Image, e.Image, true },
	number: func(e *Event) string {
		if e.HasValue {
			return hex(e.Value)
		}
		return e.addressWords()
	},
}

// addressWords is an address in an image.
func (e *Event) addressWords() string { return fmt.Sprintf("%s+%s", e.Image, hex(e.Offset)) }

// decodeAddress decodes the two ways to name an address. Presence decides here,
// because 0 is a possible offset and value.
func decodeAddress(d *decoder, n *node, e *Event, _ bool) {
	e.Image = n.text("image")
	e.Value, e.HasValue = n.number("value")
	e.Offset, _ = n.number("offset")
	image, offset, value := n.get("image"), n.get("offset"), n.get("value")
	// Five messages rather than one, since the attribute to remove or add is a
	// different one each time and is what gets the place.
	const right = "image and offset are given, or value alone"
	switch {
	case value != nil && image != nil:
		d.rule(image.Pos, "Address gives image besides value", right)
	case value != nil && offset != nil:
		d.rule(offset.Pos, "Address gives offset besides value", right)
	case value == nil && image == nil && offset == nil:
		d.rule(n.Pos, "Address gives no address", right)
	case value == nil && image == nil:
		d.rule(n.Pos, "Address gives offset but no image", right)
	case value == nil && offset == nil:
		d.rule(n.Pos, "Address gives image but no offset", right)
	}
}

// The events on images that are mapped and unmapped.
var (
	loadSpec = eventSpec{kind: EventLoad, traits: OfImage, decode: decodeImage, image: ownImage,
		element: element{name: "Load", attrs: imageEventAttrs,
			doc: "Fires when the image is mapped. Exactly one of path and name is given."},
		// Of name and path one is always empty, which saves asking for the other.
		words: func(e *Event, of string) string { return "the image " + e.Name + e.Path + " is loaded" + of },
	}
	unloadSpec = eventSpec{kind: EventUnload, traits: OfImage, decode: decodeImage, image: ownImage,
		element: element{name: "Unload", attrs: imageEventAttrs,
			doc: "Fires when the image is unmapped. Exactly one of path and name is given."},
		words: func(e *Event, of string) string { return "the image " + e.Name + e.Path + " is unloaded" + of },
	}
)

// Load and Unload take one of path and name; that they exclude each other is a
// rule of the decoder, since no schema language of this age can say it.
var imageEventAttrs = []attribute{
	{name: "path", kind: textValue, doc: "the full path of the image"},
	{name: "name", kind: textValue, doc: "the file name of the image"},
	eventProcess,
}

// decodeImage takes one of name and path. Not both: they could contradict each other, and an
// image that has the name but not the path would be neither right nor wrong.
func decodeImage(d *decoder, n *node, e *Event, _ bool) {
	e.Name, e.Path = n.text("name"), n.text("path")
	d.exactlyOne(n, "path", "name")
	d.imageNames(n, "name", "path")
}

// ownImage is the image that comes or goes.
func ownImage(e *Event) (path, name string, given bool) { return e.Path, e.Name, true }

// imageNames warns of names and paths that no image can have.
func (d *decoder) imageNames(n *node, name, path string) {
	// Warnings: on Linux a file name may hold a *, and the file may be meant for a run
	// under another root.
	if a := n.get(name); a != nil {
		switch {
		case strings.Contains(a.value, "/"):
			d.warn(a.Pos, fmt.Sprintf("%s=%q can match no image: a file name holds no slash", name, short(a.value)), "use "+path)
		case strings.Contains(a.value, "*"):
			d.warn(a.Pos, fmt.Sprintf("the * in %s=%q is taken literally", name, short(a.value)), "only function names have wildcards")
		}
	}
	if a := n.get(path); a != nil && a.value != "" && !strings.HasPrefix(a.value, "/") {
		d.warn(a.Pos, fmt.Sprintf("%s=%q can match no image: a full path begins with a slash", path, short(a.value)), "use "+name+", or the full path")
	}
}
