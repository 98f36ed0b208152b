// Package importcheck keeps the folders' import directions, and the places of
// unsafe code and of system calls, as the architecture page draws them.
//
// In a nutshell: Check parses the import clauses of every Go file below a root
// and compares them with one table, rules. A folder without a row is an error
// as well, so that a new folder has to say what it may use. Parsing beats
// asking "go list": it needs no build, no module download and no C compiler,
// and it reports the line. Files that use internal/sys are parsed whole: requests of
// ptrace are the business of few folders, which tracers names.
//
// CheckPages holds the pages that say where things are to the tree, and the table of folders that people read to rules.
//
// Its test runs it over the whole repository, and the CI script runs that test
// by name. It does not judge test files: a test may use what it likes to make
// its inputs. It keeps no state.
package importcheck

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Module is the path that imports of this project begin with.
const Module = "alleria"

// all stands in a rule for every folder that is not a command.
const all = "*"

// rules says for each folder which of our other folders it may import. A
// folder's row holds for what lies below it too, unless that has its own.
// It is a function and not a variable so that nothing can change it.
//
// Folders that do not exist yet have rows as well, so that whoever makes them finds what was
// decided. Nothing is listed for the standard library and for modules of others.
func rules() map[string][]string {
	table := map[string][]string{
		"schemas":                      {},
		"config":                       {"schemas", "config/vocab", "internal/errno"},
		"config/vocab":                 {},
		"config/quantity":              {},
		"config/draft":                 {"config", "config/quantity"},
		"abp":                          {"internal/errno"},
		"emit":                         {"cab", "abp", "internal/records", "internal/sys"},
		"cab":                          {"internal/sys", "internal/layout"},
		"cab/tuner":                    {},
		"cab/topology":                 {},
		"window":                       {"config"},
		"proctree":                     {"internal/sys"},
		"interceptors":                 {"config", "abp", "internal/errno", "internal/capture", "internal/debuginfo", "internal/symbols"},
		"internal/layout":              {},
		"internal/records":             {},
		"internal/capture":             {},
		"internal/sys":                 {},
		"internal/diskcache":           {"internal/sys"},
		"internal/spin":                {},
		"internal/errno":               {},
		"internal/programfile":         {},
		"internal/monitor":             {"internal/sys"},
		"internal/symbols":             {"internal/debuginfo"},
		"internal/debuginfo":           {},
		"internal/debuginfod":          {"internal/symbols"},
		"internal/randprog":            {},
		"internal/importcheck":         {},
		"internal/figures":             {"internal/importcheck"},
		"internal/against":             {"config", "config/vocab", "analysis", "engine/x86", "internal/symbols"},
		"internal/unwind":              {},
		"internal/doctor":              {"analysis", "internal/sys"},
		"internal/costmodel":           {"abp", "internal/sys"},
		"internal/acceptance":          {}, // tests through the command line only
		"internal/session":             {all},
		"internal/session/stacks":      {"abp", "engine", "engine/x86", "internal/symbols", "internal/unwind"},
		"internal/session/ways":        {"config", "interceptors"},
		"internal/session/spaces":      {"abp", "internal/sys"},
		"internal/session/asks":        {"engine", "engine/asking", "internal/session/executables", "internal/sys"},
		"internal/session/executables": {"internal/sys"},
		"internal/session/plan":        {"config", "abp", "emit", "engine", "engine/x86", "internal/records", "internal/symbols", "internal/sys"},
		"cmd":                          {all},
		"tool":                         {"abp", "analysis", "cab", "config", "internal/against", "internal/session", "internal/sys"},
		"examples":                     {"tool"},
		"bench":                        {"abp", "internal/sys"},
		"bench/rings":                  {},
		"bench/queues":                 {"bench/rings"},
	}
	maps.Copy(table, engineRules())
	maps.Copy(table, analysisRules())
	return table
}

