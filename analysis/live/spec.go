package live

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/coherence"
)

// Spec says which analysis is to run, and how.
type Spec struct {
	Name    string
	Kind    string            // what it is a view of: several names may have the same one
	Options map[string]string // as they were written
	make    func(*abp.Process) Analysis
	custom  bool
}

// kind is an analysis that there is.
type kind struct {
	name    string
	of      string // Spec.Kind
	options []string
	// make reads the options.
	make func(options map[string]string) (func(*abp.Process) Analysis, error)
	// needs is what has to be recorded.
	needs Needs
}

// Needs is what an analysis wants to have recorded.
type Needs struct {
	Code      bool // every instruction, and not only those that access memory
	Addresses bool
	Times     bool // of blocks
	Order     bool // between threads: nothing that is left out can be estimated
}

// Custom is an analysis that this package does not know: make makes it for a process.
func Custom(name string, make func(*abp.Process) Analysis) Spec {
	return Spec{Name: name, Kind: name, make: make, custom: true}
}

// cacheOptions are the caches that can be given shapes, and how they belong together.
func cacheOptions() []string {
	return []string{"l1i", "l1d", "l2", "ll", "itlb", "dtlb", "inclusion", "shared-ll", "processors"}
}

// KindCalls is what methods, call graphs and call trees are views of.
const KindCalls = "calls"

// kindPaths follows calls, too.
const kindPaths = "paths"

// kinds lists the analyses in the order of help. The three views of calls are one analysis.
func kinds() []kind {
	sites := []string{"sites"}
	// Of paths the addresses are those that tell which function a return leaves.
	ofCalls := Needs{Code: true, Addresses: true}
	return []kind{
		{"methods", KindCalls, sites, makeCalls, ofCalls},
		{"callgraph", KindCalls, sites, makeCalls, ofCalls},
		{"calltree", KindCalls, sites, makeCalls, ofCalls},
		{kindPaths, kindPaths, nil, func(map[string]string) (func(*abp.Process) Analysis, error) {
			return func(p *abp.Process) Analysis { return newPaths(p) }, nil
		}, ofCalls},
		{"cache", "cache", cacheOptions(), makeCache, Needs{Code: true, Addresses: true}},
		{"coherence", "coherence", coherence.Names(), makeSharing, Needs{Addresses: true, Times: true, Order: true}},
		{"reuse", "reuse", []string{"line", "sample"}, makeReuse, Needs{Addresses: true}},
		{"strides", "strides", nil, func(map[string]string) (func(*abp.Process) Analysis, error) {
			return func(p *abp.Process) Analysis { return newStrides(p) }, nil
		}, Needs{Addresses: true}},
		{"heatmap", "heatmap", []string{"block"}, makeHeat, Needs{Addresses: true}},
	}
}

// Names lists the analyses that there are.
func Names() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.name)
	}
	return out
}

// Parse reads a list of analyses: names between commas, each with options in parentheses if it has any, as in
// "methods,cache(l1d=48k,12,64;ll=off)".
func Parse(text string) ([]Spec, error) {
	var out []Spec
	for _, one := range split(text) {
		s, err := parseOne(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Spec) bool { return o.Name == s.Name }) {
			return nil, fmt.Errorf("%s is named twice", s.Name)
		}
		out = append(out, s)
	}
	return out, oneOfCalls(out)
}

// oneOfCalls gives the views of calls, which are one analysis, the options that one of them has.
func oneOfCalls(specs []Spec) error {
	var with *Spec
	for i := range specs {
		s := &specs[i]
		switch {
		case s.Kind != KindCalls || s.Options == nil:
		case with != nil && !maps.Equal(with.Options, s.Options):
			return fmt.Errorf("%s and %s are one analysis: they cannot have different options", with.Name, s.Name)
		default:
			with = s
		}
	}
	for i := range specs {
		if with != nil && specs[i].Kind == KindCalls {
			specs[i].Options, specs[i].make = with.Options, with.make
		}
	}
	return nil
}

// split cuts a list at the commas outside of parentheses.
func split(text string) (out []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

// parseOne reads an analysis.
func parseOne(text string) (s Spec, err error) {
	name, rest, with := strings.Cut(text, "(")
	s.Name = strings.TrimSpace(name)
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == s.Name })
	if i < 0 {
		return s, fmt.Errorf("there is no analysis %q; there are %s", s.Name, strings.Join(Names(), ", "))
	}
	k := &all[i]
	s.Kind = k.of
	if with {
		list, ok := strings.CutSuffix(rest, ")")
		if !ok {
			return s, fmt.Errorf("%q: a closing parenthesis is missing", text)
		}
		if s.Options, err = k.parseOptions(list); err != nil {
			return s, err
		}
	}
	if s.make, err = k.make(s.Options); err != nil {
		return s, fmt.Errorf("%s: %w", s.Name, err)
	}
	return s, nil
}

