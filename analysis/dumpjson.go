package analysis

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"alleria/abp"
)

// jsonDump is a dump of one JSON object a line. An instruction is one object with its
// accesses in a list, which is written as they come: one string instruction may have
// millions, and they need not fit into memory.
//
// Addresses and values are strings, because many readers of JSON take numbers for
// floating-point ones and lose their lower bits.
type jsonDump struct {
	*dumper
	out      *bufio.Writer
	began    bool                    // an instruction's object is not closed
	accesses int                     // of it
	way      string                  // where it branched to, as it will stand behind its accesses
	text     []byte                  // used again for each object
	texts    map[textKey]string      // what instructions always are
	targets  map[branchTarget]string // what branches to them are
}

// line writes the fields of a struct as a line.
func (d *jsonDump) line(v any) {
	d.end()
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of strings and numbers
	}
	_, _ = d.out.Write(append(b, '\n')) // the error waits for Flush
}

// where is what each object begins with.
type where struct {
	Kind    string `json:"kind"`
	Process uint32 `json:"process"`
	Program uint32 `json:"program,omitempty"` // which of the process's recorded programs, from 2
	Thread  uint32 `json:"thread"`
}

// whereOf is where of a thread.
func whereOf(kind string, k threadKey) where {
	w := where{Kind: kind, Process: k.process, Thread: k.thread}
	if k.program > 1 {
		w.Program = k.program
	}
	return w
}

// thread is dumpForm's.
func (d *jsonDump) thread(k threadKey, tid uint32) {
	d.line(struct {
		where
		TID uint32 `json:"tid,omitempty"`
	}{whereOf("thread", k), tid})
}

// windows is dumpForm's.
func (d *jsonDump) windows(e *abp.Entry) {
	names := d.windowNames(e)
	if names == nil {
		names = []string{}
	}
	d.line(struct {
		where
		Open []string `json:"open"`
	}{whereOf("windows", threadKey{e.Process, e.Program, e.Thread}), names})
}

// instruction is dumpForm's. Objects of instructions and accesses are put together by hand: package encoding/json takes
// nine tenths of the time of a dump. What is the same for each execution of an instruction is made once
// and remembered, as textDump does it.
func (d *jsonDump) instruction(e *abp.Entry) {
	d.end()
	in := &e.Ins
	l := appendInstructionOf(d.text[:0], threadKey{e.Process, e.Program, e.Thread})
	l = strconv.AppendUint(l, in.Ordinal, 10)
	l = append(l, d.static(e)...)
	if in.Part {
		l = append(l, `,"part":true`...)
	}
	if in.Timed && in.TSC != 0 {
		l = strconv.AppendUint(append(l, `,"tsc":`...), in.TSC, 10)
	}
	if len(in.Registers) > 0 {
		held := make(map[string]string)
		for _, r := range in.Registers {
			held[r.Register.String()] = string(appendValue(nil, r.Value))
		}
		l = append(append(l, `,"registers":`...), marshalled(held)...)
	}
	d.text = l
	_, _ = d.out.Write(l) // the closing brace comes behind the accesses
	d.began, d.accesses, d.way = true, 0, ""
}

// appendInstructionOf begins the object of a thread's instruction, up to its number.
func appendInstructionOf(l []byte, k threadKey) []byte {
	l = strconv.AppendUint(append(l, `{"kind":"instruction","process":`...), uint64(k.process), 10)
	if k.program > 1 {
		l = strconv.AppendUint(append(l, `,"program":`...), uint64(k.program), 10)
	}
	l = strconv.AppendUint(append(l, `,"thread":`...), uint64(k.thread), 10)
	return append(l, `,"number":`...)
}

// static returns the fields of an instruction that are the same for each execution.
func (d *jsonDump) static(e *abp.Entry) string {
	key := textKey{e.Ins.Block, e.Ins.Index}
	if s, ok := d.texts[key]; ok {
		return s
	}
	if len(d.texts) >= maxTexts {
		clear(d.texts)
	}
	in := &e.Ins
	v := struct {
		Address string `json:"address"`
		Place   string `json:"place,omitempty"`
		Code    string `json:"code,omitempty"`
		Text    string `json:"text"`
	}{Address: address(in.Addr), Place: d.place(e), Text: d.dis.Text(in.Code, in.Addr)}
	if !d.options.NoCode {
		v.Code = hex.EncodeToString(in.Code)
	}
	b := marshalled(v)
	b[0] = ',' // for the brace
	s := string(b[:len(b)-1])
	d.texts[key] = s
	return s
}

