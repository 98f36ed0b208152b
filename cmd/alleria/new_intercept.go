package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"alleria/config"
	"alleria/interceptors"
	"alleria/internal/against"
	"alleria/internal/symbols"
)

// prototypeFlags name files that declare functions of which there is no debug information.
type prototypeFlags struct {
	headers    []string
	prototypes []string
}

func (f *prototypeFlags) register(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.headers, "header", nil, "take prototypes of functions from this C `file`; may be repeated")
	fl.StringArrayVar(&f.prototypes, "prototypes", nil, "take prototypes of functions from this `file` in ltrace's language; may be repeated")
}

// load reads the files; nil if there are none.
func (f *prototypeFlags) load() (*interceptors.Declarations, error) {
	if len(f.prototypes)+len(f.headers) == 0 {
		return nil, nil
	}
	d := &interceptors.Declarations{}
	for _, name := range f.prototypes {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--prototypes: %w", err)
		}
		if err := d.ParsePrototypes(name, string(text)); err != nil {
			return nil, usagef("--prototypes: %w", err)
		}
	}
	for _, name := range f.headers {
		if err := d.Header(name); err != nil {
			return nil, usagef("--header: %w", err)
		}
	}
	return d, nil
}

// newIntercepts writes a configuration that captures calls of functions, with their types written out.
func (a *app) newIntercepts(f *newFlags) error {
	if f.program == "" {
		return usagef("--intercept looks functions up in a program: alleria new --intercept FUNCTION PROGRAM")
	}
	t, err := openTarget(f.program)
	if err != nil {
		return err
	}
	defer t.Close()
	c := interceptors.NewCompiler()
	if c.Added, err = f.load(); err != nil {
		return err
	}
	e := interceptors.NewExplicit(c)
	byImage := make(map[string][]string)
	var images []string
	for _, name := range f.intercepts {
		image, lines, err := interceptLines(t, c, e, name, f.depth)
		if err != nil {
			return err
		}
		if byImage[image] == nil {
			images = append(images, image)
		}
		byImage[image] = append(byImage[image], lines...)
	}
	var w configWriter
	w.put(0, `<AlleriaConfig version="1.0"`)
	w.put(0, `    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`)
	w.put(0, `    xsi:noNamespaceSchemaLocation="alleria.xsd">`)
	w.comment(1, "What calls of functions are given and return. in: as at entry, out: as at return. Leave out what is of no interest.")
	if types := e.Types(); len(types) > 0 {
		w.put(1, "<Types>")
		for _, lines := range types {
			w.lines(2, strings.Split(lines, "\n"))
		}
		w.put(1, "</Types>")
	}
	w.lines(1, []string{"<Window>", "  <Profile>", "    <Process>", "      <Thread>"})
	for _, image := range images {
		w.put(5, "<Image %s>", image)
		w.lines(6, byImage[image])
		w.put(5, "</Image>")
	}
	w.lines(1, []string{"      </Thread>", "    </Process>", "  </Profile>", "</Window>"})
	w.put(0, "</AlleriaConfig>")
	if _, _, err := config.Parse("(options)", w.Bytes()); err != nil {
		return fmt.Errorf("the configuration that describes these functions is wrong, which is a fault of alleria: %w", err)
	}
	if f.output == "" {
		_, err := a.stdout.Write(w.Bytes())
		return err
	}
	return f.write(a, w.Bytes())
}

// interceptLines finds a function and gives the lines of its Function, and the attribute of its Image.
func interceptLines(t *against.Target, c *interceptors.Compiler, e *interceptors.Explicit, name string, depth int) (image string, lines []string, err error) {
	function, where := config.SplitFunction(name)
	for _, im := range t.Images() {
		if where != "" && !im.Key.HasName(where) && !im.Key.HasPath(where) {
			continue
		}
		for _, fn := range im.Find(function, false) {
			if fn.Kind == symbols.PLT {
				continue
			}
			p := c.Known(im.Image, im.Key.System, fn, fn.Addr, function, depth)
			if p == nil {
				return "", nil, usagef("--intercept %s: there are neither debug information nor a known prototype of it; --header FILE or --prototypes FILE gives one", name)
			}
			image = "name=" + quoted(im.Name)
			if im.Key.Main {
				image = `main="true"`
			}
			lines = append(lines, "<Function name="+quoted(function)+">")
			for _, line := range e.Intercept(p) {
				lines = append(lines, "  "+line)
			}
			return image, append(lines, "</Function>"), nil
		}
	}
	return "", nil, usagef("--intercept %s: neither the program nor its libraries have that function; alleria functions lists what there is", name)
}
