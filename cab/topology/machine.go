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
//
// A start waits for it, and each processor has a dozen files. So what one says of others is not read of them again: who shares its core has its caches, who
// shares its last level only has a first one of its own.
func Read(sys fs.FS) Machine {
	dirs, _ := fs.Glob(sys, "cpu[0-9]*")
	r := reader{sys, make(map[int]Processor), make(map[int]int)}
	var m Machine
	for _, dir := range dirs {
		if id, err := strconv.Atoi(strings.TrimPrefix(dir, "cpu")); err == nil {
			m = append(m, r.processor(id, dir))
		}
	}
	slices.SortFunc(m, func(a, b Processor) int { return a.ID - b.ID })
	return m
}

// reader reads processors, one after the other.
type reader struct {
	sys   fs.FS
	cores map[int]Processor // by processor: one that shares its core
	lasts map[int]int       // the first that shares its last level
}

// processor reads what there is of one.
func (r *reader) processor(id int, dir string) Processor {
	if p, ok := r.cores[id]; ok {
		p.ID = id
		return p
	}
	p, core := Processor{ID: id, Core: id, Last: -1}, []int(nil)
	for _, name := range []string{"core_cpus_list", "thread_siblings_list"} { // the second is the first's name before Linux 5.3
		if core = readList(r.sys, path.Join(dir, "topology", name)); len(core) > 0 {
			p.Core = core[0]
			break
		}
	}
	last, known := r.lasts[id]
	with := p.readCaches(r.sys, dir, known)
	if known {
		p.Last = last
	}
	for _, other := range with {
		r.lasts[other] = p.Last
	}
	for _, other := range core {
		r.cores[other] = p
	}
	return p
}

// readCaches looks for the last level, whose processors it returns, and for the first that holds data; for that alone where the last is known.
func (p *Processor) readCaches(sys fs.FS, dir string, known bool) (sharing []int) {
	indexes, _ := fs.Glob(sys, path.Join(dir, "cache/index[0-9]*"))
	highest := 0
	for _, index := range indexes {
		if known && p.L1 > 0 {
			break
		}
		level, err := strconv.Atoi(readText(sys, path.Join(index, "level")))
		kind := readText(sys, path.Join(index, "type"))
		if err != nil || kind == "Instruction" {
			continue
		}
		if level == 1 {
			p.L1 = readSize(sys, path.Join(index, "size"))
		}
		if level <= highest || known {
			continue
		}
		if with := readList(sys, path.Join(index, "shared_cpu_list")); len(with) > 0 {
			highest, p.Last, sharing = level, with[0], with
		}
	}
	return sharing
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
