package convert

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"strconv"

	"alleria/abp"
	"alleria/analysis"
)

// jsonlFormat is a JSON object a line.
func jsonlFormat() *Format {
	return &Format{
		Name: "jsonl", Ending: ".jsonl", Summary: "JSON lines: an object an access, or with --rows an instruction",
		Needs: "as csv",
		write: func(w io.Writer, o *Options) error {
			return writeText(w, o, func(rw *rowWorker) rowForm { return &jsonForm{rw} })
		},
	}
}

// jsonForm writes rows as objects. Addresses and values are strings, because many readers of
// JSON take numbers for floating-point ones and lose their lower bits. What was not recorded
// is left out.
type jsonForm struct{ *rowWorker }

// head is rowForm's.
func (f *jsonForm) head(dst []byte, _ Rows) []byte { return dst }

// begin appends the fields that both kinds of rows have and that differ from row to row.
func (f *jsonForm) begin(dst []byte, r *row) []byte {
	dst = strconv.AppendUint(append(dst, `{"process":`...), uint64(r.process), 10)
	dst = strconv.AppendUint(append(dst, `,"thread":`...), uint64(r.thread), 10)
	dst = strconv.AppendUint(append(dst, `,"program":`...), uint64(r.program), 10)
	dst = strconv.AppendUint(append(dst, `,"instruction":`...), r.ins.Ordinal, 10)
	if r.time >= 0 {
		dst = strconv.AppendInt(append(dst, `,"time":`...), r.time, 10)
	}
	return strconv.AppendUint(append(dst, `,"windows":`...), r.windows, 10)
}

// place appends where an instruction is.
func (f *jsonForm) place(dst []byte, in *abp.Instruction) []byte {
	dst = append(appendHex(append(dst, `,"ip":"`...), in.Addr), '"')
	if fn := f.places.Function(in.Block, in.Index); fn != nil {
		dst = appendString(append(dst, `,"function":`...), fn.Display())
	}
	if img := f.places.Image(in.Block); img != nil {
		dst = appendString(append(dst, `,"image":`...), analysis.ImageName(img))
	}
	return dst
}

// access is rowForm's.
func (f *jsonForm) access(dst []byte, r *row, s *static) []byte {
	if s.access == nil {
		s.access = f.place(nil, r.ins)
	}
	dst = append(f.begin(dst, r), s.access...)
	dst = strconv.AppendBool(append(dst, `,"store":`...), r.mem.Store)
	dst = appendHex(append(dst, `,"address":"`...), r.mem.Addr)
	dst = strconv.AppendUint(append(dst, `","size":`...), uint64(r.mem.Size), 10)
	if r.mem.Value != nil {
		dst = append(analysis.AppendValue(append(dst, `,"value":"`...), r.mem.Value), '"')
	}
	return append(dst, "}\n"...)
}

// instruction is rowForm's.
func (f *jsonForm) instruction(dst []byte, r *row, s *static) []byte {
	if s.ins == nil {
		s.ins = hex.AppendEncode(append(f.place(nil, r.ins), `,"code":"`...), r.ins.Code)
		s.ins = appendString(append(s.ins, `","text":`...), f.dis.Text(r.ins.Code, r.ins.Addr))
	}
	dst = append(f.begin(dst, r), s.ins...)
	if r.branch != nil {
		dst = strconv.AppendBool(append(dst, `,"taken":`...), r.branch.Taken)
		if r.branch.Taken && r.branch.Target != 0 {
			dst = append(appendHex(append(dst, `,"target":"`...), r.branch.Target), '"')
		}
	}
	return append(dst, "}\n"...)
}

// appendString appends text as JSON has it.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return append(dst, b...)
}
