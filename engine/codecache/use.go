package codecache

import "alleria/internal/layout"

// Metric is something that threads do and that a client can count exactly, each
// thread against a budget of its own.
type Metric uint8

// The metrics. Accesses are reads and writes together.
const (
	MetricInstructions Metric = iota
	MetricAccesses
	MetricReads
	MetricWrites
	NumMetrics
)

// Use is how often instructions do what the metrics count.
type Use [NumMetrics]uint32

// Add adds another's, access k accesses.
func (n *Use) Add(o Use) {
	for m := range n {
		n[m] += o[m]
	}
}

// Access counts n accesses of a kind.
func (n *Use) Access(store bool, k uint32) {
	n[MetricAccesses] += k
	if store {
		n[MetricWrites] += k
	} else {
		n[MetricReads] += k
	}
}

// Shortage is which budgets a block has subtracted itself from before one of them
// did not suffice, and how much.
type Shortage struct {
	Word       int // that the block uses
	Use        Use
	Subtracted [NumMetrics]bool
}

// Copy is for the exits of one block: each asks with what had been subtracted by then.
func (s *Shortage) Copy() *Shortage {
	c := *s
	return &c
}

// OfInstructions tells whether nothing but instructions was subtracted, and no more than a block has: what is kept of it says no more.
func (s *Shortage) OfInstructions() bool {
	n := s.Use[MetricInstructions]
	return s.Subtracted == [NumMetrics]bool{MetricInstructions: true} && 0 < n && n <= MaxBlockInsns && s.Word < layout.BudgetWords
}

// needOf is the shortage of a block that has subtracted its instructions from a word.
func needOf(instructions, word uint8) *Shortage {
	return &Shortage{Word: int(word), Use: Use{MetricInstructions: uint32(instructions)}, Subtracted: [NumMetrics]bool{MetricInstructions: true}}
}

// BudgetOff is where word w of a metric's budget lies in a slot.
//
// A budget is dealt out to words, of which each block uses one, in turn: a block's
// subtraction waits for the last one from the same word. A word holds one less than its
// share, so that a block which would use the budget up asks, and is left behind the very
// instruction that does, though others follow that access nothing: the client hears of it
// before the next block is entered and counted. With no share below zero, a block that its own
// word suffices for is one that the budget suffices for.
func BudgetOff(m Metric, w int) int {
	return layout.Budgets + 8*(int(m)*layout.BudgetWords+w)
}
