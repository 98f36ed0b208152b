package abp

import (
	"cmp"
	"fmt"
	"slices"

	"alleria/abp/internal/wire"
)

// maxBlockID bounds block numbers, so that a damaged row cannot make the table
// of blocks arbitrarily large.
const maxBlockID = 1 << 24

// load reads the tables of the main profile. All at once, and before anything is
// asked: readers then need no lock, and a profile's tables are small beside its
// frames. A damaged table is an error, not a gap: what refers to it would be
// shown under wrong names.
//
// Rows may come in any order and in several sections of a type: the recorder writes them
// as things happen, and whatever was written last of a number holds.
func (p *Process) load() error {
	for i := range p.main.sections {
		s := &p.main.sections[i]
		add := p.table(s.Type, i)
		if add == nil {
			continue
		}
		payload, err := p.main.ReadSection(i, nil)
		if err != nil {
			return err
		}
		// eachRow knows of rows that are too short; whether a row makes sense is what
		// add says.
		var rowErr error
		err = eachRow(payload, func(kind uint16, d *wire.Decoder) {
			if err := add(kind, d); err != nil && rowErr == nil {
				rowErr = err
			}
		})
		if err != nil {
			return fmt.Errorf("%s section at offset %d: %w: %w", s.Type, s.Offset, ErrCorrupt, err)
		}
		if rowErr != nil {
			return fmt.Errorf("%s section at offset %d: %w", s.Type, s.Offset, rowErr)
		}
	}
	// In the order of time, for EachWindowEvent.
	slices.SortStableFunc(p.windowSections, func(a, b windowSection) int { return cmp.Compare(a.first, b.first) })
	p.images = lastOf(p.images, func(r *Image) uint32 { return r.Number })
	p.functions = lastOf(p.functions, func(r *Function) uint32 { return r.Number })
	p.family = lastOf(p.family, func(r *FamilyRow) uint32 { return r.Number })
	p.subs = lastOf(p.subs, func(r *SubProfile) uint32 { return r.Number })
	slices.SortStableFunc(p.sampling, func(a, b Sampling) int { return a.compare(&b) })
	// By thread, for the look-up by ordinal while entries are made.
	p.syscallsBy = map[uint32][]Syscall{}
	for _, s := range p.syscalls {
		p.syscallsBy[s.Thread] = append(p.syscallsBy[s.Thread], s)
	}
	for _, rows := range p.syscallsBy {
		slices.SortStableFunc(rows, func(a, b Syscall) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	}
	return p.indexFrames()
}

// table returns what takes a row of a section of that type, the nth of the file; nil if it
// is no table.
// Section types without rows here (INTERCEPTORS, TYPES, users') are for others to
// read.
func (p *Process) table(t SectionType, n int) func(kind uint16, d *wire.Decoder) error {
	switch t {
	case SectionBlocks:
		return p.addBlock
	case SectionWindows:
		return func(kind uint16, d *wire.Decoder) error { return p.addWindow(n, kind, d) }
	case SectionImages:
		return rowOf(&p.images, (*Image).decode)
	case SectionFunctions:
		return rowOf(&p.functions, (*Function).decode)
	case SectionProcessFamily:
		return rowOf(&p.family, (*FamilyRow).decode)
	case SectionCPUID:
		return rowOf(&p.cpuid, (*CPUIDLeaf).decode)
	case SectionSyscalls:
		return rowOf(&p.syscalls, (*Syscall).decode)
	case SectionSignals:
		return rowOf(&p.signals, (*Signal).decode)
	case SectionLLW:
		return p.addSnapshot
	case SectionQueries:
		return rowOf(&p.queries, (*QueryMessage).decode)
	case SectionSampling:
		return rowOf(&p.sampling, (*Sampling).decode)
	case SectionSubProfiles:
		return rowOf(&p.subs, (*SubProfile).decode)
	}
	return nil
}

// rowOf makes a function that decodes rows of one kind into a table.
// Rows of a kind that is not known are left out: a later version may add some.
func rowOf[T any](rows *[]T, decode func(*T, *wire.Decoder)) func(uint16, *wire.Decoder) error {
	return func(kind uint16, d *wire.Decoder) error {
		if kind != rowPlain {
			return nil
		}
		var r T
		decode(&r, d)
		*rows = append(*rows, r)
		return nil
	}
}

// addWindow sorts the two kinds of rows of WINDOWS, of which events are not kept.
// Other kinds are those of a later version.
func (p *Process) addWindow(section int, kind uint16, d *wire.Decoder) error {
	switch kind {
	case rowWindowDef:
		return rowOf(&p.defs, (*WindowDef).decode)(rowPlain, d)
	case rowWindowEvent:
		var e WindowEvent
		e.decode(d)
		p.noteWindowEvent(section, &e)
	}
	return nil
}

// addSnapshot adds a snapshot or a change.
func (p *Process) addSnapshot(kind uint16, d *wire.Decoder) error {
	switch kind {
	case rowPlain, rowChange:
		s := Snapshot{Change: kind == rowChange}
		s.decode(d)
		p.snapshots = append(p.snapshots, s)
	}
	return nil
}

// addBlock adds a block. Numbers are dense, hence a slice and no map.
// A number that comes twice is the later row's, as in all tables.
func (p *Process) addBlock(kind uint16, d *wire.Decoder) error {
	if kind == rowPacked {
		return p.addPacked(d)
	}
	if kind != rowPlain {
		return nil
	}
	b := new(Block)
	if err := b.decode(d); err != nil {
		return err
	}
	if b.ID >= maxBlockID {
		return fmt.Errorf("block %d: %w", b.ID, ErrCorrupt)
	}
	p.setBlock(b)
	return nil
}

// setBlock enters a block by its number.
func (p *Process) setBlock(b *Block) {
	if n := int(b.ID) + 1 - len(p.blocks); n > 0 {
		p.blocks = append(p.blocks, make([]*Block, n)...)
	}
	p.blocks[b.ID] = b
}

// lastOf orders rows by number and keeps the last that was written of each.
// The sort is stable, so that "last" is by place in the file.
func lastOf[T any](rows []T, key func(*T) uint32) []T {
	slices.SortStableFunc(rows, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
	out := rows[:0]
	for i := range rows {
		if i+1 < len(rows) && key(&rows[i]) == key(&rows[i+1]) {
			continue
		}
		out = append(out, rows[i])
	}
	return out
}
