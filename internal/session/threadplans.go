package session

import (
	"fmt"
	"slices"

	"alleria/config"
	"alleria/engine"
)

// threadPlans tells which threads of a process record something of their own:
// those that a configuration names. Plan 0 is every other thread's, plan i+1 that
// of thread nums[i]. Which windows are open does not matter: a thread keeps its plan.
//
// Blocks are translated for each plan that records, and the engine has few: that is why
// threads without an element of their own share one.
type threadPlans struct{ nums []int }

// plansOf finds the threads that a configuration names in a process.
// The error names the bound, since it is a configuration's to respect.
func plansOf(m *config.ProcessMatcher, windows int) (threadPlans, *config.Error) {
	var p threadPlans
	var last config.Pos
	for i := range windows {
		if proc := m.Element(i); proc != nil {
			for _, t := range proc.Threads {
				if t.N > 0 && !slices.Contains(p.nums, t.N) {
					p.nums = append(p.nums, t.N)
					last = t.Pos
				}
			}
		}
	}
	if len(p.nums) >= engine.MaxPlans {
		return p, &config.Error{Pos: last, What: fmt.Sprintf("%d threads are named; at most %d can be", len(p.nums), engine.MaxPlans-1),
			Right: "use a Thread without n for the others"}
	}
	return p, nil
}

// checkPlans looks whether each process that a configuration names has few enough.
func checkPlans(c *config.Config) *config.Error {
	for _, n := range numbersNamed(c) {
		if _, err := plansOf(c.Matcher().Genesis(&config.ProcessFacts{Number: n}), len(c.Windows)); err != nil {
			return err
		}
	}
	return nil
}

// numbersNamed are the numbers of processes that a configuration names, and the first one's.
func numbersNamed(c *config.Config) []int {
	numbers := []int{1}
	for _, w := range c.Windows {
		for _, proc := range w.Profile.Processes {
			numbers = append(numbers, proc.N)
		}
	}
	return numbers
}

// plan is the plan of a thread by its number.
func (p threadPlans) plan(num int) int { return 1 + slices.Index(p.nums, num) }

// thread is the number of a thread that has a plan.
// For plan 0 it is the lowest number that no element names: it stands for all such
// threads.
func (p threadPlans) thread(plan int) int {
	if plan > 0 {
		return p.nums[plan-1]
	}
	n := 1
	for slices.Contains(p.nums, n) {
		n++
	}
	return n
}
