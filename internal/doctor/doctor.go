// Package doctor examines what this machine allows of what recording needs.
//
// In a nutshell: Examine tries things and reads some of /proc: attaching to a child, an executable memory
// file, the processor's features, limits of memory. Each check gives findings, with a verdict and, where the user can do
// something, a remedy. It tries rather than reads settings: a container's runtime, a security module and
// a kernel option can each refuse, and only the attempt asks them all.
//
// Caller: the command doctor. Checks ask a host, whose answers are functions, so that tests can play other
// machines. It keeps no state and changes nothing on the machine; the child that it starts is
// killed before its first instruction. It does not examine a particular program.
package doctor

import (
	"fmt"
	"io"
	"os"
)

// Verdict is how one of the doctor's findings bears on recording.
// The words are part of the JSON form.
type Verdict string

// The verdicts.
const (
	Good Verdict = "ok"   // nothing to do
	Info Verdict = "info" // a fact worth knowing
	Warn Verdict = "warn" // recording works, with the limit that the finding names
	Bad  Verdict = "bad"  // recording does not work
)

// Finding is one line of the doctor's table.
//
// Found says what is, Remedy what to type; a remedy is only given where something
// can be done by the person who runs the command.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"`
}

// Summary sums the findings up in a sentence: what the table means together.
func Summary(findings []Finding) string {
	wrong := map[Verdict]int{}
	for _, f := range findings {
		wrong[f.Verdict]++
	}
	switch {
	case wrong[Bad] > 0:
		return "Programs cannot be recorded here until what is marked bad is put right."
	case wrong[Warn] > 0:
		return "Programs can be recorded here, with the limits that are marked warn."
	}
	return "Programs can be recorded here."
}

// Print writes a line for each finding, and its remedy below it:
// remedies are too long for a column.
// The columns fit the longest names of checks and verdicts, which are all in here.
func Print(w io.Writer, findings []Finding) {
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

// Examine asks this machine everything, the most decisive first. It takes some milliseconds, and
// starts a child for the attempt to trace one.
func Examine() []Finding { return diagnose(thisHost()) }

// diagnose asks everything, the most decisive first.
// The order is that of the table: what makes the rest pointless comes first.
func diagnose(h host) []Finding {
	var all []Finding
	for _, check := range []func(host) []Finding{
		checkProcessor, checkPtrace, checkSeccomp, checkMemfd, checkProc, checkMemory,
	} {
		all = append(all, check(h)...)
	}
	return all
}

// checkMemfd tries what the code cache rests on.
// memfd_create(2) with execution: since Linux 6.3 vm.memfd_noexec can forbid it.
func checkMemfd(h host) []Finding {
	if err := h.execFile(); err != nil {
		return []Finding{{"memory files", Bad, fmt.Sprintf("an anonymous file cannot be mapped executable: %v", err),
			"sysctl vm.memfd_noexec=0; with SELinux, allow execmem for this domain"}}
	}
	return []Finding{{"memory files", Good, "memfd_create and executable mappings work", ""}}
}

// checkProc sees whether /proc is there: containers and chroots may lack it,
// and the target's memory and mappings are read through it.
// hidepid and subset mounts leave one's own entries readable, so this finds a
// missing mount only; a target's own files are tried when it is recorded.
func checkProc(h host) []Finding {
	if _, err := h.file("/proc/self/maps"); err != nil {
		return []Finding{{"/proc", Bad, fmt.Sprintf("/proc is not usable: %v", err), "mount -t proc proc /proc"}}
	}
	return []Finding{{"/proc", Good, "mounted", ""}}
}

// hostFile reads one of /proc's files.
// Such files have no size to stat and are read as a whole.
func hostFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}
