package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// kind is what is measured. It is a word of known.txt.
type kind string

// The kinds.
const (
	fields     kind = "fields"     // of a struct
	lines      kind = "lines"      // of a function, from its first to its last, without its comment
	complexity kind = "complexity" // ways through a function: one, and one more for each branch
	files      kind = "files"      // in a folder, of all languages, besides tests
)

// kinds is their order in tables.
func kinds() []kind { return []kind{fields, lines, complexity, files} }

// limit is the largest figure of a kind that needs no entry in known.txt.
func limit(k kind) int {
	switch k {
	case fields:
		return 25
	case lines:
		return 60
	case complexity:
		return 20
	}
	return 40
}

// exempt tells what has no limit: a decoded instruction is as many facts as the decoder gives, in one
// piece of memory that C writes.
func exempt(f *figure) bool { return f.Kind == fields && f.Name == "engine/x86.Insn" }

// figure is one measurement.
type figure struct {
	Kind  kind   `json:"kind"`
	Name  string `json:"name"` // folder, then the declaration: engine.(*Process).unit
	Value int    `json:"value"`
	File  string `json:"file"` // relative to the root; a folder's own path for files
	Line  int    `json:"line,omitempty"`
}

// folder is what the figure belongs to.
func (f *figure) folder() string {
	if f.Kind == files {
		return f.File
	}
	return path.Dir(f.File)
}

// where is how editors find it.
func (f *figure) where() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// measure returns the figures of everything below root, in the order of folders and files.
func measure(root string) (all []figure, err error) {
	count := map[string]int{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir():
			return skip(rel, d.Name())
		case !source(rel):
			return nil
		}
		count[path.Dir(rel)]++
		if path.Ext(rel) != ".go" {
			return nil
		}
		found, err := measureFile(name, rel)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", root, err)
	}
	for folder, n := range count {
		all = append(all, figure{Kind: files, Name: folder, Value: n, File: folder})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].folder() < all[j].folder() })
	return all, nil
}

// skip leaves out what the go command leaves out of "./...": fixtures below testdata are programs of
// their own. So are the sources that the benchmark generates to have them built.
func skip(rel, base string) error {
	if rel == "bench-out" {
		return fs.SkipDir
	}
	if rel != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
		return fs.SkipDir
	}
	return nil
}

// source tells the files that count: those that a package is built of, but for tests.
func source(rel string) bool {
	switch path.Ext(rel) {
	case ".go", ".c", ".h", ".S", ".s":
		return !strings.HasSuffix(rel, "_test.go")
	}
	return false
}

// measureFile measures the declarations of one file.
func measureFile(name, rel string) (all []figure, err error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(k kind, name string, value int, at token.Pos) {
		all = append(all, figure{k, path.Dir(rel) + "." + name, value, rel, fset.Position(at).Line})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := funcName(d)
			add(lines, name, fset.Position(d.End()).Line-fset.Position(d.Pos()).Line+1, d.Pos())
			add(complexity, name, ways(d), d.Pos())
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					structs(t.Name.Name, t.Type, add)
				}
			}
		}
	}
	return all, nil
}

// structs measures a struct and those that are written out within it, each by itself: what is in one piece with a
// name is one field.
func structs(name string, t ast.Expr, add func(k kind, name string, value int, at token.Pos)) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return
	}
	n := 0
	for _, f := range s.Fields.List {
		n += max(len(f.Names), 1) // an embedded one has no name
		if len(f.Names) > 0 {
			structs(name+"."+f.Names[0].Name, f.Type, add)
		}
	}
	add(fields, name, n, t.Pos())
}

// funcName is a function's or method's name as panics write it, without the folder.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t, star := d.Recv.List[0].Type, false
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t, star = x.X, true
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.IndexListExpr:
			t = x.X
			continue
		case *ast.Ident:
			if star {
				return "(*" + x.Name + ")." + d.Name.Name
			}
			return x.Name + "." + d.Name.Name
		}
		return d.Name.Name
	}
}

// ways is the cyclomatic complexity: one, and one for each if, loop, case that is not the default, && and
// ||. Functions within count towards the one that they stand in.
func ways(d *ast.FuncDecl) int {
	n := 1
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
