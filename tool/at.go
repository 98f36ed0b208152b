package tool

import (
	"alleria/internal/session"
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// At says where records are made. Accesses, Instructions, Blocks and Entry make one; its fields narrow it down.
type At struct {
	// Select picks instructions as `alleria record --select` does: any, anyMem, or class=, cat=, ext=, isa= or form= with a name
	// of Intel XED's tables, as in class=RET.
	Select string
	// Image is main, app (every image but the system's), a file name or a full path. Empty: all code.
	Image string
	// Function narrows it down to functions; it may hold *. Empty: all.
	Function string
	// Process is the number of a process in order of creation, from 1, the file name of the program that it executes, which may hold *, or that one's full path. Empty: all.
	// Processes that are not selected are followed as far as the tool follows any.
	Process string
	// Thread is the number of a thread in its process, in order of creation, from 1. 0: all.
	Thread int
	// On and Till open and close the window in which records are made, as elements of the window language:
	// `<Call name="work"/>`. Empty: from the beginning, to the end.
	On, Till string
	// Reopen lets the window open again each time that On fires.
	Reopen bool
	// If are conditions, all of which have to hold for a record to be made.
	If []Condition

	point point
}

// point is what a record is made of.
type point uint8

const (
	atInstruction point = iota
	atAccess
	atBlock
	atEntry
)

// Accesses is every access to memory of the selected instructions, in order: a read-modify-write is two, a string
// instruction has one an iteration, a gather one a lane.
func Accesses(selector string) At { return At{Select: selector, point: atAccess} }

// Instructions is every execution of the selected instructions.
func Instructions(selector string) At { return At{Select: selector} }

// Blocks is every execution of a basic block: what is executed from behind one branch to the next.
func Blocks() At { return At{Select: "any", point: atBlock} }

// Entry is every execution of a function's first instruction, before it has been executed. image is as At.Image.
func Entry(image, function string) At {
	return At{Select: "any", Image: image, Function: function, point: atEntry}
}

// In narrows it down to an image and a function, either of which may be empty.
func (a At) In(image, function string) At {
	a.Image, a.Function = image, function
	return a
}

// By narrows it down to a process and a thread, which may be empty and 0, as At.Process and At.Thread say.
func (a At) By(process string, thread int) At {
	a.Process, a.Thread = process, thread
	return a
}

// Between has records made only in a window, from one event of the window language to another.
func (a At) Between(on, till string) At {
	a.On, a.Till = on, till
	return a
}

// When has records made only where conditions hold, all of them.
func (a At) When(c ...Condition) At {
	a.If = append(a.If[:len(a.If):len(a.If)], c...)
	return a
}

// Condition holds where a source lies between two numbers, both included.
//
// Addresses, values and registers of up to eight bytes, sizes, Store, PC and Length are looked at by the program's threads, so that what executions of a block have recorded is dropped where
// nothing holds for any of its instructions; all of them are looked at again before a record is made. Of tools that fill at Blocks it is the latter alone.
type Condition struct {
	Of          Source
	Least, Most uint64
}

// holds tells whether a number is one of the condition's.
func (c *Condition) holds(n uint64) bool { return c.Least <= n && n <= c.Most }

// inApplication is what the program's threads look at of conditions; none: nothing.
func inApplication(all []Condition) (out []session.Condition) {
	of := map[kind]session.ConditionOf{isAddress: session.OfAddress, isValue: session.OfValue, isRegister: session.OfRegister, isSize: session.OfSize, isStore: session.OfStore,
		isPC: session.OfPC, isLength: session.OfLength}
	for _, c := range all {
		if what, ok := of[c.Of.kind]; ok {
			out = append(out, session.Condition{Of: what, Reg: c.Of.reg, Least: c.Least, Most: c.Most})
		}
	}
	return out
}

// window writes the window of the configuration that the place is.
func (a *At) window(name string, needs *needs) (string, error) {
	selector, err := a.selector()
	if err != nil {
		return "", err
	}
	if a.point == atEntry && a.Function == "" {
		return "", fmt.Errorf("an entry is of a function: its name is missing")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<Window name=%s", quoted(name))
	if a.Reopen {
		b.WriteString(` reopenable="true"`)
	}
	b.WriteString(">")
	for _, e := range []struct{ element, event string }{{"On", a.On}, {"Till", a.Till}} {
		if e.event != "" {
			fmt.Fprintf(&b, "<%s>%s</%[1]s>", e.element, e.event)
		}
	}
	process, err := a.process()
	if err != nil {
		return "", err
	}
	thread := ""
	if a.Thread > 0 {
		thread = fmt.Sprintf(` n="%d"`, a.Thread)
	}
	b.WriteString("<Profile>")
	if process != "" {
		b.WriteString("<Process/>") // the others are followed, and record nothing
	}
	b.WriteString("<Process" + process + "><Thread" + thread + "><Image" + a.image() + "><Function")
	if a.Function != "" {
		b.WriteString(" name=" + quoted(a.Function))
	}
	fmt.Fprintf(&b, "><Instruction %s%s/></Function></Image></Thread></Process></Profile></Window>\n", selector, needs.attributes())
	return b.String(), nil
}

// selector is the attribute of Instruction that Select stands for.
func (a *At) selector() (string, error) {
	switch by, name, ok := strings.Cut(a.Select, "="); {
	case a.Select == "any", a.Select == "anyMem":
		return "cat=" + quoted(a.Select), nil
	case ok && name != "" && strings.Contains(" class cat ext isa form ", " "+by+" "):
		return by + "=" + quoted(name), nil
	}
	return "", fmt.Errorf("%q selects nothing; instructions are selected by any, anyMem, class=NAME, cat=NAME, ext=NAME, isa=NAME or form=NAME", a.Select)
}

// process is the attribute of Process.
func (a *At) process() (string, error) {
	n, err := strconv.ParseUint(a.Process, 0, 32)
	switch {
	case a.Thread < 0 || err == nil && n == 0:
		return "", fmt.Errorf("process %q, thread %d: both are counted from 1", a.Process, a.Thread)
	case a.Process == "":
		return "", nil
	case err == nil:
		return fmt.Sprintf(` n="%d"`, n), nil
	case strings.Contains(a.Process, "/"):
		return " path=" + quoted(a.Process), nil
	}
	return " name=" + quoted(a.Process), nil
}

// image is the attribute of Image.
func (a *At) image() string {
	switch {
	case a.Image == "":
		return ""
	case a.Image == "main":
		return ` main="true"`
	case a.Image == "app":
		return ` anyButSys="true"`
	case strings.Contains(a.Image, "/"):
		return " path=" + quoted(a.Image)
	}
	return " name=" + quoted(a.Image)
}

// quoted is an attribute's value.
func quoted(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	return `"` + b.String() + `"`
}
