package randprog

import (
	_ "embed" // for the templates
	"fmt"
	"strings"
)

// Set is instructions that need a processor feature; "" is none. Those of heavier
// sets are more frequent.
type Set struct {
	needs  string
	weight int
	text   string
}

// Templates are the instructions of random sequences. A line is one or several,
// separated by semicolons; before a colon stand registers that it writes by
// name. Placeholders are those of Generator.placeholder. Every memory operand
// lies in the program's buffer.
func Templates() (sets []Set) {
	for part := range strings.SplitSeq(strings.TrimPrefix(templates, "["), "\n[") {
		head, text, _ := strings.Cut(part, "]")
		var s Set
		fmt.Sscan(head, &s.needs, &s.weight)
		if s.needs == "any" {
			s.needs = ""
		}
		s.text = strings.TrimSuffix(text, "\n") + "\n"
		sets = append(sets, s)
	}
	return sets
}

// templates has, for each set, a line [FEATURE WEIGHT] and its templates; any: no feature is needed.
//
//go:embed templates.txt
var templates string

// Faulting is instructions that fault; the handler goes on behind them. The
// flags are set anew there: an instruction that would have overwritten them
// finds any, and one that is skipped leaves those.
func Faulting() Set {
	return Set{weight: 3, text: `
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, [0x1000]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov [0x1008], {r32}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; add dword ptr [0x1008], {r32}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, 0; adc {=}, [{=}+0x1000]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; cmp byte ptr [0x1008], {i8}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; push qword ptr [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; call [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; jmp [0x1010]; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; movups [0x1010], {x}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; mov {w64}, 0x2000; jmp {=}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; hlt; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; lock xadd [0x1000], {w64}; {L}: cmp rsp, 8
lea {w64}, {L}[rip]; mov resume[rip], {=}; cmov{cc} {w64}, [0x1000]; {L}: cmp rsp, 8
`}
}

// Trapping is instructions that the tracer executes: slow ones. A kernel that does not know of those that set a segment's base loses what they set with the next
// switch of threads, whatever the processor can do.
func Trapping() []Set {
	return []Set{{needs: "fsgsbase", weight: 1, text: `
rax: rdfsbase rax; lea rax, [rax+8]; wrfsbase rax; mov {w64}, fs:[64]; lea rax, buf[rip+1600]; wrfsbase rax
`}, {weight: 1, text: `
mov {w64}, gs:[{u6}]
mov gs:[{u6}], {r64}
add gs:[{u6}], {r32}
`}}
}
