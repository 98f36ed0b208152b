package doctor

import (
	"fmt"
	"runtime"
	"strings"
)

// checkProcessor names the features that translation makes use of. All but the
// architecture only make things faster, or are things that targets may use.
//
// A single processor is a warning: the target waits for translations in a loop, and
// the tracer that is to answer gets the processor only when that loop gives up.
// Features are as /proc/cpuinfo names them, which is what the kernel lets programs
// use and not only what the processor could do.
func checkProcessor(h host) []Finding {
	if h.machine != "amd64" {
		return []Finding{{"processor", Bad, "this is " + h.machine + "; only x86-64 programs are traced", "use an x86-64 machine"}}
	}
	model := field(h, "/proc/cpuinfo", "model name")
	if model == "" {
		model = "x86-64"
	}
	out := []Finding{{"processor", Good, fmt.Sprintf("%s, %d available", model, runtime.NumCPU()), ""}}
	if runtime.NumCPU() == 1 {
		out[0].Verdict = Warn
		out[0].Remedy = "give it a second processor: target and tracer work side by side"
	}
	flags := " " + field(h, "/proc/cpuinfo", "flags") + " "
	for _, feature := range []struct{ flag, name, with, without string }{
		{"bmi2", "BMI2", "present: shifts that leave the flags alone", "absent: slower look-ups"},
		{"fsgsbase", "FSGSBASE", "present: targets may change segment bases without a system call", "absent"},
		{"avx512f", "AVX-512", "present: masked accesses are recorded lane by lane", "absent"},
		{"rtm", "RTM", "present: targets' transactions take their fallback path", "absent"},
		{"user_shstk", "shadow stacks", "present: targets run without them while traced", "absent"},
		{"constant_tsc", "constant TSC", "present: time stamps of all processors agree", "absent: time stamps may differ between processors"},
	} {
		f := Finding{feature.name, Info, feature.with, ""}
		if !strings.Contains(flags, " "+feature.flag+" ") {
			f.Found = feature.without
		}
		out = append(out, f)
	}
	return out
}
