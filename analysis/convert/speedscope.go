package convert

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"alleria/abp"
	"alleria/analysis/calls"
)

// speedscopeFormat is the file format of speedscope.app.
func speedscopeFormat() *Format {
	return &Format{
		Name: "speedscope", Ending: ".speedscope.json", Summary: "JSON for speedscope.app: instructions, or another cost, by stack, a profile a thread", one: true,
		Needs: "as collapsed",
		write: writeSpeedscope,
	}
}

// speedscopeFrame is a function.
type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line uint32 `json:"line,omitempty"`
}

// stackedThread is the stacks of a thread that have costs of their own.
type stackedThread struct {
	name    string
	unit    string
	stacks  [][]int // numbers of functions, the outermost first
	weights []uint64
	total   uint64
}

// writeSpeedscope writes a sampled profile a thread: a sample a stack, whose weight is its
// instructions or another cost.
func writeSpeedscope(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	var (
		frames  []speedscopeFrame
		numbers = map[speedscopeFrame]int{}
		threads []stackedThread
	)
	chosen, err := o.oneCost()
	if err != nil {
		return err
	}
	err = o.eachTree(chosen, func(p *abp.Process, t *abp.Thread, root *calls.Node, own func(n *calls.Node) uint64) error {
		st := stackedThread{name: fmt.Sprintf("%s, thread %d", processName(p), t.Number), unit: "none"}
		if chosen.unit != "count" {
			st.unit = chosen.unit
		}
		var walk func(n *calls.Node, stack []int)
		walk = func(n *calls.Node, stack []int) {
			for _, c := range n.Children {
				fr := speedscopeFrame{c.Func.Name, c.Func.File, c.Func.Line}
				k, ok := numbers[fr]
				if !ok {
					k = len(frames)
					numbers[fr], frames = k, append(frames, fr)
				}
				s := append(stack[:len(stack):len(stack)], k)
				if cost := own(c); cost > 0 {
					st.stacks, st.weights = append(st.stacks, s), append(st.weights, cost)
					st.total += cost
				}
				walk(c, s)
			}
		}
		walk(root, nil)
		threads = append(threads, st)
		return nil
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	list, err := json.Marshal(frames)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"alleria","activeProfileIndex":0,"shared":{"frames":%s},"profiles":[`, list)
	for i := range threads {
		if i > 0 {
			out.WriteByte(',')
		}
		threads[i].speedscope(out)
	}
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}

// speedscope writes a thread's profile. Errors wait for the writer's Flush.
func (t *stackedThread) speedscope(out *bufio.Writer) {
	fmt.Fprintf(out, `{"type":"sampled","name":%s,"unit":%q,"startValue":0,"endValue":%d,"samples":`, appendString(nil, t.name), t.unit, t.total)
	line := append([]byte(nil), '[')
	for i, s := range t.stacks {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, '[')
		for k, n := range s {
			if k > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, int64(n), 10)
		}
		line = append(line, ']')
		_, _ = out.Write(line)
		line = line[:0]
	}
	line = append(line, `],"weights":[`...)
	for i, n := range t.weights {
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendUint(line, n, 10)
	}
	_, _ = out.Write(append(line, "]}"...))
}
