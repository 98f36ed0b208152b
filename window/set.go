package window

import "alleria/config"

// Set is the instances of all windows of a configuration in one process.
// Windows do not know of each other: several may be open at a time, and one
// occurrence may change several.
type Set struct {
	windows []*instance
}

// instance is one window in one process.
//
// Its life is closed, open, and then over, or closed again if it may reopen; a window
// without On begins open, see Start.
type instance struct {
	set      *Set
	def      *config.Window
	index    int
	on, till *node
	state    state
	openings uint64
}

// state is where an instance is in its life.
type state uint8

const (
	closed state = iota // waiting for On
	open
	over // not reopenable, and closed
)

// node is an event of a tree with what has happened of it.
// fired stays set until the tree is reset: All needs its events in any order, not
// at the same time.
type node struct {
	event    *config.Event
	leaf     *Leaf // nil for All and One
	children []*node
	fired    bool
}

// Leaf is one event that something outside watches for.
//
// It is the handle by which the watcher tells Fire what happened. The pointer is good for
// the Set's life, so that it may be the key of the watcher's maps.
type Leaf struct {
	// what to watch for
	Event *config.Event
	// Window is the window's index in the configuration, from 0, and Till tells
	// whether the event is to close it.
	Window int
	Till   bool
	count  uint64
	node   *node
	inst   *instance
}

// Change is one opening or closing.
// It is what profiles note as an opening or closing, and what the session acts on.
type Change struct {
	Window *config.Window // which one
	Index  int            // of the window in the configuration, from 0
	Opened bool
	Cause  *config.Event // nil: the start or the end of the process
	// Why says what made the change where no event did; empty: the start or the
	// end of the process.
	Why string
	// Overshoot is by how much a count over several threads was exceeded.
	Overshoot uint64
	// Gone is how often functions that the window's Till awaits the return of were left
	// otherwise while it was open, as far as is known.
	Gone uint64
}

// New makes the instances of cfg's windows for a process, all closed.
// Start must follow before anything fires.
func New(cfg *config.Config) *Set {
	s := &Set{}
	for i, w := range cfg.Windows {
		in := &instance{set: s, def: w, index: i}
		in.on = in.tree(w.On, false)
		in.till = in.tree(w.Till, true)
		if w.On != nil && w.On.Kind.Is(config.Bursts) { // it closes what it opened
			in.till = in.tree(w.On, true)
		}
		s.windows = append(s.windows, in)
	}
	return s
}

// tree makes the state of an event and of what is below it.
func (in *instance) tree(e *config.Event, till bool) *node {
	if e == nil {
		return nil
	}
	n := &node{event: e}
	if e.Kind.Is(config.Group) {
		for _, c := range e.Children {
			n.children = append(n.children, in.tree(c, till))
		}
		return n
	}
	n.leaf = &Leaf{Event: e, Window: in.index, Till: till, node: n, inst: in}
	return n
}

// Start opens the windows that have no On. Called once, before the process's
// first instruction.
func (s *Set) Start() []Change {
	var changes []Change
	for _, in := range s.windows {
		if in.on == nil {
			changes = append(changes, in.open(nil))
		}
	}
	return changes
}

// StartAs opens the windows that are open in another process, and has the others wait for what they wait for
// there: of a process that begins later. Called once, instead of Start.
func (s *Set) StartAs(o *Set) []Change {
	var changes []Change
	for i, in := range s.windows {
		as := o.windows[i]
		in.state = as.state
		in.on.copy(as.on)
		in.till.copy(as.till)
		if in.state != open {
			continue
		}
		in.openings = 1
		c := Change{Window: in.def, Index: in.index, Opened: true}
		if in.on != nil || as.openings > 1 {
			c.Why = "open since before the process began"
		}
		changes = append(changes, c)
	}
	return changes
}

// copy makes what has happened that of another tree of the same event.
func (n *node) copy(as *node) {
	if n == nil {
		return
	}
	n.fired = as.fired
	if n.leaf != nil {
		n.leaf.count = as.leaf.count
	}
	for i, c := range n.children {
		c.copy(as.children[i])
	}
}

// Leaves returns every event of every window, armed or not.
// They are in the order of the configuration, each window's On before its Till.
func (s *Set) Leaves() []*Leaf {
	var all []*Leaf
	for _, in := range s.windows {
		all = in.till.leaves(in.on.leaves(all))
	}
	return all
}

// leaves appends the leaves of a tree, which may be nil.
func (n *node) leaves(out []*Leaf) []*Leaf {
	if n == nil {
		return out
	}
	if n.leaf != nil {
		return append(out, n.leaf)
	}
	for _, c := range n.children {
		out = c.leaves(out)
	}
	return out
}

// Set is the windows that the event belongs to.
func (l *Leaf) Set() *Set { return l.inst.set }

// Armed tells whether the event's next occurrence would count: its window is in
// the state that it ends, and the event has not fired yet.
//
// A watcher that costs something (a probe, a counter) is only needed while its leaf is
// armed; it may watch more, since Fire ignores what is not.
func (l *Leaf) Armed() bool {
	in := l.inst
	if l.node.fired {
		return false
	}
	if l.Till {
		return in.state == open
	}
	return in.state == closed
}

// Live tells whether the event can still do something, now or after other events
// have fired: one that is not need not be watched for at all.
// A Till is live while its window is closed, because the window may open.
func (l *Leaf) Live() bool {
	in := l.inst
	switch {
	case in.state == over:
		return false
	case in.reopens():
		return true
	case l.node.fired:
		return false
	}
	return l.Till || in.state == closed
}

