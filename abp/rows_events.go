package abp

// Rows of what happened during the recording, as rows.go has those of what there
// was: one function that writes the fields and one that reads them in the same
// order, side by side, because that is how a mistake in one of them shows. A
// description of fields interpreted by one function for all was refused: these
// rows are few, and each field's width is seen where it is written.

// Append appends the row to a WINDOWS section's payload.
func (r *WindowDef) Append(dst []byte) []byte {
	return appendRow(dst, rowWindowDef, func(e *wireEnc) {
		e.u32(r.Index)
		e.str(r.Name)
		e.str(r.Description)
	})
}

func (r *WindowDef) decode(d *wireDec) {
	r.Index = d.u32()
	r.Name = d.str()
	r.Description = d.str()
}

// Append appends the row to a WINDOWS section's payload.
func (r *WindowEvent) Append(dst []byte) []byte {
	return appendRow(dst, rowWindowEvent, func(e *wireEnc) {
		e.u32(r.Window)
		e.bool(r.Opened)
		e.str(r.Reason)
		e.u64(r.TSC)
		e.u32(r.Thread)
		// The last fields are of one width: the list here and the one in decode are
		// to be compared by eye.
		for _, v := range [...]uint64{r.Addr, r.Instructions, r.Loads, r.Stores, r.Overshoot} {
			e.u64(v)
		}
	})
}

func (r *WindowEvent) decode(d *wireDec) {
	r.Window = d.u32()
	r.Opened = d.bool()
	r.Reason = d.str()
	r.TSC = d.u64()
	r.Thread = d.u32()
	for _, p := range [...]*uint64{&r.Addr, &r.Instructions, &r.Loads, &r.Stores, &r.Overshoot} {
		*p = d.u64()
	}
}

// Append appends the row to a SYSCALLS section's payload.
func (r *Syscall) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Thread)
		e.u32(r.Number)
		e.u64(r.Ordinal)
		e.u64(r.TSC)
		e.u64(r.EndTSC)
		for _, a := range r.Args { // always six: what a call uses is known from its number
			e.u64(a)
		}
		// As the register has it, two's complement; Errno is derived and written
		// all the same, for readers that do not know the kernel's range of errors.
		e.u64(uint64(r.Result))
		e.u32(uint32(r.Errno))
	})
}

func (r *Syscall) decode(d *wireDec) {
	r.Thread = d.u32()
	r.Number = d.u32()
	r.Ordinal = d.u64()
	r.TSC = d.u64()
	r.EndTSC = d.u64()
	for i := range r.Args {
		r.Args[i] = d.u64()
	}
	r.Result = int64(d.u64())
	r.Errno = int32(d.u32())
}

// Append appends the row to a SIGNALS section's payload.
func (r *Signal) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u32(r.Thread)
		e.u32(r.Number)
		e.u64(r.Ordinal)
		e.u64(r.TSC)
		e.u32(uint32(r.Code))
		e.u32(r.Sender)
		e.u64(r.Addr)
		e.u64(r.IP)
	})
}

func (r *Signal) decode(d *wireDec) {
	r.Thread = d.u32()
	r.Number = d.u32()
	r.Ordinal = d.u64()
	r.TSC = d.u64()
	r.Code = int32(d.u32())
	r.Sender = d.u32()
	r.Addr = d.u64()
	r.IP = d.u64()
}

// Append appends the row to an LLW section's payload.
func (r *Snapshot) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u64(r.TSC)
		e.str(r.Reason)
		e.u32(uint32(len(r.Regions)))
		for i := range r.Regions {
			g := &r.Regions[i]
			e.u64(g.Start)
			e.u64(g.End)
			e.u32(g.Prot)
			// Narrow fields lie unaligned among wide ones: rows are read field by
			// field, never mapped.
			e.bool(g.Shared)
			e.u8(g.Kind)
			e.u64(g.Offset)
			e.str(g.Label)
			e.u64(g.Resident)
		}
	})
}

func (r *Snapshot) decode(d *wireDec) {
	r.TSC = d.u64()
	r.Reason = d.str()
	for range d.count(42) { // a region without a label has 42 bytes
		r.Regions = append(r.Regions, Region{
			Start: d.u64(), End: d.u64(), Prot: d.u32(), Shared: d.bool(), Kind: d.u8(),
			Offset: d.u64(), Label: d.str(), Resident: d.u64(),
		})
	}
}

// Append appends the row to a QUERIES section's payload.
func (r *QueryMessage) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.str(r.Query)
		e.str(r.Text)
		// Signed values go as two's complement.
		e.u64(uint64(r.Value))
		e.u64(r.TSC)
		e.u32(r.Thread)
	})
}

func (r *QueryMessage) decode(d *wireDec) {
	r.Query = d.str()
	r.Text = d.str()
	r.Value = int64(d.u64())
	r.TSC = d.u64()
	r.Thread = d.u32()
}

// Append appends the row to an END section's payload.
func (r *EndInfo) Append(dst []byte) []byte {
	return appendRow(dst, rowPlain, func(e *wireEnc) {
		e.u64(uint64(r.Ended))
		e.u64(r.EndTSC)
		e.counts(r.Counts)
		e.u64(r.LowestAddr)
		e.u64(r.HighestAddr)
		e.str(r.Reason)
	})
}

func (r *EndInfo) decode(d *wireDec) {
	r.Ended = int64(d.u64())
	r.EndTSC = d.u64()
	d.counts(&r.Counts)
	r.LowestAddr = d.u64()
	r.HighestAddr = d.u64()
	r.Reason = d.str()
}

// counts writes totals, in the order of the fields of a frame's header too.
func (e *wireEnc) counts(c Counts) {
	for _, v := range [...]uint64{c.Instructions, c.MemInstructions, c.Loads, c.Stores, c.BytesRead, c.BytesWritten} {
		e.u64(v)
	}
}

// counts reads what counts wrote.
func (d *wireDec) counts(c *Counts) {
	for _, p := range [...]*uint64{&c.Instructions, &c.MemInstructions, &c.Loads, &c.Stores, &c.BytesRead, &c.BytesWritten} {
		*p = d.u64()
	}
}
