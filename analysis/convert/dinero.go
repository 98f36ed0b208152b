package convert

import (
	"io"
	"strconv"

	"alleria/abp"
	"alleria/analysis"
)

// dineroFormat is the traditional trace format, which most cache simulators read.
func dineroFormat() *Format {
	return &Format{
		Name: "din", Ending: ".din", Split: SplitThread, Summary: "trace for Dinero (-informat d): 2 fetch, 0 load or 1 store, address, size",
		Needs: "accesses (--fields address), and every instruction (--select any), or only those with accesses are fetched",
		write: func(w io.Writer, o *Options) error { return writeDinero(w, o, [3]byte{'0', '1', '2'}) },
	}
}

// extendedDineroFormat is the one of Dinero IV.
func extendedDineroFormat() *Format {
	return &Format{
		Name: "xdin", Ending: ".xdin", Split: SplitThread, Summary: "trace for Dinero IV (-informat D): i, r or w, address, size",
		Needs: "as din",
		write: func(w io.Writer, o *Options) error { return writeDinero(w, o, [3]byte{'r', 'w', 'i'}) },
	}
}

// writeDinero writes a line for each fetch, load and store, with address and size in
// hexadecimal. Who reads the traditional format ignores what is behind the address.
func writeDinero(w io.Writer, o *Options, labels [3]byte) error {
	if err := o.needAccesses(); err != nil {
		return err
	}
	load, store, fetch := labels[0], labels[1], labels[2]
	return analysis.OrderedText(w, o.Profile, o.Query, o.Progress, func() (analysis.TextWork, func(), error) {
		return func(r *abp.Reader, _ *abp.Batch, t *analysis.Text) error {
			for r.Next() {
				switch e := r.Entry(); e.Kind {
				case abp.EntryIns:
					if !e.Ins.Part {
						t.Buf = appendDin(t.Buf, fetch, e.Ins.Addr, uint64(len(e.Ins.Code)))
					}
				case abp.EntryMem:
					label := load
					if e.Mem.Store {
						label = store
					}
					t.Buf = appendDin(t.Buf, label, e.Mem.Addr, uint64(e.Mem.Size))
				}
				if err := t.Flush(); err != nil {
					return err
				}
			}
			return nil
		}, func() {}, nil
	})
}

// appendDin appends a line.
func appendDin(dst []byte, label byte, addr, size uint64) []byte {
	dst = strconv.AppendUint(append(dst, label, ' '), addr, 16)
	return append(strconv.AppendUint(append(dst, ' '), size, 16), '\n')
}
