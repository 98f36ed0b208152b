package interceptors

import (
	"slices"
	"strings"
)

// widest is how many bytes the widest vector has that GCC's code takes or returns in a register, by the flags that it leaves in
// debug information; 0: they are not there. What a function's own attribute says (target) is not there either.
func widest(producer string) int {
	flags := strings.Fields(producer)
	if !strings.HasPrefix(producer, "GNU ") || !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-march=") }) {
		return 0
	}
	most, limit := 16, widestVector
	for _, f := range flags {
		arch, isArch := strings.CutPrefix(f, "-march=")
		switch {
		case isArch:
			most = max(most, widestOf(arch))
		case strings.HasPrefix(f, "-mavx512"):
			most = 64
		case strings.HasPrefix(f, "-mavx"), slices.Contains([]string{"-mfma", "-mfma4", "-mf16c", "-mxop", "-mvaes", "-mvpclmulqdq"}, f):
			most = max(most, 32)
		case f == "-mno-avx":
			limit = 16
		case f == "-mno-avx512f":
			limit = min(limit, 32)
		}
	}
	return min(most, limit)
}

// widestOf is widest of a processor, as GCC names it.
func widestOf(arch string) int {
	begins := func(prefix string) bool { return strings.HasPrefix(arch, prefix) }
	switch {
	case slices.ContainsFunc([]string{"x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "icelake", "tigerlake", "rocketlake",
		"sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids", "znver4", "znver5", "knl", "knm"}, begins):
		return 64
	case slices.ContainsFunc([]string{"x86-64-v3", "sandybridge", "ivybridge", "corei7-avx", "core-avx", "haswell", "broadwell", "skylake", "alderlake", "raptorlake",
		"meteorlake", "arrowlake", "lunarlake", "pantherlake", "gracemont", "sierraforest", "grandridge", "clearwaterforest", "bdver", "btver2", "znver", "lujiazui"}, begins):
		return 32
	}
	return 16
}
