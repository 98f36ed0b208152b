package convert

import (
	"encoding/hex"
	"io"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/analysis"
)

// csvFormat is a table as RFC 4180 has it, with a line of names.
func csvFormat() *Format {
	return &Format{
		Name: "csv", Ending: ".csv", Summary: "a table of comma-separated values: a row an access, or with --rows an instruction",
		Needs: "accesses (--fields address) or, for rows of instructions, instructions; values, time, branches and functions where recorded",
		write: func(w io.Writer, o *Options) error {
			return writeText(w, o, func(rw *rowWorker) rowForm { return &csvForm{rw} })
		},
	}
}

// csvForm writes rows as lines. Numbers of things and times are decimal, addresses and values
// hexadecimal; what was not recorded is empty.
type csvForm struct{ *rowWorker }

// head is rowForm's.
func (f *csvForm) head(dst []byte, rows Rows) []byte {
	if rows == Instructions {
		return append(dst, "process,thread,program,instruction,time,windows,ip,function,image,code,text,taken,target\n"...)
	}
	return append(dst, "process,thread,program,instruction,time,windows,ip,function,image,store,address,size,value\n"...)
}

// begin appends the columns that both kinds of rows have and that differ from row to row.
func (f *csvForm) begin(dst []byte, r *row) []byte {
	dst = strconv.AppendUint(dst, uint64(r.process), 10)
	dst = strconv.AppendUint(append(dst, ','), uint64(r.thread), 10)
	dst = strconv.AppendUint(append(dst, ','), uint64(r.program), 10)
	dst = append(strconv.AppendUint(append(dst, ','), r.ins.Ordinal, 10), ',')
	if r.time >= 0 {
		dst = strconv.AppendInt(dst, r.time, 10)
	}
	return strconv.AppendUint(append(dst, ','), r.windows, 10)
}

// place appends where an instruction is.
func (f *csvForm) place(dst []byte, in *abp.Instruction) []byte {
	dst = appendHex(append(dst, ','), in.Addr)
	name := ""
	if fn := f.places.Function(in.Block, in.Index); fn != nil {
		name = fn.Display()
	}
	dst = appendQuoted(append(dst, ','), name)
	name = ""
	if img := f.places.Image(in.Block); img != nil {
		name = analysis.ImageName(img)
	}
	return appendQuoted(append(dst, ','), name)
}

// access is rowForm's.
func (f *csvForm) access(dst []byte, r *row, s *static) []byte {
	if s.access == nil {
		s.access = f.place(nil, r.ins)
	}
	dst = append(f.begin(dst, r), s.access...)
	if r.mem.Store {
		dst = append(dst, ",true,"...)
	} else {
		dst = append(dst, ",false,"...)
	}
	dst = appendHex(dst, r.mem.Addr)
	dst = append(strconv.AppendUint(append(dst, ','), uint64(r.mem.Size), 10), ',')
	if r.mem.Value != nil {
		dst = analysis.AppendValue(dst, r.mem.Value)
	}
	return append(dst, '\n')
}

// instruction is rowForm's.
func (f *csvForm) instruction(dst []byte, r *row, s *static) []byte {
	if s.ins == nil {
		s.ins = append(hex.AppendEncode(append(f.place(nil, r.ins), ','), r.ins.Code), ',')
		s.ins = appendQuoted(s.ins, f.dis.Text(r.ins.Code, r.ins.Addr))
	}
	dst = append(f.begin(dst, r), s.ins...)
	if r.branch == nil {
		return append(dst, ",,\n"...)
	}
	dst = append(strconv.AppendBool(append(dst, ','), r.branch.Taken), ',')
	if r.branch.Taken && r.branch.Target != 0 {
		dst = appendHex(dst, r.branch.Target)
	}
	return append(dst, '\n')
}

// appendHex appends an address.
func appendHex(dst []byte, v uint64) []byte { return strconv.AppendUint(append(dst, "0x"...), v, 16) }

// appendQuoted appends text, in quotes where it holds what separates.
func appendQuoted(dst []byte, s string) []byte {
	s = analysis.Printable(s)
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}
