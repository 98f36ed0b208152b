package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
)

// Settings is what translation depends on besides the code. Who changes what has been translated by forgets the translations.
type Settings struct {
	Switches
	Features
	Budgets
	Entries   EntryCounts // of functions, by the counting variant
	KeepFlags bool        // flags are recorded: they are right where they are dead, too
	Awaits    bool        // returns look whether they are awaited
}

// Switches turn optimisations off.
type Switches struct {
	NoFollow, NoHuge, NoSuper, Sizes, NoLazy, Predict, NoFastReturn, NoState, NoWideCompare, NoBehind, NoCallees, NoConditions, NoTargetLoad, PlainCounts bool
	FewAddresses                                                                                                                                          bool   // of plain accesses only how large they are, but for where calls and returns have their return addresses
	Buffering                                                                                                                                             uint64 // how producers and consumers of rings exchange words: layout.Buffer…
	ShortAfter                                                                                                                                            uint32 // how many blocks there are when superblocks become shorter
	AskPointers                                                                                                                                           bool   // the tracer looks at an x87 pointer that was not asked for, too
}

// Budgets is what blocks count.
type Budgets struct {
	Metrics        [codecache.NumMetrics]bool
	Budgeted       bool // any of them
	CountsAccesses bool // any that is of accesses
	Words          int  // that budgets are dealt out to
	lastWord       int  // the one that the last block uses
	// RecordedInOne: blocks that record count in the first word. Bursts then end where they are to, and ask once; an instruction recorded costs no more by it.
	RecordedInOne bool
}

// Features is what the processor has, of what instrumentation uses where it is there.
type Features struct {
	HasAVX, HasBMI2 bool
	HasAVX512       bool // with everything that copies masked operands
	HasVBMI2        bool
	States          func() []x86.State // the components of state areas, asked for when the first is recorded
	HasRTM          func() bool        // asked for at the first xbegin
}
