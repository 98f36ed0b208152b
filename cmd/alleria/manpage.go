package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand makes the manual pages out of the same texts as --help, so that
// there is no second place to keep up to date.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print a manual page, or write all of them into a directory",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if dir != "" {
				return manPages(dir, root)
			}
			page := root
			if len(args) == 1 {
				found, _, err := root.Find(args)
				if err != nil || found == root { // Find answers with the root for what it does not know
					return usagef("no command %q", args[0])
				}
				page = found
			}
			return manPage(a.stdout, page)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write a page for each command into this `directory`")
	return c
}

// manPage writes the manual page of a command in man(7), which every system can show.
//
// Cobra has a generator of its own. It was refused: it goes by way of Markdown, whose
// reader takes a tenth of this program's start to set itself up, whatever the command is,
// and shows a flag that is off as [=false].
func manPage(w io.Writer, c *cobra.Command) error {
	var b strings.Builder
	name := manName(c)
	fmt.Fprintf(&b, ".TH %q \"1\" \"\" \"alleria %s\" \"alleria\"\n.nh\n", strings.ToUpper(name), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, text)
	flags(&b, "OPTIONS", c.NonInheritedFlags())
	flags(&b, "OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if also := seeAlso(c); len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// manPages writes the pages of a command and of all below it into a directory.
func manPages(dir string, c *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, manName(c)+".1"))
	if err != nil {
		return fmt.Errorf("manual page: %w", err)
	}
	err = manPage(f, c)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	for _, sub := range c.Commands() {
		if err == nil && sub.IsAvailableCommand() {
			err = manPages(dir, sub)
		}
	}
	return err
}

// manName is a page's name.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// seeAlso names the pages of the commands above and below.
func seeAlso(c *cobra.Command) (out []string) {
	page := func(c *cobra.Command) { out = append(out, `\fB`+roff(manName(c))+`\fR(1)`) }
	if c.HasParent() {
		page(c.Parent())
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			page(sub)
		}
	}
	return out
}

// paragraphs writes text: empty lines part paragraphs, lines that are indented stay as they are.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, " ") || strings.HasPrefix(p, "\t") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(p))
			continue
		}
		b.WriteString(roff(p) + "\n")
	}
}

// flags writes a section on flags, each with its value's name, its text, and its default if it has one that says
// anything.
func flags(b *strings.Builder, title string, set *pflag.FlagSet) {
	begun := false
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		if !begun {
			begun = true
			fmt.Fprintf(b, ".SH %s\n", title)
		}
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, `\fB\-%s\fR, `, f.Shorthand)
		}
		value, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, `\fB\-\-%s\fR`, roff(f.Name))
		if value != "" {
			fmt.Fprintf(b, ` \fI%s\fR`, roff(value))
		}
		b.WriteString("\n" + roff(usage))
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// roff makes text safe: backslashes and hyphens are said as such, and no line begins with
// what troff takes for a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
