package abp

import "alleria/abp/internal/wire"

// Rows of what happened during the recording, as rows.go has those of what there
// was: one function that writes the fields and one that reads them in the same
// order, side by side, because that is how a mistake in one of them shows. A
// description of fields interpreted by one function for all was refused: these
// rows are few, and each field's width is seen where it is written.

// Append appends the row to a WINDOWS section's payload.
func (r *WindowDef) Append(dst []byte) []byte {
	return appendRow(dst, rowWindowDef, func(e *wire.Encoder) {
		e.U32(r.Index)
		e.Str(r.Name)
		e.Str(r.Description)
	})
}

func (r *WindowDef) decode(d *wire.Decoder) {
	r.Index = d.U32()
	r.Name = d.Str()
	r.Description = d.Str()
}

// Append appends the row to a WINDOWS section's payload.
func (r *WindowEvent) Append(dst []byte) []byte {
	return appendRow(dst, rowWindowEvent, func(e *wire.Encoder) {
		e.U32(r.Window)
		e.Bool(r.Opened)
		e.Str(r.Reason)
		e.U64(r.TSC)
		e.U32(r.Thread)
		// The last fields are of one width: the list here and the one in decode are
		// to be compared by eye.
		for _, v := range [...]uint64{r.Addr, r.Instructions, r.Loads, r.Stores, r.Overshoot, r.Caller} {
			e.U64(v)
		}
	})
}

func (r *WindowEvent) decode(d *wire.Decoder) {
	r.Window = d.U32()
	r.Opened = d.Bool()
	r.Reason = d.Str()
	r.TSC = d.U64()
	r.Thread = d.U32()
	for _, p := range [...]*uint64{&r.Addr, &r.Instructions, &r.Loads, &r.Stores, &r.Overshoot} {
		*p = d.U64()
	}
	if len(d.B) > 0 { // since 1.12
		r.Caller = d.U64()
	}
}

// Append appends the row to a SYSCALLS section's payload.
func (r *Syscall) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Thread)
		e.U32(r.Number)
		e.U64(r.Ordinal)
		e.U64(r.TSC)
		e.U64(r.EndTSC)
		for _, a := range r.Args { // always six: what a call uses is known from its number
			e.U64(a)
		}
		// As the register has it, two's complement; Errno is derived and written
		// all the same, for readers that do not know the kernel's range of errors.
		e.U64(uint64(r.Result))
		e.U32(uint32(r.Errno))
		e.U32(uint32(r.Place))
	})
}

func (r *Syscall) decode(d *wire.Decoder) {
	r.Thread = d.U32()
	r.Number = d.U32()
	r.Ordinal = d.U64()
	r.TSC = d.U64()
	r.EndTSC = d.U64()
	for i := range r.Args {
		r.Args[i] = d.U64()
	}
	r.Result = int64(d.U64())
	r.Errno = int32(d.U32())
	if len(d.B) > 0 { // since 1.8
		r.Place = CallPlace(d.U32())
	}
}

// Append appends the row to a SIGNALS section's payload.
func (r *Signal) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U32(r.Thread)
		e.U32(r.Number)
		e.U64(r.Ordinal)
		e.U64(r.TSC)
		e.U32(uint32(r.Code))
		e.U32(r.Sender)
		e.U64(r.Addr)
		e.U64(r.IP)
	})
}

func (r *Signal) decode(d *wire.Decoder) {
	r.Thread = d.U32()
	r.Number = d.U32()
	r.Ordinal = d.U64()
	r.TSC = d.U64()
	r.Code = int32(d.U32())
	r.Sender = d.U32()
	r.Addr = d.U64()
	r.IP = d.U64()
}

// Append appends the row to an LLW section's payload.
func (r *Snapshot) Append(dst []byte) []byte {
	kind := uint16(rowPlain)
	if r.Change {
		kind = rowChange
	}
	return appendRow(dst, kind, func(e *wire.Encoder) {
		e.U64(r.TSC)
		e.Str(r.Reason)
		e.U32(uint32(len(r.Regions)))
		for i := range r.Regions {
			g := &r.Regions[i]
			e.U64(g.Start)
			e.U64(g.End)
			e.U32(g.Prot)
			// Narrow fields lie unaligned among wide ones: rows are read field by
			// field, never mapped.
			e.Bool(g.Shared)
			e.U8(g.Kind)
			e.U64(g.Offset)
			e.Str(g.Label)
			e.U64(g.Resident)
		}
		// Behind all of them: what is in front has been there before.
		for i := range r.Regions {
			e.U64(r.Regions[i].Device)
			e.U64(r.Regions[i].Inode)
		}
		for i := range r.Regions {
			e.U64(r.Regions[i].By)
		}
	})
}

func (r *Snapshot) decode(d *wire.Decoder) {
	r.TSC = d.U64()
	r.Reason = d.Str()
	r.Regions = nil
	for range d.Count(42) { // a region without a label has 42 bytes
		r.Regions = append(r.Regions, Region{
			Start: d.U64(), End: d.U64(), Prot: d.U32(), Shared: d.Bool(), Kind: d.U8(),
			Offset: d.U64(), Label: d.Str(), Resident: d.U64(),
		})
	}
	if len(d.B) > 0 { // since 1.14
		for i := range r.Regions {
			r.Regions[i].Device, r.Regions[i].Inode = d.U64(), d.U64()
		}
	}
	if len(d.B) > 0 { // since 1.16
		for i := range r.Regions {
			r.Regions[i].By = d.U64()
		}
	}
}

// Append appends the row to a QUERIES section's payload.
func (r *QueryMessage) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.Str(r.Query)
		e.Str(r.Text)
		// Signed values go as two's complement.
		e.U64(uint64(r.Value))
		e.U64(r.TSC)
		e.U32(r.Thread)
	})
}

func (r *QueryMessage) decode(d *wire.Decoder) {
	r.Query = d.Str()
	r.Text = d.Str()
	r.Value = int64(d.U64())
	r.TSC = d.U64()
	r.Thread = d.U32()
}

// Append appends the row to an END section's payload.
func (r *EndInfo) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wire.Encoder) {
		e.U64(uint64(r.Ended))
		e.U64(r.EndTSC)
		encodeCounts(e, r.Counts)
		e.U64(r.LowestAddr)
		e.U64(r.HighestAddr)
		e.Str(r.Reason)
	})
}

func (r *EndInfo) decode(d *wire.Decoder) {
	r.Ended = int64(d.U64())
	r.EndTSC = d.U64()
	decodeCounts(d, &r.Counts)
	r.LowestAddr = d.U64()
	r.HighestAddr = d.U64()
	r.Reason = d.Str()
}

// encodeCounts writes totals, in the order of the fields of a frame's header too.
func encodeCounts(e *wire.Encoder, c Counts) {
	for _, v := range [...]uint64{c.Instructions, c.MemInstructions, c.Loads, c.Stores, c.BytesRead, c.BytesWritten} {
		e.U64(v)
	}
}

// decodeCounts reads what encodeCounts wrote.
func decodeCounts(d *wire.Decoder, c *Counts) {
	for _, p := range [...]*uint64{&c.Instructions, &c.MemInstructions, &c.Loads, &c.Stores, &c.BytesRead, &c.BytesWritten} {
		*p = d.U64()
	}
}
