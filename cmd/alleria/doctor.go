package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// verdict is how one of the doctor's findings bears on recording.
// The words are part of the JSON form.
type verdict string

// The verdicts.
const (
	good verdict = "ok"   // nothing to do
	info verdict = "info" // a fact worth knowing
	warn verdict = "warn" // recording works, with the limit that the finding names
	bad  verdict = "bad"  // recording does not work
)

// finding is one line of the doctor's table.
//
// Found says what is, Remedy what to type; a remedy is only given where something
// can be done by the person who runs the command.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"`
}

// doctorCommand prints all findings also when one is bad: they often have one
// cause.
//
// It tries things rather than reading settings: a container's runtime, a security
// module and a kernel option can each refuse, and only the attempt asks them all.
func (a *app) doctorCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine allows, and what to do where it does not",
		Long: `doctor tries what recording needs: attaching to a child, executable memory files,
/proc, and room in the address space. It names the remedy for what is refused.
The exit status is 126 if recording cannot work here.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			findings := diagnose(thisHost())
			if asJSON {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				out := bufio.NewWriter(a.stdout)
				printFindings(out, findings)
				if err := out.Flush(); err != nil {
					return err
				}
			}
			for _, f := range findings {
				if f.Verdict == bad {
					return &statusError{statusNotTraced, fmt.Errorf("programs cannot be traced on this machine: %s", f.Found)}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printFindings writes a line for each finding, and its remedy below it:
// remedies are too long for a column.
// The columns fit the longest names of checks and verdicts, which are all in here.
func printFindings(w io.Writer, findings []finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%-5s %-18s %s\n", f.Verdict, f.Check, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(w, "      %-18s → %s\n", "", f.Remedy)
		}
	}
}

// host is what the doctor asks. The answers are functions so that tests can
// play other machines; thisHost gives the real ones.
// Nothing in it may be nil.
type host struct {
	file     func(path string) (string, error) // a small file's text
	seize    func() error                      // attach to a child of ours
	execFile func() error                      // map an anonymous file executable
	limit    func(resource int) (uint64, bool) // a resource limit (RLIMIT_…), if there is one
	machine  string                            // GOARCH's name
}

// diagnose asks everything, the most decisive first.
// The order is that of the table: what makes the rest pointless comes first.
func diagnose(h host) []finding {
	var all []finding
	for _, check := range []func(host) []finding{
		checkProcessor, checkPtrace, checkSeccomp, checkMemfd, checkProc, checkMemory,
	} {
		all = append(all, check(h)...)
	}
	return all
}

// checkMemfd tries what the code cache rests on.
// memfd_create(2) with execution: since Linux 6.3 vm.memfd_noexec can forbid it.
func checkMemfd(h host) []finding {
	if err := h.execFile(); err != nil {
		return []finding{{"memory files", bad, fmt.Sprintf("an anonymous file cannot be mapped executable: %v", err),
			"sysctl vm.memfd_noexec=0; with SELinux, allow execmem for this domain"}}
	}
	return []finding{{"memory files", good, "memfd_create and executable mappings work", ""}}
}

// checkProc sees whether /proc is there: containers and chroots may lack it,
// and the target's memory and mappings are read through it.
// hidepid and subset mounts leave one's own entries readable, so this finds a
// missing mount only; a target's own files are tried when it is recorded.
func checkProc(h host) []finding {
	if _, err := h.file("/proc/self/maps"); err != nil {
		return []finding{{"/proc", bad, fmt.Sprintf("/proc is not usable: %v", err), "mount -t proc proc /proc"}}
	}
	return []finding{{"/proc", good, "mounted", ""}}
}

// hostFile reads one of /proc's files.
// Such files have no size to stat and are read as a whole.
func hostFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}
