// The loop itself and what it calls, once for each kind of processor, so that all of it is for the same one: mixing kinds of vector instructions takes more than the loop. NAME makes names,
// TARGET says for which kind, SUMS is what the current node is still to be given, as numbers of 32 bits, ADD adds to these, SET has nothing but calls, and GIVE gives them to a node.

// by_words gives a node what words say.
static TARGET COLD void NAME(by_words)(struct follow *f, const struct access *a, uint32_t n, const uint64_t *words, struct node *to)
{
	for (; n; n--, a++) {
		uint64_t aux = words[a->aux], times, bytes;
		switch (a->kind) {
		case STRING:
			times = aux - words[a->word];
			if ((int64_t)times < 0)
				times = -times;
			times /= a->size;
			bytes = times * a->size;
			break;
		case SIZED:
			times = aux != 0;
			bytes = aux;
			break;
		default:
			times = __builtin_popcountll(aux & a->lanes);
			bytes = times * a->size;
			if (a->kind == PACKED)
				times = times != 0;
		}
		if (times == 0)
			continue;
		int at = 2 + a->store;
		to->own[at] += times;
		to->own[at + 2] += bytes;
		f->dyn[at] += times;
		f->dyn[at + 2] += bytes;
	}
}

// child is the number of a child of a node, 0 if there is none yet.
static TARGET COLD int32_t NAME(child)(const struct follow *f, const struct entry *table, int32_t parent, int32_t fn, uint64_t site)
{
	uint64_t h = ((uint64_t)(uint32_t)parent << 32 ^ (uint64_t)(uint32_t)fn ^ site * 0x9E3779B97F4A7C15u) * 0xff51afd7ed558ccdu;
	for (uint64_t i = h >> f->shift;; i = (i + 1) & f->mask) {
		const struct entry *e = table + i;
		if (e->child == 0)
			return 0;
		if (e->parent == parent && e->fn == fn && e->site == site)
			return e->child;
	}
}

// known is the child of a node that two steps have led to, 0 if that is not known there. It is chosen without a branch: nobody can tell which of them it will be.
static inline TARGET int32_t NAME(known)(const struct node *node, uint32_t from, uint32_t to)
{
	int32_t child = 0;
	for (int i = 0; i < MET; i++)
		child |= node->met[i].from == from && node->met[i].to == to ? node->met[i].child : 0;
	return child;
}

// meet remembers a child in front of those that were met before.
static inline TARGET void NAME(meet)(struct node *node, uint32_t from, uint32_t to, int32_t child)
{
	for (int i = MET - 1; i > 0; i--)
		node->met[i] = node->met[i - 1];
	node->met[0] = (struct met){from, to, child};
}

// called is the node of a function that was called, 0 if that is left to Go.
static TARGET COLD int32_t NAME(called)(const struct follow *f, const struct step *from, const struct step *to, struct node *nodes, const struct entry *table, int32_t parent)
{
	int32_t c;
	if ((from->target && from->target != to->addr) || from->ret == to->addr || to->named < 0)
		return 0;
	c = NAME(child)(f, table, parent, to->named, from->site);
	if (!c && f->many)
		c = NAME(child)(f, table, parent, to->named, ANYWHERE);
	if (c && from->self) // who that was is not always told by a number
		NAME(meet)(nodes + parent, from->self, to->self, c);
	return c;
}

// place fills a frame, whose state is zero: nobody has observed this thread.
static inline TARGET void NAME(place)(struct frame *to, int32_t node, int32_t fn, int32_t match, uint32_t kind, uint64_t slot, uint64_t ret)
{
	to->node = node;
	to->fn = fn;
	to->match = match;
	to->kind = kind;
	to->slot = slot;
	to->ret = ret;
}

// returned is the top frame behind a return that does not leave the top one, NULL if that is left to Go.
static TARGET COLD struct frame *NAME(returned)(struct frame *bottom, struct frame *top, uint64_t slot, int32_t match)
{
	struct frame *least = top - bottom >= MOST_FRAMES ? top - MOST_FRAMES : bottom;
	for (struct frame *i = top; slot && i > least; i--) {
		if (i->slot == slot && !(i->kind & TAIL))
			return i[-1].match == match ? i - 1 : NULL;
		if (i->kind & BASE)
			return NULL;
	}
	return NULL;
}