// analysisRules are the rows of what reads profiles.
func analysisRules() map[string][]string {
	return map[string][]string{
		"analysis":            {"abp", "cab", "analysis/pages"},
		"analysis/pages":      {"abp", "analysis/lanes"},
		"analysis/lanes":      {"abp"},
		"analysis/openings":   {"abp", "analysis", "internal/symbols"},
		"analysis/reuse":      {"abp", "analysis"},
		"analysis/sharedmem":  {"abp", "analysis"},
		"analysis/stream":     {"abp", "analysis"},
		"analysis/cache":      {"abp", "analysis"},
		"analysis/calls":      {"abp", "analysis", "internal/sys"},
		"analysis/live":       {"abp", "analysis"},
		"analysis/paths":      {"abp", "analysis"},
		"analysis/strides":    {"abp", "analysis"},
		"analysis/coherence":  {"abp", "analysis"},
		"analysis/adaptive":   {"abp"},
		"analysis/convert":    {"abp", "analysis", "internal/symbols"},
		"analysis/intercepts": {"abp", "analysis", "internal/symbols"},
	}
}

// engineRules are the rows of the engine and its rooms.
func engineRules() map[string][]string {
	return map[string][]string{
		"engine":           {"internal/diskcache", "internal/sys", "internal/layout", "internal/records", "internal/capture", "internal/spin"},
		"engine/launch":    {"internal/sys"},
		"engine/appcode":   {"engine/codecache", "engine/x86", "internal/sys"},
		"engine/budget":    {"engine/shm", "engine/translate", "engine/codecache", "internal/layout"},
		"engine/probe":     {"engine/asking", "engine/shm", "engine/translate", "engine/codecache", "engine/asm", "engine/x86", "internal/sys", "internal/layout", "internal/capture"},
		"engine/reuse":     {"engine/codecache", "internal/diskcache", "internal/sys", "internal/layout", "internal/records"},
		"engine/recovery":  {"engine/budget", "engine/codecache", "engine/shm", "engine/translate", "engine/x86", "internal/layout", "internal/records", "internal/sys"},
		"engine/emulate":   {"engine/recovery", "engine/x86", "internal/records", "internal/sys"},
		"engine/counts":    {"engine/codecache", "engine/recovery", "engine/shm", "engine/translate", "internal/layout"},
		"engine/residency": {},
		"engine/births":    {"internal/sys"},
		"engine/asking":    {"internal/sys"},
		"engine/followed":  {"engine/asking", "engine/births", "engine/tracee", "internal/sys"},
		"engine/starts":    {"internal/sys"},
		"engine/captures":  {"engine/probe", "engine/recovery", "engine/shm", "engine/tracee", "engine/x86", "internal/capture", "internal/layout", "internal/records", "internal/sys"},
		"engine/detach":    {"engine/tracee"},
		"engine/sigframe":  {"internal/layout", "internal/sys"},
		// what tests have in place of a process
		"engine/testprogram": {"engine/codecache", "engine/shm", "engine/x86", "internal/layout", "internal/sys"},
		"engine/toggle":      {"engine/codecache", "engine/probe", "engine/shm", "internal/layout", "internal/records"},
		"engine/handover":    {"engine/shm", "internal/layout", "internal/spin", "internal/sys"},
		"engine/mapping":     {"engine/appcode", "engine/codecache", "engine/shm", "engine/syscalls", "engine/tracee", "internal/layout", "internal/sys"},
		"engine/syscalls":    {"engine/appcode", "engine/shm", "engine/tracee", "internal/layout", "internal/sys"},
		"engine/tracee":      {"internal/sys"},
		"engine/shm":         {"internal/sys", "internal/layout", "internal/records", "internal/spin"},
		"engine/translate":   {"engine/asm", "engine/x86", "engine/codecache", "internal/layout", "internal/records"},
		"engine/codecache":   {"engine/asm", "engine/x86", "internal/sys", "internal/layout", "internal/records"},
		"engine/x86":         {"internal/records"},
		"engine/asm":         {"engine/x86"},
	}
}

// doors says which folders make system calls of their own, and why the door for all
// (internal/sys) is none for them. Nothing below them may.
func doors() map[string]string {
	return map[string]string{
		"internal/sys":     "the door",
		"engine/step":      "the oracle: it shares nothing with what it is compared with",
		"abp/frame":        "a leaf that is used without the rest: it maps memory",
		"internal/records": "a leaf: it maps the table of facts",
	}
}