// marshalled is for what cannot fail: strings and numbers.
func marshalled(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// access is dumpForm's.
func (d *jsonDump) access(m *abp.Mem) {
	if !d.began {
		return // of an instruction that a filter left out
	}
	l := d.text[:0]
	if d.accesses == 0 {
		l = append(l, `,"accesses":[`...)
	} else {
		l = append(l, ',')
	}
	d.accesses++
	l = strconv.AppendBool(append(l, `{"store":`...), m.Store)
	l = appendHexText(append(l, `,"address":`...), m.Addr)
	l = strconv.AppendUint(append(l, `,"size":`...), uint64(m.Size), 10)
	if len(m.Value) > 0 {
		l = append(appendValue(append(l, `,"value":"`...), m.Value), '"')
	}
	if m.Mask != 0 {
		l = strconv.AppendUint(append(l, `,"lane":`...), uint64(m.Lane), 10)
		l = appendHexText(append(l, `,"mask":`...), m.Mask)
	}
	if m.Phys != 0 {
		l = appendHexText(append(l, `,"physical":`...), m.Phys)
	}
	d.text = append(l, '}')
	_, _ = d.out.Write(d.text)
}

// appendHexText appends a number as text.
func appendHexText(l []byte, v uint64) []byte {
	return append(appendHex(append(l, `"0x`...), v), '"')
}

// branch is dumpForm's.
func (d *jsonDump) branch(e *abp.Entry) {
	if !e.Branch.Taken {
		d.way = wentOn
		return
	}
	d.way = d.target(branchTarget{d.placesOf(e), e.Branch.Target, e.Ins.Block.Image})
}

// wentOn is the field of a branch that was not taken.
const wentOn = `,"taken":false`

// target returns the fields of a branch that was taken.
func (d *jsonDump) target(k branchTarget) string {
	went, ok := d.targets[k]
	if !ok {
		if len(d.targets) >= maxTexts {
			clear(d.targets)
		}
		went = `,"taken":true,"target":"` + address(k.addr) + `"`
		if place := k.places.describeFrom(k.from, k.addr); place != "" {
			went += `,"target_place":` + string(marshalled(place))
		}
		d.targets[k] = went
	}
	return went
}

// end closes the object of an instruction.
func (d *jsonDump) end() {
	if !d.began {
		return
	}
	d.began = false
	if d.accesses > 0 {
		_ = d.out.WriteByte(']')
	}
	_, _ = d.out.WriteString(d.way)
	_, _ = d.out.WriteString("}\n")
}

// open is dumpForm's.
func (d *jsonDump) open() bool { return d.began }

// ordinalOf is blockForm's.
func (d *jsonDump) ordinalOf(k threadKey) (string, bool) {
	return string(appendInstructionOf(nil, k)), false
}

// insParts is blockForm's.
func (d *jsonDump) insParts(e *abp.Entry) insText {
	return insText{behind: d.static(e), time: `,"tsc":`, end: "}\n"}
}

// accessParts is blockForm's.
func (d *jsonDump) accessParts(a *abp.Access, first bool) accessText {
	before := `,{"store":`
	if first {
		before = `,"accesses":[{"store":`
	}
	return accessText{
		before: before + strconv.FormatBool(a.Store) + `,"address":"0x`, size: `","size":` + strconv.FormatUint(uint64(a.Size), 10),
		value: `,"value":"`, valueEnd: `"`, end: "}",
	}
}

// accessesEnd is blockForm's.
func (d *jsonDump) accessesEnd() string { return "]" }

// went is blockForm's.
func (d *jsonDump) went(k branchTarget, taken bool) string {
	if !taken {
		return wentOn
	}
	return d.target(k)
}

// call is dumpForm's.
func (d *jsonDump) call(k threadKey, s *abp.Syscall) {
	v := struct {
		where
		Number   uint32   `json:"number"`
		Name     string   `json:"name,omitempty"`
		Args     []string `json:"args"`
		Returned bool     `json:"returned"`
		Result   string   `json:"result,omitempty"`
		Errno    int32    `json:"errno,omitempty"`
		TSC      uint64   `json:"tsc"`
		Ticks    uint64   `json:"ticks,omitempty"`
	}{where: whereOf("syscall", k), Number: s.Number, Name: abp.SyscallName(s.Number),
		Returned: s.EndTSC != 0, Errno: s.Errno, TSC: s.TSC}
	for _, a := range s.Args {
		v.Args = append(v.Args, address(a))
	}
	if v.Returned && s.Errno == 0 {
		v.Result = address(uint64(s.Result))
	}
	if s.EndTSC > s.TSC {
		v.Ticks = s.EndTSC - s.TSC
	}
	d.line(v)
}

// signal is dumpForm's.
func (d *jsonDump) signal(k threadKey, s *abp.Signal) {
	v := struct {
		where
		Number  uint32 `json:"number"`
		Name    string `json:"name"`
		Code    int32  `json:"code"`
		At      string `json:"at"`
		Sender  uint32 `json:"sender,omitempty"`
		Address string `json:"address,omitempty"`
		TSC     uint64 `json:"tsc"`
	}{where: whereOf("signal", k), Number: s.Number, Name: abp.SignalName(s.Number),
		Code: s.Code, At: address(s.IP), Sender: s.Sender, TSC: s.TSC}
	if s.Sender == 0 && s.Addr != 0 {
		v.Address = address(s.Addr)
	}
	d.line(v)
}

// address writes a number as text.
func address(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
