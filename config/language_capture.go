package config

// captureMaxBytesDoc documents the bound that stands on Pointer and Intercept.
const captureMaxBytesDoc = "the most bytes to capture, "

// captureElements is interceptors and the types that they use.
//
// A type is named, never written in place: C's declarators inside XML attributes
// would need a parser of their own, and the same few types serve many functions.
// Types and Pointers may refer to each other in any order, unlike in the
// published profiler, which had no way to describe a linked list.
//
// How long a pointer's target is can be said in five ways, one attribute each,
// of which exactly one is given. The two that name another pointer need endValid
// and no direction (the other pointer tells); the others need a direction.
var captureElements = []element{
	{name: "Types", doc: "The types that interceptors use besides the built-in ones, in any order.",
		groups: []group{{[]string{"Type", "Pointer"}, 0, 0}}},
	{name: "Type", unique: []string{"name"}, doc: "A record: its fields in order, aligned as C does on the platform.",
		attrs: []attribute{
			{name: "name", kind: textValue, required: true, doc: "the name of the type, unique among all types"},
			{name: "packed", kind: boolValue, doc: "true: no padding between fields or at the end"},
			{name: "size", kind: count1Value, doc: "the size in bytes, where it is more than the fields need"},
		},
		groups: []group{{[]string{"Field"}, 1, 0}}},
	{name: "Field", unique: []string{"name"}, doc: "One field of a record.",
		attrs: []attribute{
			{name: "name", kind: textValue, required: true, doc: "the name of the field, unique in its Type"},
			{name: "type", kind: textValue, required: true, doc: "a built-in type, or the name of a Type or Pointer"},
			{name: "offset", kind: numberValue, doc: "its offset in the record, in bytes; absent: it follows the field before it"},
		}},
	{name: "Pointer", unique: []string{"name"},
		doc: "A pointer to elements of one type. Exactly one of count, sentinel, countVariable, endVariable and " +
			"startVariable says how many.",
		attrs: []attribute{
			{name: "name", kind: textValue, required: true, doc: "the name of the type, unique among all types"},
			{name: "elementType", kind: textValue, required: true, doc: "what it points at: a built-in type, a Type or a Pointer"},
			{name: "direction", kind: enumValue, values: []string{"inc", "dec"},
				doc: "inc: it holds the lowest address; dec: the highest. Needed unless there is only one element, or another pointer delimits the elements"},
			{name: "count", kind: count1Value, doc: "how many elements"},
			// Any of the spellings of a number: 0 for strings, -1 for arrays of
			// descriptors, 0xffffffff for the same.
			{name: "sentinel", kind: signedValue, doc: "elements up to and including the first of this value; needs a built-in element type"},
			{name: "countVariable", kind: textValue,
				doc: "the Parameter of the same Intercept, or Field of the same Type, that holds the number of elements"},
			{name: "endVariable", kind: textValue, doc: "the Parameter or Field that holds the end; needs endValid"},
			{name: "startVariable", kind: textValue,
				doc: "the Parameter or Field that holds the start, this pointer being the end; needs endValid"},
			{name: "endValid", kind: boolValue, doc: "true: the end is the last element; false: one past it"},
			{name: "maxBytes", kind: count1Value, doc: captureMaxBytesDoc + "65536 if absent"},
		}},
	{name: "Intercept",
		doc: "Captures arguments at entry and results at return of each call of the function.",
		attrs: []attribute{
			{name: "retType", kind: textValue, doc: "the type of the result; absent: it is not captured"},
			{name: "maxBytes", kind: count1Value, doc: captureMaxBytesDoc + "for one call, 1048576 if absent"},
			{name: "auto", kind: boolValue, doc: "true: parameters and types are taken from debug information, or from what is known of the C library; " +
				"what is given here takes precedence"},
			{name: "depth", kind: ordinalValue, doc: "with auto: how many levels of pointers are followed, 2 if absent"},
			{name: "fail", kind: textValue, doc: "the error, such as ENOMEM, with which calls return at once instead of being executed; needs --allow-modify"},
			{name: "probability", kind: rateValue, doc: "the probability that a call fails; absent: each one does. Of the following, auto is refused"},
			{name: "seed", kind: count1Value, doc: "the seed of the random choices, 1 if absent: the same seed changes the same calls"},
		},
		groups: []group{{[]string{"Parameter"}, 0, 0}, {[]string{"Result"}, 0, 1}}},
	{name: "Result", doc: "Changes the function's result. It needs --allow-modify.",
		attrs: []attribute{
			{name: "set", kind: textValue, required: true, doc: "what it becomes: a value, one of several values separated by commas, or bitflip, boundary or random"},
			{name: "probability", kind: rateValue, doc: "the probability that it is changed; absent: it always is. Of the following, auto is refused"},
		}},
	{name: "Parameter", unique: []string{"name"},
		doc: "One argument of the function; those of no interest can be left out. At least one of in and out is true.",
		attrs: []attribute{
			{name: "name", kind: textValue, doc: "the name by which Pointer types and reports refer to it, unique in its Intercept"},
			// From 0, unlike processes and threads: it is a position in C's and the
			// debugger's sense, and the published profiler's.
			{name: "index", kind: ordinalValue, required: true, doc: "its position in the function's signature, from 0"},
			{name: "type", kind: textValue, required: true, doc: "a built-in type, or the name of a Type or Pointer"},
			{name: "in", kind: boolValue, doc: "capture it at entry"},
			{name: "out", kind: boolValue, doc: "capture it at return"},
			{name: "set", kind: textValue, doc: "changes it when the function is entered: a value, one of several values separated by commas, or bitflip, boundary or random; " +
				"for a Pointer, these three change what it points to, at entry with in and at return with out. It needs --allow-modify"},
			{name: "probability", kind: rateValue, doc: "the probability that it is changed; absent: it always is. Of the following, auto is refused"},
		}},
}