// Happen fires all events that one and the same occurrence is: those that were
// armed before it. A window that it opens is not closed by it at once, if both
// are events on the same function.
func (s *Set) Happen(leaves ...*Leaf) []Change {
	var changes []Change
	for _, l := range armed(leaves) {
		changes = append(changes, s.Fire(l)...)
	}
	return changes
}

// armed returns those of the leaves that are.
func armed(leaves []*Leaf) []*Leaf {
	var out []*Leaf
	for _, l := range leaves {
		if l.Armed() {
			out = append(out, l)
		}
	}
	return out
}

// Fire says that the event has happened once more. It returns the transitions
// that follow, none if the event is not armed or has to happen more often.
//
// An event with a threshold fires at its N-th occurrence while armed: what happened
// before the window closed, or before it opened, does not count (Alleria, section 2.6).
func (s *Set) Fire(l *Leaf) []Change {
	if !l.Armed() {
		return nil
	}
	l.count++
	if l.count < l.Event.Occurrence() && l.counted() {
		return nil
	}
	l.node.fired = true
	in := l.inst
	if l.Till {
		if in.till.satisfied() {
			return []Change{in.close(l.Event)}
		}
		return nil
	}
	if in.on.satisfied() {
		return []Change{in.open(l.Event)}
	}
	return nil
}

// counted tells events whose threshold counts occurrences, not something that
// the watcher counts itself.
func (l *Leaf) counted() bool { return l.Event.Kind.Is(config.Occurs) }

// satisfied tells whether an event, or an All or One by what is below it, has happened.
// An All without children is satisfied, a One is not; the schema allows neither.
func (n *node) satisfied() bool {
	if n.leaf != nil {
		return n.fired
	}
	for _, c := range n.children {
		if c.satisfied() == (n.event.Kind == config.EventOne) {
			return n.event.Kind == config.EventOne
		}
	}
	return n.event.Kind == config.EventAll
}

// reset forgets what has happened, for the next time round.
func (n *node) reset() {
	if n == nil {
		return
	}
	n.fired = false
	if n.leaf != nil {
		n.leaf.count = 0
	}
	for _, c := range n.children {
		c.reset()
	}
}

// open opens the window; its Till starts to count from here.
func (in *instance) open(cause *config.Event) Change {
	in.state = open
	in.openings++
	in.till.reset()
	return Change{Window: in.def, Index: in.index, Opened: true, Cause: cause}
}

// close closes the window, for good unless it reopens.
func (in *instance) close(cause *config.Event) Change {
	in.state = over
	if in.reopens() && !in.till.forGood() {
		in.state = closed
		in.on.reset()
	}
	return Change{Window: in.def, Index: in.index, Cause: cause}
}

// forGood tells whether an event tree is satisfied by counts and times alone that
// start with the process: these stay reached, so that the window would from now on
// close as it opens, without end where its On is such an event too.
func (n *node) forGood() bool {
	if n == nil {
		return false
	}
	if n.leaf != nil {
		return n.fired && n.event.CountsFromStart()
	}
	one := n.event.Kind == config.EventOne
	for _, c := range n.children {
		if c.forGood() == one {
			return one
		}
	}
	return !one
}

// reopens tells whether the window may open any number of times.
// A sampling window opens and closes by itself for as long as the process runs.
func (in *instance) reopens() bool {
	return in.def.Reopenable || in.def.On != nil && in.def.On.Kind.Is(config.Bursts)
}

// Note returns a change for each open window that is none: why the profile that
// goes on shows them opened, or the one that ends shows them closed.
//
// That is for execve: the windows stay as they are, and the profile
// goes on in other code.
func (s *Set) Note(opened bool, why string) []Change {
	var changes []Change
	for _, in := range s.windows {
		if in.state == open {
			changes = append(changes, Change{Window: in.def, Index: in.index, Opened: opened, Why: why})
		}
	}
	return changes
}

// Finish closes all windows for good: the process ended, or recording did.
func (s *Set) Finish() []Change {
	var changes []Change
	for _, in := range s.windows {
		if in.state == open {
			changes = append(changes, in.close(nil))
		}
		in.state = over
	}
	return changes
}

// Open is the windows that are open, bit i for the window of index i.
// Windows from index 64 on have no bit; they work all the same.
func (s *Set) Open() uint64 {
	var bits uint64
	for _, in := range s.windows {
		if in.state == open {
			bits |= 1 << in.index
		}
	}
	return bits
}

// Profiles are what the windows of a set, as Open tells them, record; those that have no bit
// record while they are open.
// An instruction is recorded once, with the union of what they ask for.
func (s *Set) Profiles(set uint64) []*config.Profile {
	var p []*config.Profile
	for _, in := range s.windows {
		if in.index < 64 && set>>in.index&1 != 0 || in.index >= 64 && in.state == open {
			p = append(p, in.def.Profile)
		}
	}
	return p
}

// Done tells that no window is open and none can open any more.
// Nothing needs to be watched for any more: the target can be detached for good.
func (s *Set) Done() bool {
	for _, in := range s.windows {
		if in.state != over {
			return false
		}
	}
	return true
}

// Reopens tells whether some closed window may open again and again: code then
// stays in the cache while all windows are closed.
func (s *Set) Reopens() bool {
	for _, in := range s.windows {
		if in.state == closed && in.reopens() && in.openings > 0 {
			return true
		}
	}
	return false
}
