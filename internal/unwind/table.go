package unwind

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// Registers of the processor by DWARF's numbers, which are not those of instructions.
const (
	BX    = 3
	BP    = 6
	SP    = 7
	PC    = 16 // where a row says how the return address is found
	count = 17
)

// Table is what an image says of its functions' frames. Addresses are the image's own.
type Table struct {
	fdes frame.FrameDescriptionEntries
	rows map[uint64]*row
	// Sized is asked where the table has nothing: how much of the stack lies in front of the return address, at an instruction, and whether nobody has called its
	// function; ok: it is known. nil: nobody knows. Rows are kept, so it is set before the first question.
	Sized func(pc uint64) (size uint64, top, ok bool)
}

// New makes a table that has nothing.
func New() *Table { return &Table{rows: make(map[uint64]*row)} }

// row is how a function's caller is found from one of its instructions.
type row struct {
	cfa    frame.DWRule
	regs   []saved
	signal bool // the caller was interrupted, and has not called
	last   bool // there is no caller
}

// saved is where a register of the caller is.
type saved struct {
	reg  int
	rule frame.DWRule
}

// Parse reads .eh_frame, which lies at an address of the image. What it cannot read is an error: a table is whole or not used.
func Parse(section []byte, at uint64) (t *Table, err error) {
	defer func() { // the library panics at some of what is malformed
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("reading .eh_frame: %v", r)
		}
	}()
	fdes, err := frame.Parse(section, binary.LittleEndian, 0, 8, at)
	if err != nil {
		return nil, fmt.Errorf("reading .eh_frame: %w", err)
	}
	slices.SortStableFunc(fdes, func(a, b *frame.FrameDescriptionEntry) int {
		switch {
		case a.Begin() < b.Begin():
			return -1
		case a.Begin() > b.Begin():
			return 1
		}
		return 0
	})
	t = New()
	t.fdes = fdes
	return t, nil
}

// row returns how the caller is found at an address; nil: it is not known.
func (t *Table) row(pc uint64) *row {
	r, ok := t.rows[pc]
	if !ok {
		r = t.find(pc)
		t.rows[pc] = r
	}
	return r
}

// find works a row out.
func (t *Table) find(pc uint64) (r *row) {
	defer func() {
		if recover() != nil {
			r = nil
		}
	}()
	fde, err := t.fdes.FDEForPC(pc)
	if err != nil {
		return t.sized(pc)
	}
	c, err := fde.EstablishFrame(pc)
	if err != nil {
		return nil
	}
	r = &row{cfa: c.CFA, signal: strings.Contains(fde.CIE.Augmentation, "S")}
	for reg, rule := range c.Regs {
		switch {
		case reg == c.RetAddrReg:
			r.last = rule.Rule == frame.RuleUndefined
			r.regs = append(r.regs, saved{PC, rule})
		case reg < PC && rule.Rule != frame.RuleSameVal:
			r.regs = append(r.regs, saved{int(reg), rule})
		}
	}
	return r
}

// sized is a row of code whose frames are told by their sizes alone. The frame pointer is not followed.
func (t *Table) sized(pc uint64) *row {
	if t.Sized == nil {
		return nil
	}
	size, top, ok := t.Sized(pc)
	if !ok {
		return nil
	}
	return &row{last: top, cfa: frame.DWRule{Rule: frame.RuleCFA, Reg: SP, Offset: int64(size) + 8},
		regs: []saved{{PC, frame.DWRule{Rule: frame.RuleOffset, Offset: -8}}, {BP, frame.DWRule{Rule: frame.RuleUndefined}}}}
}