// systemCalls is the package that stands for system calls. The standard library's syscall is for
// errors and signals' numbers and needs no door.
const systemCalls = "golang.org/x/sys/unix"

// Violation is one import, or one file, that breaks a rule.
// It is a finding and not an error: all of them are reported, in one run.
type Violation struct {
	File string // relative to the root, with slashes
	Line int
	What string
}

// String gives the violation as compilers do, for editors to jump to.
func (v Violation) String() string { return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.What) }

// Check returns every violation below root, in the order of file names. The
// error tells of files that cannot be read or parsed.
func Check(root string) ([]Violation, error) {
	var found []Violation
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			return skipDir(rel, d.Name())
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		v, err := checkFile(name, rel)
		if err != nil {
			return err
		}
		r, err := checkRequests(name, rel)
		found = append(append(found, v...), r...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("import check: %w", err)
	}
	return found, nil
}

// skipDir leaves out what the go command leaves out of "./..." as well: fixture
// programs below testdata are not part of the build.
func skipDir(rel, base string) error {
	if rel != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
		return fs.SkipDir
	}
	return nil
}

// checkFile judges one file's imports.
// Build tags are not looked at: a file of another system has to keep the rules too.
func checkFile(name, rel string) ([]Violation, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	folder := path.Dir(rel)
	own, allowed, known := ruleFor(folder)
	if !known {
		return []Violation{{rel, 1, fmt.Sprintf("folder %s has no row in the import rules; add one to internal/importcheck", folder)}}, nil
	}
	var found []Violation
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if what := judge(rel, own, allowed, imported); what != "" {
			found = append(found, Violation{rel, fset.Position(spec.Pos()).Line, what})
		}
	}
	return found, nil
}

// ruleFor finds the row of the nearest folder above, so that a nested row (a
// command inside a library's folder, say) wins over its parent's.
func ruleFor(folder string) (own string, allowed []string, known bool) {
	table := rules()
	for f := folder; f != "."; f = path.Dir(f) {
		if allowed, known = table[f]; known {
			return f, allowed, true
		}
	}
	return folder, nil, false
}

// judge says what is wrong with one import; the empty string if nothing is.
// unsafe and C are judged before our own folders: no row can allow them.
func judge(rel, own string, allowed []string, imported string) string {
	switch {
	case imported == "unsafe" && !hasSuffix(rel, "_unsafe", "_cgo"):
		return "unsafe is imported only by files named *_unsafe.go or *_cgo.go"
	case imported == "C" && !hasSuffix(rel, "_cgo"):
		return "cgo is used only by files named *_cgo.go"
	case imported == systemCalls && doors()[path.Dir(rel)] == "":
		return systemCalls + " is imported only by internal/sys: system calls go through it"
	case strings.HasPrefix(imported, Module+"/"):
		return judgeOurs(own, allowed, strings.TrimPrefix(imported, Module+"/"))
	}
	return ""
}

// judgeOurs judges an import of one of our own folders.
// A folder may use its own subfolders. The row for all leaves commands out: nothing
// builds upon those.
func judgeOurs(own string, allowed []string, target string) string {
	if within(target, own) {
		return ""
	}
	for _, a := range allowed {
		if a == all && !within(target, "cmd") || within(target, a) {
			return ""
		}
	}
	if len(allowed) == 0 {
		return fmt.Sprintf("%s may import none of our folders, but imports %s", own, target)
	}
	return fmt.Sprintf("%s may import %s, but imports %s", own, strings.Join(allowed, ", "), target)
}

// within reports whether a folder is another or lies below it. A common
// prefix of names is not enough: cab is not above cabinet.
func within(target, folder string) bool {
	return target == folder || strings.HasPrefix(target, folder+"/")
}

// hasSuffix looks at the name before .go, with Go's own suffix for the
// processor taken off: stubs_unsafe_amd64.go counts as *_unsafe.go.
func hasSuffix(rel string, suffixes ...string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(rel, ".go"), "_amd64")
	for _, s := range suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}
