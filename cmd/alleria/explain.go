package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"alleria/config"
)

// explainCommand is the language's dictionary. Its texts are those of the
// schema's annotations, so that editor and terminal say the same.
//
// It is the same as check --element, which came first and stays for scripts; here
// several names may be given at a time, and attributes too.
func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [ELEMENT | ATTRIBUTE | ELEMENT.ATTRIBUTE]...",
		Short: "Explain the elements and attributes of window configurations",
		Long: `explain says what an element of the window configuration language means, where
it stands, what it holds, which attributes it takes with which defaults, and
shows an example. An attribute's name explains that in all elements that have
it. Without a name it lists all elements. What turns adaptive profiling
(record --tuner, --affinity, --ptc, --bc, --bs, --tf, --tp, --tay1, --tay2, --taz) is
explained by its name without dashes.`,
		Example:           "  alleria explain\n  alleria explain Call\n  alleria explain Instruction.registers threshold\n  alleria explain tuner tp",
		ValidArgsFunction: completeElements,
		RunE: func(_ *cobra.Command, args []string) error {
			// Not the help of the command: who asks without a name wants to know which
			// there are.
			if len(args) == 0 {
				_, err := fmt.Fprint(a.stdout, config.ExplainLanguage())
				return err
			}
			// All names are looked up before the first is explained: a message about
			// the last would be missed above a screen of text.
			texts := make([]string, len(args))
			for i, name := range args {
				text, err := config.ExplainElement(name)
				if knob := explainKnob(name); err != nil && knob != "" {
					text, err = knob, nil
				}
				if err != nil {
					return &statusError{statusUsage, err}
				}
				texts[i] = text
			}
			_, err := fmt.Fprint(a.stdout, strings.Join(texts, "\n"))
			return err
		},
	}
}

// completeElements completes by the language table, like everything here, so that
// a new element is offered without a change to this file.
func completeElements(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	// Elements only: with all attributes the list would be too long to choose from.
	return config.ElementNames(), cobra.ShellCompDirectiveNoFileComp
}
