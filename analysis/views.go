package analysis

import (
	"bufio"
	"fmt"
	"io"
)

// The text forms of what is counted by instruction, line and memory. top bounds the rows
// (0: all).

// WriteInstructions writes instructions with their disassembly, the busiest first; text makes
// it of an instruction.
func WriteInstructions(w io.Writer, all []InsCount, total uint64, top int, text func(*InsCount) string, place func(Code) string) error {
	t := NewTextTable("address", "place", "instruction", "executed", "%", "loads", "stores")
	t.Text = 3
	for i := range all {
		c := &all[i]
		if top > 0 && i == top {
			t.More = len(all) - i
			break
		}
		t.Add(fmt.Sprintf("%#014x", c.Addr), cut(place(c.Place()), 40), text(c), FormatExact(c.Instructions), share(c.Instructions, total), FormatExact(c.Loads), FormatExact(c.Stores))
	}
	return writeTable(w, t)
}

// WriteLines writes lines of source.
func WriteLines(w io.Writer, all []LineCount, total uint64, top int) error {
	t := NewTextTable("line", "image", "instructions", "%", "loads", "stores")
	t.Text = 2
	for i := range all {
		l := &all[i]
		if top > 0 && i == top {
			t.More = len(all) - i
			break
		}
		t.Add(cut(l.Name(), 60), cut(l.Image, 30), FormatExact(l.Instructions), share(l.Instructions, total), FormatExact(l.Loads), FormatExact(l.Stores))
	}
	return writeTable(w, t)
}

// WriteTouched writes lines of memory with who touches them.
func WriteTouched(w io.Writer, all []TouchedLine, top int) error {
	t := NewTextTable("address", "region", "touched by", "threads", "sharing", "reads", "writes")
	t.Text = 5
	for i := range all {
		l := &all[i]
		if top > 0 && i == top {
			t.More = len(all) - i
			break
		}
		by := ""
		if len(l.Code) > 0 {
			by = cut(l.Code[0].Place, 40)
			if len(l.Code) > 1 {
				by += " and others"
			}
		}
		t.Add(fmt.Sprintf("%#014x", l.Address), cut(l.Region, 24), by, fmt.Sprint(len(l.Threads)), string(l.Sharing), FormatExact(l.Reads), FormatExact(l.Writes))
	}
	return writeTable(w, t)
}

// writeTable writes one table by itself.
func writeTable(w io.Writer, t *TextTable) error {
	out := bufio.NewWriter(w)
	t.Write(out, "  ")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
