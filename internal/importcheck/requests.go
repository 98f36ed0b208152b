package importcheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
)

// requests are the functions of internal/sys that ask ptrace for something, or take a tracee's signals out of the kernel's hands.
func requests() map[string]bool {
	all := map[string]bool{}
	for _, name := range []string{"Seize", "SetOptions", "Interrupt", "GetRegs", "SetRegs", "Cont", "ContToCall", "Step", "Listen", "Detach", "EventMsg",
		"GetSiginfo", "SetSiginfo", "SignalMask", "SetSignalMask", "PendingSignals", "SendSignal", "XState", "SetXState", "ReadUserDispatch", "SetUserDispatch"} {
		all[name] = true
	}
	return all
}

// tracers says which folders make such requests, and why: whoever else traces asks engine/tracee, which knows what is held and what was put aside.
func tracers() map[string]string {
	return map[string]string{
		"engine/tracee":   "the room for it",
		"engine/launch":   "the launcher, which nobody owns yet, is seized",
		"engine/step":     "the oracle: it shares nothing with what it is compared with",
		"internal/doctor": "it tries whether a process of its own may be traced",
	}
}

// checkRequests looks for requests in a file that imports internal/sys.
func checkRequests(name, rel string) ([]Violation, error) {
	if folder := path.Dir(rel); tracers()[folder] != "" || within(folder, "internal/sys") {
		return nil, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	as := importedAs(file, Module+"/internal/sys")
	if as == "" {
		return nil, nil
	}
	var found []Violation
	known := requests()
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == as && known[sel.Sel.Name] {
			found = append(found, Violation{rel, fset.Position(sel.Pos()).Line,
				fmt.Sprintf("sys.%s is called only by engine/tracee: requests of ptrace go through it", sel.Sel.Name)})
		}
		return true
	})
	return found, nil
}

// importedAs is the name that a file has for a package, empty if it does not import it.
func importedAs(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(pkg)
		}
	}
	return ""
}
