package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"
)

// key is what a line of known.txt is about.
type key struct {
	kind kind
	name string
}

// readKnown reads the list of what is over its limit: a kind, a figure and a name on each line;
// # begins a comment.
func readKnown(name string) (map[key]int, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	known := map[key]int{}
	in := bufio.NewScanner(bytes.NewReader(src))
	for n := 1; in.Scan(); n++ {
		text, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		k, v, err := parseKnown(words)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if _, twice := known[k]; twice {
			return nil, fmt.Errorf("%s:%d: a second figure for %s", name, n, k.name)
		}
		known[k] = v
	}
	return known, in.Err()
}

// parseKnown is one line.
func parseKnown(words []string) (key, int, error) {
	if len(words) != 3 {
		return key{}, 0, errors.New("a line is a kind, a figure and a name, as in \"lines 73 engine.(*Process).unit\"")
	}
	k := kind(words[0])
	value, err := strconv.Atoi(words[1])
	if err != nil {
		return key{}, 0, fmt.Errorf("figure: %w", err)
	}
	for _, one := range kinds() {
		if k == one {
			if value <= limit(k) {
				return key{}, 0, fmt.Errorf("%d is within the limit of %d and needs no line", value, limit(k))
			}
			return key{k, words[2]}, value, nil
		}
	}
	return key{}, 0, fmt.Errorf("kind %q is none of fields, lines, complexity, files", words[0])
}

// writeKnown writes the list anew, with the comment that it begins with.
func writeKnown(name string, now map[key]int) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for line := range strings.Lines(string(old)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	var list []string
	for k, v := range now {
		list = append(list, fmt.Sprintf("%s %d %s\n", k.kind, v, k.name))
	}
	sort.Strings(list)
	for _, line := range list {
		b.WriteString(line)
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// judgement is what comparing with the list gives.
type judgement struct {
	larger  []string    // what is over its limit and larger than the list has it, or not in it
	smaller []string    // what is smaller than the list has it
	now     map[key]int // the list as it may become: no figure larger, none new
}

// judge compares.
func judge(all []figure, known map[key]int) judgement {
	j := judgement{now: map[key]int{}}
	seen := map[key]bool{}
	for i := range all {
		f := &all[i]
		k := key{f.Kind, f.Name}
		was, listed := known[k]
		seen[k] = seen[k] || listed
		switch over := f.Value > limit(f.Kind) && !exempt(f); {
		case over && !listed:
			j.larger = append(j.larger, fmt.Sprintf("%s: %s: %d %s, more than %d", f.where(), f.Name, f.Value, f.Kind, limit(f.Kind)))
		case over:
			j.now[k] = min(f.Value, was)
			if f.Value > was {
				j.larger = append(j.larger, fmt.Sprintf("%s: %s: %d %s; it may not grow, and had %d", f.where(), f.Name, f.Value, f.Kind, was))
			}
		}
		if listed && f.Value < was {
			j.smaller = append(j.smaller, fmt.Sprintf("%s: %s: %d %s, less than the %d in the list: run \"go run ./internal/figures -lower\"", f.where(), f.Name, f.Value, f.Kind, was))
		}
	}
	for k := range known {
		if !seen[k] {
			j.smaller = append(j.smaller, fmt.Sprintf("%s: there is none any more whose %s are in the list: run \"go run ./internal/figures -lower\"", k.name, k.kind))
		}
	}
	sort.Strings(j.larger)
	sort.Strings(j.smaller)
	return j
}

// summary prints the distribution of each kind.
func summary(out io.Writer, all []figure, imports int) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tnumber\tmedian\t95 %\tlargest\tlimit\tover\t")
	for _, k := range kinds() {
		var v []int
		over := 0
		for i := range all {
			if f := &all[i]; f.Kind == k {
				v = append(v, f.Value)
				if f.Value > limit(k) && !exempt(f) {
					over++
				}
			}
		}
		if len(v) == 0 {
			continue
		}
		sort.Ints(v)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", k, len(v), v[len(v)/2], v[len(v)*95/100], v[len(v)-1], limit(k), over)
	}
	fmt.Fprintf(w, "imports\t\t\t\t\t\t%d\t\n", imports)
	_ = w.Flush() // errors of out are the caller's to see
}
