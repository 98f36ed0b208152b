package config

import (
	"fmt"
	"strings"
)

// ParseProcesses reads a list of processes as options name them, between commas: a number
// in the order of creation, the path of the program that they execute (with a slash), or its
// file name, which may hold *. The elements record nothing yet.
func ParseProcesses(list string) ([]*Process, error) {
	var out []*Process
	for _, word := range strings.Split(list, ",") {
		word = trim(word)
		p := &Process{}
		switch n := parseNumber(word); {
		case word == "":
			return nil, fmt.Errorf("%w: %q leaves a process out; it takes numbers, names and paths of programs, separated by commas", ErrOption, short(list))
		case n.big || n.ok && n.val > maxOrdinal:
			return nil, fmt.Errorf("%w: process %s is too large a number", ErrOption, short(word))
		case n.ok && n.val == 0:
			return nil, fmt.Errorf("%w: processes are numbered from 1", ErrOption)
		case n.ok:
			p.N = int(n.val)
		case strings.Contains(word, "/"):
			p.Path = word
		default:
			p.Name = word
		}
		for _, q := range out {
			if p.key() == q.key() {
				return nil, fmt.Errorf("%w: %s is named twice", ErrOption, p.Words())
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// only narrows a profile of one Process down to those of a list. All others are followed:
// else the numbers would be other ones, and processes of that name might not be seen.
func (p *Profile) only(list string) error {
	if list == "" {
		return nil
	}
	named, err := ParseProcesses(list)
	if err != nil {
		return err
	}
	for _, q := range named {
		q.Threads = p.Processes[0].Threads
	}
	p.Processes = append([]*Process{{}}, named...)
	return nil
}
