package config

// Attributes that many events share, said once so that their documentation
// cannot drift apart.
var (
	eventProcess = attribute{name: "process", kind: ordinalValue,
		doc: "the number of the process, in creation order, whose doings count; they then reach the windows of all " +
			"processes. Absent or 0: each process by itself"}
	eventThread = attribute{name: "thread", kind: ordinalValue,
		doc: "the number of the thread, in creation order within its process; absent or 0: any"}
	eventAnyThread = attribute{name: "anyThread", kind: boolValue,
		doc: "true: some single thread reached the count; otherwise, with no thread given, all threads together"}
	eventThreshold = attribute{name: "threshold", kind: countValue,
		doc: "fires on that many-th time over all threads; absent or 0: on the first"}
	eventSince = attribute{name: "since", kind: enumValue, values: []string{"start", "open"},
		doc: "what is counted from: start, the process's first instruction (also after a reopening), or open, the " +
			"opening of this window; absent: start"}
)

// eventElements is everything that may stand in On and Till. The rows without
// "process" in the published profiler's tables are kept without it here: giving
// every event every attribute would make the table shorter and let through what
// nobody could run.
//
// Thresholds come in two kinds. Where a count is the event (Instructions, Time)
// it is required and above 0; where it says on which occurrence the event fires
// (Call, Return, Syscall, Address) it may be left out, and 0 is the same as
// that, because old files write it so.
//
// What the published profiler did not have: Syscall, Address, Signal, Exec,
// Fork, Sample, and the attribute since.
var eventElements = []element{
	{name: "All", event: true, groups: []group{{eventNames, 1, 0}},
		doc: "Fires once each of the events inside has fired, in any order. All and One nest freely."},
	{name: "One", event: true, groups: []group{{eventNames, 1, 0}},
		doc: "Fires as soon as one of the events inside fires. All and One nest freely."},
	{name: "Creation", event: true, doc: "Fires when a thread of the process starts.", attrs: threadEventAttrs},
	{name: "Termination", event: true, doc: "Fires when a thread of the process ends.", attrs: threadEventAttrs},
	{name: "Load", event: true, doc: "Fires when the image is mapped. Exactly one of path and name is given.", attrs: imageEventAttrs},
	{name: "Unload", event: true, doc: "Fires when the image is unmapped. Exactly one of path and name is given.", attrs: imageEventAttrs},
	{name: "Call", event: true, attrs: functionEventAttrs,
		doc: "Fires when the function is entered: by a call, or by a jump from outside it. What a window opened by it " +
			"records begins with the function's first instruction. Without imageName and imagePath the main " +
			"executable is meant."},
	{name: "Return", event: true, attrs: functionEventAttrs,
		doc: "Fires when the function has returned: its ret has executed with the stack pointer of an entry. Leaving " +
			"by longjmp, an exception or exit is no return. Without imageName and imagePath the main executable is meant."},
	// No thread attribute: how many there are is a fact about a process.
	{name: "Threads", event: true,
		doc: "Fires when the number of live threads satisfies the bounds, checked whenever a thread starts or ends. At " +
			"least one bound is given.",
		attrs: []attribute{
			{name: "smallerEqual", kind: countValue, doc: "at most that many live threads"},
			{name: "largerEqual", kind: countValue, doc: "at least that many live threads"},
			eventProcess,
		}},
	{name: "Accesses", event: true,
		doc: "Fires when that many memory accesses have executed: total, or reads and writes, both bounds where both " +
			"are given.",
		attrs: []attribute{
			{name: "total", kind: countValue, doc: "reads and writes together; excludes reads and writes"},
			{name: "reads", kind: countValue, doc: "that many reads"},
			{name: "writes", kind: countValue, doc: "that many writes"},
			eventProcess, eventThread, eventAnyThread, eventSince,
		}},
	{name: "Instructions", event: true,
		doc: "Fires when that many instructions have executed: the window opens or closes before the one after the last " +
			"counted.",
		attrs: []attribute{
			{name: "threshold", kind: count1Value, required: true, doc: "how many instructions"},
			eventProcess, eventThread, eventAnyThread, eventSince,
		}},
	{name: "Time", event: true, doc: "Fires that long after the process's first instruction.",
		attrs: []attribute{
			{name: "threshold", kind: timeValue, required: true, doc: "how long, in milliseconds unless a unit is given"},
			eventProcess, eventThread,
		}},
	{name: "Syscall", event: true, doc: "Fires when the system call is entered. Exactly one of name and number is given.",
		attrs: []attribute{
			{name: "name", kind: textValue, doc: "the name of the system call, such as openat"},
			{name: "number", kind: numberValue, doc: "its number on x86-64"},
			eventProcess, eventThread, eventThreshold,
		}},
	{name: "Address", event: true,
		doc: "Fires when the instruction at an address is about to execute; works in stripped binaries. Given are image " +
			"and offset, or value.",
		attrs: []attribute{
			{name: "image", kind: textValue, doc: "the image's file name, or its full path"},
			{name: "offset", kind: numberValue, doc: "the address as in the image's file, before loading moved it"},
			{name: "value", kind: numberValue, doc: "the address in the running process"},
			eventThreshold,
		}},
	{name: "Signal", event: true, doc: "Fires when a signal is delivered.",
		attrs: []attribute{{name: "number", kind: ordinalValue, doc: "the number of the signal; absent or 0: any"}, eventProcess}},
	{name: "Exec", event: true, doc: "Fires when the process executes another program.",
		attrs: []attribute{{name: "number", kind: ordinalValue, doc: "which time it does so, from 1; absent or 0: any"}, eventProcess}},
	{name: "Fork", event: true, doc: "Fires when the process creates a child process.",
		attrs: []attribute{{name: "number", kind: ordinalValue, doc: "which time it does so, from 1; absent or 0: any"}, eventProcess}},
	// Not marked as an event, which would let it stand in Till and All: it says when
	// to open and when to close in one.
	{name: "Sample",
		doc: "Bursty sampling, in On only and alone there: the window reopens every period and closes itself after burst.",
		attrs: []attribute{
			{name: "period", kind: count1Value, required: true, doc: "instructions from one opening to the next"},
			{name: "burst", kind: count1Value, required: true, doc: "instructions recorded after each opening; less than period"},
		}},
}

// The attributes of the events that come in pairs.
//
// Creation and Termination are the only events that must name a process: "some
// thread of this very process starts" would fire with its first instruction.
var threadEventAttrs = []attribute{
	{name: "process", kind: ordinal1Value, required: true, doc: "the number of the process, in creation order from 1"},
	eventThread,
}

// Load and Unload take one of path and name; that they exclude each other is a
// rule of the decoder, since no schema language of this age can say it.
var imageEventAttrs = []attribute{
	{name: "path", kind: textValue, doc: "the full path of the image"},
	{name: "name", kind: textValue, doc: "the file name of the image"},
	eventProcess,
}

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
		doc: "fires on that many-th time over all threads, counted anew at each reopening; absent or 0: on the first. Excludes thread"},
}
