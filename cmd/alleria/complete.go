package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/config/draft"
	"alleria/config/vocab"
)

// complete gives shells what flags take, by the names that they have in all commands. What comes from
// a file (names of functions and windows) is of the profile or program that the line names already;
// without one there is nothing to complete.
func (a *app) complete(c *cobra.Command) {
	words := map[string][]string{
		"only":     {"translate", "count", "blocks"},
		"fields":   {"time", "function", "address", "value", "branch", "none", "all"},
		"what":     draft.Recordables(),
		"sort":     {"address", "name", "size"},
		"syntax":   {"intel", "att"},
		"tuner":    {"on", "off"},
		"compress": {"off", "1", "3", "9", "19", "22"},
		"image":    {"main", "app", "all"},
		"select":   {"any", "anyMem", "form=", "class=", "isa=", "ext=", "cat="},
	}
	files := map[string]func(arg string) []string{"window": windowNames, "function": functionNames, "on-call": programNames, "till-return": programNames}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		var err error
		if list, ok := words[f.Name]; ok {
			err = c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return matching(list, typed, f.Name == "fields"), cobra.ShellCompDirectiveNoFileComp
			})
		} else if names, ok := files[f.Name]; ok {
			err = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if p := c.Flags().Lookup("program"); p != nil && p.Value.String() != "" {
					args = []string{p.Value.String()}
				}
				if len(args) == 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return matching(names(args[0]), typed, false), cobra.ShellCompDirectiveNoFileComp
			})
		}
		if err != nil { // of a flag that is not there, which was just visited
			panic(err)
		}
	})
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}

// matching are the words that begin with what was typed; of a list the last of its parts.
func matching(words []string, typed string, isList bool) (out []string) {
	before := ""
	if at := strings.LastIndexByte(typed, ','); isList && at >= 0 {
		before = typed[:at+1]
	}
	for _, w := range words {
		if strings.HasPrefix(before+w, typed) {
			out = append(out, before+w)
		}
	}
	return out
}

// windowNames are the windows of a profile. What cannot be read has none: a shell that completes is
// no place for messages, here and below.
func windowNames(path string) (names []string) {
	p, err := abp.Open(path)
	if err != nil {
		return nil
	}
	defer p.Close() // read only
	for _, proc := range p.Processes() {
		for _, def := range proc.WindowDefs() {
			names = append(names, def.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// functionNames are the functions of a profile, else those of a program.
func functionNames(path string) (names []string) {
	p, err := abp.Open(path)
	if err != nil {
		return programNames(path)
	}
	defer p.Close() // read only
	for _, proc := range p.Processes() {
		for i := range proc.Functions() {
			names = append(names, proc.Functions()[i].Display())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// programNames are the functions of a program itself.
func programNames(program string) (names []string) {
	t, err := openTarget(program)
	if err != nil {
		return nil
	}
	defer t.Close()
	fns := t.Program().Functions()
	for i := range fns {
		if len(fns[i].Aliases) > 0 {
			names = append(names, fns[i].Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownFlag says which flag a misspelt one may have been meant to be.
func unknownFlag(c *cobra.Command, bad *pflag.NotExistError) error {
	name := bad.GetSpecifiedName()
	if bad.GetSpecifiedShortnames() != "" { // a letter: nothing is near it
		return bad
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := vocab.Nearest(name, known)
	if near == "" {
		return usagef("%w; alleria %s --help lists the flags", error(bad), c.Name())
	}
	return usagef("%w; did you mean --%s?", error(bad), near)
}

// notExisting takes an error of a flag that there is not apart, nil if it is another.
func notExisting(err error) *pflag.NotExistError {
	var bad *pflag.NotExistError
	if errors.As(err, &bad) {
		return bad
	}
	return nil
}
