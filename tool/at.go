package tool

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// At says where records are made. Accesses, Instructions, Blocks and Entry make one; its fields narrow it down.
type At struct {
	// Select picks instructions as `alleria record --select` does: any, anyMem, or class=, cat=, ext=, isa= or form= with a name
	// of Intel XED's tables, as in class=RET_NEAR.
	Select string
	// Image is main, app (every image but the system's), a file name or a full path. Empty: all code.
	Image string
	// Function narrows it down to functions; it may hold *. Empty: all.
	Function string
	// On and Till open and close the window in which records are made, as elements of the window language:
	// `<Call name="work"/>`. Empty: from the beginning, to the end.
	On, Till string
	// Reopen lets the window open again each time that On fires.
	Reopen bool
	// If, if it has a source, is the condition under which a record is made.
	If Condition

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

// Between has records made only in a window, from one event of the window language to another.
func (a At) Between(on, till string) At {
	a.On, a.Till = on, till
	return a
}

// When has records made only where a condition holds.
func (a At) When(c Condition) At {
	a.If = c
	return a
}

// Condition holds where a source lies between two numbers, both included. It is looked at before a record is made.
type Condition struct {
	Of          Source
	Least, Most uint64
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
	b.WriteString("<Profile><Process><Thread><Image" + a.image() + "><Function")
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
