package config

// profileElements is what is recorded: the tree of selections in Profile, from
// the outside in. Each level narrows down the one above it, and at each level
// the most specific selection holds alone; nothing is inherited from a more
// general one beside it.
//
// An element without content excludes what it selects: a Process without
// Thread, an Image without Function, a Function without Instruction and
// Intercept. Thread is the exception that the published profiler made, and must
// hold an Image.
//
// The unique lists are only what XSD 1.0 can express: an absent attribute is a
// selector too (the general one), and a schema cannot count those.
var profileElements = []element{
	{name: "Profile", doc: "What is recorded while the window is open.",
		attrs: []attribute{
			{name: "sampleRate", kind: rateValue,
				doc: "the part of all instructions that is recorded, in bursts; the same in all windows; absent: all of them"},
		},
		groups: []group{{[]string{"Process"}, 1, 0}}},
	{name: "Process", unique: []string{"n"},
		doc: "Selects processes: by number, or by all of the other attributes that are given; without any of them, every other process. " +
			"The other attributes are compared again after each program that the process executes. A process that no Process " +
			"matches is not followed: it runs untraced, and what it creates has no number. An empty Process follows and numbers " +
			"the process and its children but records nothing. The most specific wins: n, path, name, argument, under, depth, none; " +
			"a text before one with *, then the longer text, the nearer ancestor, the smaller range of generations, the first in the file.",
		attrs: []attribute{
			{name: "n", kind: ordinalValue, doc: "the number of the process in creation order, from 1; absent or 0: every other one"},
			{name: "name", kind: textValue, doc: "the file name of the program that it executes; may hold *"},
			{name: "path", kind: textValue, doc: "the full path of the program that it executes"},
			{name: "argument", kind: textValue, doc: "one of its arguments, not counting the program's own name; may hold *"},
			{name: "depth", kind: depthValue, doc: "how many generations it is below the first process, which is 0"},
			{name: "under", kind: ordinal1Value, doc: "the number of a process that it descends from"},
			{name: "follow", kind: enumValue, values: []string{"all", "exec", "none"},
				doc: "what else is followed: all (the default), what it creates and what it executes; exec, only what it executes; none, neither"},
		},
		groups: []group{{[]string{"Thread"}, 0, 0}}},
	{name: "Thread", unique: []string{"n"}, doc: "Selects threads of the process.",
		attrs: []attribute{
			{name: "n", kind: ordinalValue, doc: "the number of the thread in creation order, from 1; absent or 0: every other one"},
			{name: "syscalls", kind: boolValue, doc: "record the system calls of the thread"},
			{name: "signals", kind: boolValue, doc: "record the signals of the thread"},
		},
		groups: []group{{[]string{"Image"}, 1, 0}}},
	{name: "Image", unique: []string{"name", "path"},
		doc: "Selects code by the file it comes from. With none of the attributes: all code, including code in no image. The " +
			"most specific wins: path, name, main, anyButSys, none. An Image without a Function is excluded.",
		attrs: []attribute{
			{name: "name", kind: textValue, doc: "the file name of the image"},
			{name: "path", kind: textValue, doc: "the full path of the image"},
			{name: "main", kind: boolValue, doc: "the main executable"},
			{name: "anyButSys", kind: boolValue,
				doc: "every image that is not the system's: not under the loader's default library directories, not the vdso"},
		},
		groups: []group{{[]string{"Function"}, 0, 0}}},
	{name: "Function",
		doc: "Selects functions of the image. Without a name: all, and code in no function. The most specific wins: " +
			"decorated, demangled, none; exact before *, then one with a type before one without, then the longer literal part. A Function with neither " +
			"Instruction nor Intercept is excluded.",
		attrs: []attribute{
			{name: "name", kind: textValue,
				doc: "the function: demangled without parameters, as linked, or image+0xOFFSET where nothing names it; may hold *"},
			{name: "decorated", kind: boolValue, doc: "true: name is the symbol as linked and nothing else"},
			{name: "type", kind: textValue,
				doc: "only those with a parameter of this type, as C or C++ spells it, such as struct foo *; debug information says which they are"},
		},
		// The published profiler took them in any order; so old files may have the
		// Intercept first.
		groups: []group{{[]string{"Instruction"}, 0, 0}, {[]string{"Intercept"}, 0, 1}, {[]string{"Instruction"}, 0, 0}}},
	{name: "Instruction", unique: []string{"form", "class", "isa", "ext", "cat"},
		doc: "Selects instructions by exactly one of form, class, isa, ext and cat, with names as in Intel XED's tables, and " +
			"says what to record of each besides its address. The most specific wins, in that order.",
		attrs: []attribute{
			// The selectors are free text to the parser: XED's names change with
			// every processor generation, and a file must not become wrong by it.
			{name: "form", kind: textValue, doc: "the form, class and operands, such as ADD_GPRv_MEMv"},
			{name: "class", kind: textValue, doc: "the XED iclass (mnemonic), such as MOV"},
			{name: "isa", kind: textValue, doc: "the XED ISA set, such as AVX2"},
			{name: "ext", kind: textValue, doc: "the XED extension, such as SSE2"},
			{name: "cat", kind: textValue,
				doc: "the XED category, such as COND_BR; anyMem: all instructions that read or write memory; any: all instructions"},
			// From here on, what is recorded. All are off unless given, so that an
			// Instruction alone records where execution went and nothing else.
			{name: "timeStamp", kind: boolValue, doc: "record when it executed"},
			{name: "routineId", kind: boolValue, doc: "record the function it belongs to"},
			{name: "accessAddressAndSize", kind: boolValue,
				doc: "record address, size and direction of every access, including implicit ones"},
			{name: "accessValue", kind: boolValue,
				doc: "record the bytes read or written; implies accessAddressAndSize"},
			{name: "branch", kind: boolValue, doc: "record whether a branch was taken, and where to"},
			{name: "registers", kind: registersValue, doc: "a comma-separated list of registers to record before the instruction"},
			{name: "sample", kind: sampleValue, doc: "1/N: keep one in N at random"},
		}},
}
