package launch

/*
#include <stdlib.h>
#include "stage.h"
*/
import "C"

import (
	"os"
	"unsafe"

	"alleria/internal/sys"
)

// stage is what a launcher stage needs, in C's memory.
type stage struct{ s *C.struct_alleria_stage }

// startStage starts the launcher stage of a program: see stage.c. wait and release are the
// ends of a pipe, report is the end of another that an error number is written to.
// copied is for a stage that does not share the tracer's memory.
func startStage(o *Program, copied bool, wait, release, report *os.File) (pid int, st stage, err error) {
	s := (*C.struct_alleria_stage)(C.calloc(1, C.sizeof_struct_alleria_stage))
	s.path = C.CString(o.Path)
	if o.Dir != "" {
		s.dir = C.CString(o.Dir)
	}
	s.argv, s.envp = cStrings(o.Argv), cStrings(o.Env)
	s.wait, s.release, s.report = C.int(wait.Fd()), C.int(release.Fd()), C.int(report.Fd())
	s.slack = C.long(sys.Slack())
	if o.NoASLR {
		s.fixed = 1
	}
	if copied {
		s.copied = 1
	}
	st = stage{s}
	r := C.alleria_launch(s)
	if r < 0 {
		st.free()
		return 0, stage{}, sys.Errno(-r)
	}
	return int(r), st, nil
}

// free gives the memory back, once the stage has executed the target or ended.
func (st *stage) free() {
	s := st.s
	if s == nil {
		return
	}
	st.s = nil
	freeStrings(s.argv)
	freeStrings(s.envp)
	C.free(unsafe.Pointer(s.path))
	C.free(unsafe.Pointer(s.dir))
	C.free(unsafe.Pointer(s))
}

// cStrings is a list of strings with a null pointer at its end.
func cStrings(list []string) **C.char {
	size := C.size_t(unsafe.Sizeof((*C.char)(nil)))
	p := (**C.char)(C.calloc(C.size_t(len(list)+1), size))
	for i, s := range list {
		unsafe.Slice(p, len(list))[i] = C.CString(s)
	}
	return p
}

func freeStrings(p **C.char) {
	for q := p; *q != nil; q = (**C.char)(unsafe.Add(unsafe.Pointer(q), unsafe.Sizeof(*q))) {
		C.free(unsafe.Pointer(*q))
	}
	C.free(unsafe.Pointer(p))
}
