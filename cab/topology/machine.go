package topology

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Processor is one of the machine's.
type Processor struct {
	ID   int
	Core int // the first processor of its core, for those that share one
	Last int // the first processor of those that share its last-level cache; -1: not known
	L1   int // bytes of its first-level data cache; 0: not known
}

// Machine is the processors that are there, by ID.
type Machine []Processor

// Read reads what /sys/devices/system/cpu says, which sys is. What is missing there is not known; a machine of which nothing is has no processors.
func Read(sys fs.FS) Machine {
	dirs, _ := fs.Glob(sys, "cpu[0-9]*")
	var m Machine
	for _, dir := range dirs {
		id, err := strconv.Atoi(strings.TrimPrefix(dir, "cpu"))
		if err != nil {
			continue
		}
		p := Processor{ID: id, Core: id, Last: -1}
		for _, name := range []string{"core_cpus_list", "thread_siblings_list"} { // the second is the first's name before Linux 5.3
			if l := readList(sys, path.Join(dir, "topology", name)); len(l) > 0 {
				p.Core = l[0]
				break
			}
		}
		p.readCaches(sys, dir)
		m = append(m, p)
	}
	slices.SortFunc(m, func(a, b Processor) int { return a.ID - b.ID })
	return m
}

// readCaches looks for the last level and for the first that holds data.
func (p *Processor) readCaches(sys fs.FS, dir string) {
	indexes, _ := fs.Glob(sys, path.Join(dir, "cache/index[0-9]*"))
	highest := 0
	for _, index := range indexes {
		level, err := strconv.Atoi(readText(sys, path.Join(index, "level")))
		kind := readText(sys, path.Join(index, "type"))
		if err != nil || kind == "Instruction" {
			continue
		}
		if level == 1 {
			p.L1 = readSize(sys, path.Join(index, "size"))
		}
		if with := readList(sys, path.Join(index, "shared_cpu_list")); level > highest && len(with) > 0 {
			highest, p.Last = level, with[0]
		}
	}
}

func readText(sys fs.FS, name string) string {
	text, err := fs.ReadFile(sys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// readSize reads a size in KiB, as the kernel writes all of them; 0 where it is none.
func readSize(sys fs.FS, name string) int {
	kib, found := strings.CutSuffix(readText(sys, name), "K")
	n, err := strconv.Atoi(kib)
	if !found || err != nil || n < 0 || n > 1<<20 {
		return 0
	}
	return n << 10
}

func readList(sys fs.FS, name string) []int {
	l, err := ParseList(readText(sys, name))
	if err != nil {
		return nil
	}
	return l
}

// mostProcessors is more than Linux can have.
const mostProcessors = 1 << 16

// ParseList reads a list of processors as the kernel writes it: 0-3,8,10-11.
func ParseList(text string) ([]int, error) {
	var all []int
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= mostProcessors {
			return nil, fmt.Errorf("list of processors %q: %q is neither a number nor a range", text, part)
		}
		for id := lo; id <= hi && len(all) < mostProcessors; id++ {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// FormatList writes a sorted list as the kernel does.
func FormatList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		k := i
		for k+1 < len(cpus) && cpus[k+1] == cpus[k]+1 {
			k++
		}
		if k > i {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[k]))
		} else {
			parts = append(parts, strconv.Itoa(cpus[i]))
		}
		i = k + 1
	}
	return strings.Join(parts, ",")
}
