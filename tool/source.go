package tool

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"alleria/abp"
)

// Source is where a field of a record, or a condition, gets its number from.
type Source struct {
	kind     kind
	constant uint64
	reg      abp.Register
	name     string // of a register, as it was asked for
}

// kind says which source it is.
type kind uint8

const (
	noSource kind = iota
	isConstant
	isPC
	isLength
	isFunction
	isThread
	isTime
	isAddress
	isSize
	isStore
	isValue
	isTaken
	isTarget
	isRegister
)

// Constant is a number that is the same in all records: which Fill made a record, say.
func Constant(n uint64) Source { return Source{kind: isConstant, constant: n} }

// PC is the instruction's address, and Length how many bytes it has.
func PC() Source { return Source{kind: isPC} }

// Length is how many bytes the instruction has.
func Length() Source { return Source{kind: isLength} }

// Function is the number of the function that the instruction belongs to; Batch.Function names it. 0: none.
func Function() Source { return Source{kind: isFunction} }

// Thread is the thread's number within the process, in order of creation, from 1.
func Thread() Source { return Source{kind: isThread} }

// Time is the processor's time-stamp counter, read once a block.
func Time() Source { return Source{kind: isTime} }

// Address is the effective address of an access.
func Address() Source { return Source{kind: isAddress} }

// Size is how many bytes an access reads or writes.
func Size() Source { return Source{kind: isSize} }

// Store is 1 for an access that writes, 0 for one that reads.
func Store() Source { return Source{kind: isStore} }

// Value is what an access has read or written: as many bytes as the field has.
func Value() Source { return Source{kind: isValue} }

// Taken is 1 where a conditional branch was taken, and for all other branches.
func Taken() Source { return Source{kind: isTaken} }

// Target is where a branch leads: of a conditional one where it leads if it is taken.
func Target() Source { return Source{kind: isTarget} }

// Register is what a register held before the instruction: rdi, eax, xmm0, rflags …
func Register(name string) Source {
	r, ok := abp.ParseRegister(name)
	if !ok {
		r = ^abp.Register(0)
	}
	return Source{kind: isRegister, reg: r, name: name}
}

// Fields says what the fields of a record get, by their names. Those that are not named are zero.
type Fields map[string]Source

// needs is what has to be recorded of an instruction.
type needs struct {
	addresses, values, time, function, branch bool
	registers                                 []string
}

// add adds what a source needs. It says what is wrong with the source.
func (n *needs) add(s Source, at point) error {
	if s.kind >= isAddress && s.kind <= isValue && at != atAccess {
		return fmt.Errorf("addresses, sizes and values are of accesses: fill at tool.Accesses")
	}
	switch s.kind {
	case noSource:
		return fmt.Errorf("it has no source")
	case isAddress, isSize, isStore:
		n.addresses = true
	case isValue:
		n.values = true
	case isTime:
		n.time = true
	case isFunction:
		n.function = true
	case isTaken, isTarget:
		n.branch = true
	case isRegister:
		if !s.reg.Known() {
			return fmt.Errorf("there is no register %q", s.name)
		}
		if !slices.Contains(n.registers, s.name) {
			n.registers = append(n.registers, s.name)
		}
	}
	return nil
}

// attributes are those of an Instruction of the window language.
func (n *needs) attributes() string {
	var b strings.Builder
	for _, a := range []struct {
		on   bool
		name string
	}{{n.addresses, "accessAddressAndSize"}, {n.values, "accessValue"}, {n.time, "timeStamp"}, {n.function, "routineId"}, {n.branch, "branch"}} {
		if a.on {
			fmt.Fprintf(&b, ` %s="true"`, a.name)
		}
	}
	if len(n.registers) > 0 {
		fmt.Fprintf(&b, ` registers="%s"`, strings.Join(n.registers, ","))
	}
	return b.String()
}

// field is a field of a record that gets something.
type field struct {
	offset, size uintptr
	truth        bool // a bool, which is nothing but 0 and 1
	from         Source
}

// fieldsOf finds the fields of a record type and checks what they get.
func fieldsOf(record reflect.Type, fields Fields, at point, n *needs) (out []field, err error) {
	for i := range record.NumField() {
		f := record.Field(i)
		from, ok := fields[f.Name]
		if !ok {
			continue
		}
		if err := n.add(from, at); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		wide := from.kind == isValue || from.kind == isRegister && from.reg.Size() > 8
		if f.Type.Kind() == reflect.Array && !wide {
			return nil, fmt.Errorf("field %s is an array: only values and vector registers are", f.Name)
		}
		if f.Type.Kind() != reflect.Array && from.kind == isRegister && wide {
			return nil, fmt.Errorf("field %s is a number: %s has %d bytes; make it [%d]byte", f.Name, from.name, from.reg.Size(), from.reg.Size())
		}
		out = append(out, field{f.Offset, f.Type.Size(), f.Type.Kind() == reflect.Bool, from})
	}
	if len(out) < len(fields) {
		for name := range fields {
			if _, ok := record.FieldByName(name); !ok {
				return nil, fmt.Errorf("%v has no field %s", record, name)
			}
		}
	}
	return out, nil
}

// checkRecord says what keeps a type from being one of records: they are filled byte by byte.
func checkRecord(t reflect.Type) error {
	if t.Kind() != reflect.Struct || t.Size() == 0 {
		return fmt.Errorf("records are structs of numbers, not %v", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		e := f.Type
		if e.Kind() == reflect.Array {
			e = e.Elem()
			if e.Kind() != reflect.Uint8 {
				return fmt.Errorf("field %s of %v: arrays are of bytes", f.Name, t)
			}
		}
		switch e.Kind() {
		case reflect.Bool, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr,
			reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		default:
			return fmt.Errorf("field %s of %v is %v: fields are integers, bool or arrays of bytes", f.Name, t, f.Type)
		}
	}
	return nil
}

// number is bytes as a number; those beyond eight are not looked at.
func number(b []byte) (n uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n
}

// mask has the low bits of so many bytes.
func mask(bytes int) uint64 { return ^uint64(0) >> (bits.UintSize - 8*min(bytes, 8)) }
