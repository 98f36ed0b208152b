package session

import (
	"slices"

	"alleria/engine"
	"alleria/internal/session/plan"
)

// plans is what threads record, by plan: for each set of open windows that there has been lately
// as many as there are kinds of threads (see threadPlans). A set that comes again finds its
// blocks translated, so that windows may take turns.
//
// The refused alternative, the plans of the latest set alone, had everything translated anew with each
// change of the set: half a millisecond for two windows on short functions.
type plans struct {
	sets     []uint64        // of open windows; the first plan of the k-th is k times the number of kinds
	now      int             // the latest
	planners []*plan.Planner // by plan; made as they are needed
}

// any tells whether something has been recorded yet.
func (p *plans) any() bool { return len(p.sets) > 0 }

// open is the latest set of open windows.
func (p *plans) open() uint64 { return p.sets[p.now] }

// first is the first plan of the latest set.
func (p *plans) first(threads threadPlans) int { return p.now * threads.kinds() }

// kinds is how many plans a set of open windows has.
func (p threadPlans) kinds() int { return len(p.nums) + 1 }

// usePlans makes threads record what a set of open windows asks for. The engine has few plans: when
// they are used up all are forgotten.
func (ps *process) usePlans(open uint64) {
	im := ps.image
	p := &im.plans
	k := slices.Index(p.sets, open)
	if k < 0 && (len(p.sets)+1)*ps.threads.kinds() > engine.MaxPlans {
		im.p.Replan()
		*p = plans{}
	}
	if k < 0 {
		k = len(p.sets)
		p.sets = append(p.sets, open)
	}
	if p.planners == nil {
		p.planners = make([]*plan.Planner, engine.MaxPlans)
	}
	p.now = k
	for _, t := range im.p.Threads() {
		t.SetPlan(ps.planOf(t))
	}
}

// planOf is the plan of a thread for the latest set of open windows.
func (ps *process) planOf(t thread) int {
	return ps.image.plans.first(ps.threads) + ps.threads.plan(t.Num())
}

// planner returns what the threads with a plan record.
func (ps *process) planner(plan int) *plan.Planner {
	im := ps.image
	if p := im.plans.planners; p[plan] == nil {
		kinds := ps.threads.kinds()
		open := im.plans.sets[min(plan/kinds, len(im.plans.sets)-1)]
		p[plan] = ps.newPlanner(open, ps.threads.thread(plan%kinds))
	}
	return im.plans.planners[plan]
}

// newPlanner makes what decides for a thread while some windows are open.
func (ps *process) newPlanner(open uint64, thread int) *plan.Planner {
	im := ps.image
	of := func(open uint64) *plan.Planner {
		return plan.New(im.tables, im.windows.Profiles(open), ps.matched, open, thread, ps.opts.Only == OnlyBlocks)
	}
	p := of(open)
	if s := ps.opts.Sites; s != nil {
		each := make([]*plan.Planner, len(ps.opts.Config.Windows))
		for w := range each {
			if open&(1<<w) != 0 {
				each[w] = of(1 << w)
			}
		}
		p.Apart(s, ps.number, ps.parts, each)
	}
	return p
}
