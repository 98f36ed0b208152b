package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis/live"
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

		"follow":    {"all", "none", "threads"},
		"buffering": {"cab", "nway", "fastforward", "batched"},
		"sample-by": {"instructions", "time"},
		"analysis":  live.Names(),
		"model":     live.Names(),
	}
	lists := map[string]bool{"fields": true, "analysis": true}
	files := map[string]func(arg string) []string{"window": windowNames, "function": functionNames, "callers": functionNames, "callees": functionNames,
		"intercept": functionNames, "on-call": programNames, "till-return": programNames}
	libraries := map[string]bool{"intercept": true, "on-call": true, "till-return": true} // they take function@image
	c.Flags().VisitAll(func(f *pflag.Flag) {
		directive := directiveFor(f)
		with := func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return nil, directive
		}
		if list, ok := words[f.Name]; ok {
			with = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return matching(list, typed, lists[f.Name]), cobra.ShellCompDirectiveNoFileComp
			}
		} else if names, ok := files[f.Name]; ok {
			with = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				found := namesFor(c, args, names, typed)
				// Not where an @ was typed: shells complete what is behind it as a word of its own.
				if libraries[f.Name] && typed != "" && !strings.Contains(typed, "@") {
					found = append(found, namesFor(c, args, libraryNames, typed)...)
				}
				return found, cobra.ShellCompDirectiveNoFileComp
			}
		}
		if _, has := c.GetFlagCompletionFunc(f.Name); has { // the command's own
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, with); err != nil { // of a flag that is not there, which was just visited
			panic(err)
		}
	})
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}

// directiveFor says whether files complete what a flag takes: its help names that.
func directiveFor(f *pflag.Flag) cobra.ShellCompDirective {
	switch what, _ := pflag.UnquoteUsage(f); what {
	case "file", "program":
		return cobra.ShellCompDirectiveDefault
	case "directory":
		return cobra.ShellCompDirectiveFilterDirs
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// namesFor completes names that are those of a profile or a program: the one that --program names, that stands in front of the cursor, or behind it. People
// write flags first, and go back to them.
func namesFor(c *cobra.Command, args []string, names func(arg string) []string, typed string) []string {
	if p := c.Flags().Lookup("program"); p != nil && p.Value.String() != "" {
		args = []string{p.Value.String()}
	}
	for _, arg := range slices.Concat(args, wordsBehind()) {
		if found := names(arg); len(found) > 0 {
			return matching(found, typed, false)
		}
	}
	if len(args) == 0 {
		return cobra.AppendActiveHelp(nil, "Name the program or profile first (it may come after the cursor): then its names are completed.")
	}
	return nil
}

// behindVar is how the shell's function (bashCompletion) says what stands behind the cursor. Nothing else reads it.
const behindVar = "ALLERIA_BEHIND_CURSOR"

// wordsBehind are the words behind the cursor that may be a program or a profile.
func wordsBehind() (words []string) {
	for _, w := range strings.Fields(os.Getenv(behindVar)) {
		if !strings.HasPrefix(w, "-") {
			words = append(words, w)
		}
	}
	return words
}

// bashCompletion has bash's function say what stands behind the cursor: cobra's cuts the line off there. And its words come without a backslash at each comma, which
// shells need for nothing.
func bashCompletion(root *cobra.Command, w io.Writer) error {
	const cut, request = "words=(\"${words[@]:0:$cword+1}\")", "requestComp=\"${words[0]} __complete ${args[*]}\""
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	text := strings.Replace(script.String(), cut, "local behind=\"${words[*]:$cword+1}\"\n    "+cut, 1)
	text = strings.Replace(text, request, "requestComp=\""+behindVar+"=$(printf %q \"${behind}\") ${words[0]} __complete ${args[*]}\"", 1)
	const process = "\n    __alleria_process_completion_results\n"
	text = strings.Replace(text, process, process+`    COMPREPLY=("${COMPREPLY[@]//\\,/,}")`+"\n", 1)
	_, err := io.WriteString(w, text)
	return err
}

// plainUsage takes the marks of what a flag takes out of its help, for shells that show it beside the flag.
func plainUsage(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainUsage(sub)
	}
}

// matching are the words that begin with what was typed; of a list the last of its parts, and none that is in it already.
func matching(words []string, typed string, isList bool) (out []string) {
	before := ""
	if at := strings.LastIndexByte(typed, ','); isList && at >= 0 {
		before = typed[:at+1]
	}
	for _, w := range words {
		if strings.HasPrefix(before+w, typed) && !strings.Contains(","+before, ","+w+",") {
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
func programNames(program string) []string { return targetNames(program, false) }

// libraryNames are the functions of a program's libraries, as function@image.
func libraryNames(program string) []string { return targetNames(program, true) }

func targetNames(program string, libraries bool) (names []string) {
	t, err := openTarget(program)
	if err != nil {
		return nil
	}
	defer t.Close()
	images := t.Images()
	if !libraries {
		images = images[:1]
	}
	for n := range images {
		im := &images[n]
		if im.Key.Main == libraries {
			continue
		}
		suffix := ""
		if libraries {
			suffix = "@" + im.Key.Name
		}
		fns := im.Functions()
		for i := range fns {
			if len(fns[i].Aliases) > 0 {
				names = append(names, fns[i].Name()+suffix)
			}
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
		return usagef("%w; %s --help lists the flags", error(bad), c.CommandPath())
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
