package analysis

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	open     bool   // an instruction's object is not closed
	accesses int    // of it
	went     string // where it branched to, as it will stand behind its accesses
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
	Thread  uint32 `json:"thread"`
}

// thread is dumpForm's.
func (d *jsonDump) thread(k threadKey, tid uint32) {
	d.line(struct {
		where
		TID uint32 `json:"tid,omitempty"`
	}{where{"thread", k.process, k.thread}, tid})
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
	}{where{"windows", e.Process, e.Thread}, names})
}

// instruction is dumpForm's.
func (d *jsonDump) instruction(e *abp.Entry) {
	d.end()
	in := &e.Ins
	v := struct {
		where
		Number    uint64            `json:"number"`
		Address   string            `json:"address"`
		Place     string            `json:"place,omitempty"`
		Code      string            `json:"code,omitempty"`
		Text      string            `json:"text"`
		Part      bool              `json:"part,omitempty"`
		TSC       uint64            `json:"tsc,omitempty"`
		Registers map[string]string `json:"registers,omitempty"`
	}{where: where{"instruction", e.Process, e.Thread}, Number: in.Ordinal, Address: address(in.Addr),
		Place: d.place(e), Text: d.dis.Text(in.Code, in.Addr), Part: in.Part}
	if !d.options.NoCode {
		v.Code = hex.EncodeToString(in.Code)
	}
	if in.Timed {
		v.TSC = in.TSC
	}
	for _, r := range in.Registers {
		if v.Registers == nil {
			v.Registers = make(map[string]string)
		}
		v.Registers[r.Register.String()] = string(appendValue(nil, r.Value))
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	_, _ = d.out.Write(b[:len(b)-1]) // the closing brace comes behind the accesses
	d.open, d.accesses, d.went = true, 0, ""
}

// access is dumpForm's.
func (d *jsonDump) access(m *abp.Mem) {
	if !d.open {
		return // of an instruction that a filter left out
	}
	lead := `,"accesses":[`
	if d.accesses > 0 {
		lead = ","
	}
	d.accesses++
	v := struct {
		Store   bool   `json:"store"`
		Address string `json:"address"`
		Size    uint32 `json:"size"`
		Value   string `json:"value,omitempty"`
		Lane    *uint8 `json:"lane,omitempty"`
		Mask    string `json:"mask,omitempty"`
		Phys    string `json:"physical,omitempty"`
	}{Store: m.Store, Address: address(m.Addr), Size: m.Size}
	if m.Value != nil {
		v.Value = string(appendValue(nil, m.Value))
	}
	if m.Mask != 0 {
		v.Lane, v.Mask = &m.Lane, address(m.Mask)
	}
	if m.Phys != 0 {
		v.Phys = address(m.Phys)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	_, _ = d.out.WriteString(lead)
	_, _ = d.out.Write(b)
}

// branch is dumpForm's.
func (d *jsonDump) branch(e *abp.Entry) {
	if !e.Branch.Taken {
		d.went = `,"taken":false`
		return
	}
	d.went = fmt.Sprintf(`,"taken":true,"target":%q`, address(e.Branch.Target))
	if place := d.placesOf(e.Process).describe(e.Branch.Target); place != "" {
		b, err := json.Marshal(place)
		if err != nil {
			panic(err) // a string
		}
		d.went += `,"target_place":` + string(b)
	}
}

// end closes the object of an instruction.
func (d *jsonDump) end() {
	if !d.open {
		return
	}
	d.open = false
	if d.accesses > 0 {
		_ = d.out.WriteByte(']')
	}
	_, _ = d.out.WriteString(d.went + "}\n")
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
	}{where: where{"syscall", k.process, k.thread}, Number: s.Number, Name: abp.SyscallName(s.Number),
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
	}{where: where{"signal", k.process, k.thread}, Number: s.Number, Name: abp.SignalName(s.Number),
		Code: s.Code, At: address(s.IP), Sender: s.Sender, TSC: s.TSC}
	if s.Sender == 0 && s.Addr != 0 {
		v.Address = address(s.Addr)
	}
	d.line(v)
}

// address writes a number as text.
func address(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
