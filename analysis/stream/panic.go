package stream

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// PanicPlace is the innermost place of our code below a panic, which is not the runtime's. It is called by the function that
// recovers from it; or by one that it calls, further is how many lie in between.
func PanicPlace(further int) string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3+further, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d (%s)", filepath.Base(f.File), f.Line, f.Function)
		}
		if !more {
			return "a place that is not known"
		}
	}
}