// jumped is the top frame behind a jump from one function to another, NULL if that is left to Go. calls is 1 if it counts as a call.
static TARGET COLD struct frame *NAME(jumped)(const struct follow *f, const struct step *s, struct node *nodes, struct frame *bottom, struct frame *top,
	const struct entry *table, uint64_t *calls)
{
	*calls = 0;
	if (top < bottom || top->match == s->fn)
		return top < bottom ? NULL : top;
	struct frame *i = top, *least;
	if (s->entry) {
		*calls = 1;
		least = top - bottom >= MOST_SEARCH ? top - MOST_SEARCH + 1 : bottom;
		for (; i > least && i->kind & TAIL; i--)
			if (i->match == s->fn && i[-1].match == top->match)
				return i;
	} else {
		// All that Go would look at: functions whose parts lie apart and go on in each other are not there every other time.
		uint32_t kinds = 0;
		least = top - bottom >= MOST_SEARCH ? top - MOST_SEARCH + 1 : bottom;
		for (; i >= least; kinds |= i->kind, i--)
			if (i->match == s->fn)
				return kinds & BASE ? NULL : i;
	}
	int32_t c = NAME(known)(nodes + top->node, s->self + 1, 0);
	if (c == 0) {
		c = NAME(child)(f, table, top->node, s->fn, 0);
		if (c == 0)
			return NULL;
		NAME(meet)(nodes + top->node, s->self + 1, 0, c);
	}
	if (top + 1 == bottom + f->room)
		return NULL;
	NAME(place)(top + 1, c, s->fn, s->fn, TAIL, top->slot, 0);
	return top + 1;
}

static TARGET void NAME(run)(struct follow *f, const uint64_t *words, const struct plan *plans, const struct step *steps, const struct access *accesses, uint64_t *runs,
	struct node *nodes, struct frame *frames, const struct entry *table)
{
	const struct step before = {.op = f->op, .site = f->site, .ret = f->ret, .target = f->target};
	const struct step *left = f->op ? &before : NULL; // what comes next was called by it, or returned to
	const uint64_t *w = words + f->at, *limit = words + f->limit, *end = words + f->words;
	struct frame *top = frames + f->frames - 1, *most = frames + f->room - 1;
	struct node *node = nodes + f->cur;
	uint64_t slot = f->slot, calls;
	int32_t match = f->match;
	SUMS due;
	SET(due, 0);
	f->step = 0;
	while (w < limit) {
		uint64_t id = *w;
		if (RARELY(id >= f->blocks))
			break;
		const struct plan *p = plans + id;
		uint32_t head = __atomic_load_n(&p->head, __ATOMIC_ACQUIRE);
		const uint64_t *next = w + 1;
		// Predicted: where the next one begins would be waited for. The compiler is not to choose a conditional move.
		if ((head & WORDS_MASK) != 1) {
			uint64_t length = head & WORDS_MASK;
			if (RARELY(head == 0 || length > (uint64_t)(end - w)))
				break;
			if (length == 2) {
				next = w + 2;
				__asm__ volatile("" : "+r"(next));
			} else {
				next = w + length;
			}
		}
		if (head & SIMPLE && p->fn == match) {
			ADD(due, p->counts);
			runs[id]++;
			w = next;
			continue;
		}
		if (RARELY(p->last > f->steps))
			break;
		const struct step *s = steps + p->at, *last = steps + p->last;
		do {
			if (s->fn == match) {
				// as it was
			} else if (left && left->op == OP_CALL) {
				// No frame has been left without a return.
				if (RARELY(top < frames || top == most || top->slot - 1 < slot))
					goto left;
				int32_t c = NAME(known)(nodes + top->node, left->self, s->self);
				if (RARELY(!c) && !(c = NAME(called)(f, left, s, nodes, table, top->node)))
					goto left;
				GIVE(node->own, due);
				SET(due, 1);
				node = nodes + c;
				NAME(place)(++top, c, s->named, s->fn, 0, slot, left->ret);
			} else if (left) {
				struct frame *to = top - 1;
				if (RARELY(to < frames || top->slot != slot || top->kind & TAIL || slot == 0 || to->match != s->fn) && !(to = NAME(returned)(frames, top, slot, s->fn)))
					goto left;
				top = to;
				GIVE(node->own, due);
				SET(due, 0);
				node = nodes + top->node;
			} else {
				struct frame *to = NAME(jumped)(f, s, nodes, frames, top, table, &calls);
				if (!to)
					goto left;
				top = to;
				GIVE(node->own, due);
				SET(due, calls);
				node = nodes + top->node;
			}
			match = s->fn;
			left = NULL;
			ADD(due, s->counts);
			if (RARELY(s->words))
				NAME(by_words)(f, accesses + s->words_at, s->words, w + 1, node);
			if (s->op != OP_NONE) {
				left = s;
				slot = s->slot < 0 ? 0 : w[1 + s->slot] + s->offset;
				match = -1;
			}
		} while (++s < last);
		runs[id]++;
		w = next;
		continue;
	left:
		f->step = s - (steps + p->at);
		break;
	}
	GIVE(node->own, due);
	f->at = w - words;
	f->frames = top - frames + 1;
	f->match = match;
	f->cur = node - nodes;
	f->op = OP_NONE;
	if (left) {
		f->op = left->op;
		f->site = left->site;
		f->ret = left->ret;
		f->target = left->target;
		f->slot = slot;
	}
}