// parseOptions reads NAME=VALUE;NAME=VALUE.
func (k *kind) parseOptions(list string) (map[string]string, error) {
	out := map[string]string{}
	for _, o := range strings.Split(list, ";") {
		key, value, ok := strings.Cut(o, "=")
		key = strings.TrimSpace(key)
		switch {
		case !slices.Contains(k.options, key) && len(k.options) == 0:
			return nil, fmt.Errorf("%s has no options", k.name)
		case !slices.Contains(k.options, key):
			return nil, fmt.Errorf("%s has no option %q; it has %s", k.name, key, strings.Join(k.options, ", "))
		case !ok || out[key] != "":
			return nil, fmt.Errorf("%s: %q is not %s=VALUE, once", k.name, o, key)
		}
		out[key] = strings.TrimSpace(value)
	}
	return out, nil
}

// NeedsOf is what some analyses want to have recorded, all together.
func NeedsOf(specs []Spec) (n Needs) {
	for _, k := range kinds() {
		if i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == k.name }); i >= 0 {
			inOrder := k.name == "cache" && specs[i].Options["shared-ll"] == "yes"
			n.Code = n.Code || k.needs.Code
			n.Addresses = n.Addresses || k.needs.Addresses
			n.Times = n.Times || k.needs.Times || inOrder
			n.Order = n.Order || k.needs.Order || inOrder
		}
	}
	return n
}

// SampledLines is the size of the lines of which a sample is followed, where that is all that is analysed; else 0.
func SampledLines(specs []Spec) uint64 {
	if len(specs) != 1 || specs[0].Kind != "reuse" {
		return 0
	}
	line, sample, err := reuseOptions(specs[0].Options)
	if err != nil || sample == 0 {
		return 0
	}
	return line
}

// FollowCalls tells whether some analyses look at no addresses but those at which calls and returns have their return addresses.
func FollowCalls(specs []Spec) bool {
	return !slices.ContainsFunc(specs, func(s Spec) bool { return s.custom || s.Kind != KindCalls && s.Kind != kindPaths })
}

// callsQuery reads how many contexts are told apart by call sites.
func callsQuery(options map[string]string) (q calls.Query, err error) {
	text, ok := options["sites"]
	if !ok {
		return q, nil
	}
	if q.Sites, err = strconv.Atoi(text); err != nil || q.Sites < 1 || q.Sites > math.MaxInt32 {
		return q, fmt.Errorf("sites is a number of contexts from 1, not %q", text)
	}
	return q, nil
}

// makeCalls reads how many contexts are told apart by call sites.
func makeCalls(options map[string]string) (func(*abp.Process) Analysis, error) {
	q, err := callsQuery(options)
	return func(p *abp.Process) Analysis { return newCalls(p, q) }, err
}

// makeCache reads the caches' shapes: those that the command on profiles has, unless others are given.
func makeCache(options map[string]string) (func(*abp.Process) Analysis, error) {
	o, err := cache.ParseOptions(func(name string) string { return options[name] })
	if err != nil {
		return nil, err
	}
	if o.SharedLL {
		return func(p *abp.Process) Analysis { return newOrderedCaches(p, o) }, nil
	}
	return func(p *abp.Process) Analysis { return newCaches(p, o) }, nil
}

// makeSharing reads the caches' shapes, as the command on profiles has them.
func makeSharing(options map[string]string) (func(*abp.Process) Analysis, error) {
	o, err := coherence.ParseOptions(func(name string) string { return options[name] })
	if err != nil {
		return nil, err
	}
	return func(p *abp.Process) Analysis { return newSharing(p, o) }, nil
}

// errSize is what is wrong with a size.
var errSize = errors.New("is not a power of two from 8 to 1G, like 64 or 4k")

// parseLine reads a power of two.
func parseLine(text string, otherwise uint64) (uint64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := cache.ParseBytes(text)
	if err != nil || n < 8 || n > 1<<30 || bits.OnesCount64(n) != 1 {
		return 0, fmt.Errorf("%q %w", text, errSize)
	}
	return n, nil
}

// makeReuse reads the line's size, and how many lines a sample follows.
func makeReuse(options map[string]string) (func(*abp.Process) Analysis, error) {
	line, sample, err := reuseOptions(options)
	if err != nil {
		return nil, err
	}
	return func(p *abp.Process) Analysis { return newReuse(p, line, sample) }, nil
}

// reuseOptions are the line's size and how many lines are followed.
func reuseOptions(options map[string]string) (line uint64, sample int, err error) {
	if line, err = parseLine(options["line"], 64); err != nil {
		return 0, 0, err
	}
	if text := options["sample"]; text != "" {
		if sample, err = strconv.Atoi(text); err != nil || sample != 0 && (sample < 64 || sample > 1<<24) {
			return 0, 0, fmt.Errorf("sample is a number from 64 to 16777216, or 0 for all lines, not %q", text)
		}
	}
	return line, sample, nil
}

// makeHeat reads the finest block that maps can be drawn with.
func makeHeat(options map[string]string) (func(*abp.Process) Analysis, error) {
	block, err := parseLine(options["block"], 4096)
	if err != nil {
		return nil, err
	}
	return func(p *abp.Process) Analysis { return newHeat(p, block) }, nil
}
