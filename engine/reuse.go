package engine

import (
	"fmt"
	"os"
	"slices"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/mapping"
	"alleria/engine/reuse"
)

// What processes take over of others: of the last process of their program (package reuse), and of their creator.

// takeOver gives a process that has translated nothing yet what its program's last process had, if it runs in a variant that that
// one had. Its first thread is about to enter the cache, and its table of the variant is filled.
func (p *Process) takeOver(v codecache.Variant) {
	if p.tookOver {
		return
	}
	p.tookOver = true
	if v >= codecache.KeptVariants || p.cache.BlockPool.N > 0 || !p.plain() {
		return
	}
	if p.past == nil || p.past.Path == "" {
		return
	}
	var like string
	if v.Records() || p.alike() {
		if like = p.recordsLike(); like == "" {
			return
		}
	}
	t := p.tr.templates.Find(reuse.Name{Program: p.past.Path, Records: like}, p.exe)
	if t == nil {
		return
	}
	p.like = like
	p.code.Know()
	p.translator.Entries.Reserve(t.Entered)
	p.from = reuse.TakeOver(t, &p.cache, &p.written, taker{p}, reuse.How{Huge: !p.translator.NoHuge, CopyFacts: p.tr.opts.CopyFacts, CopyIndex: p.tr.opts.CopyIndex})
	p.takeImages()
}

// TakeOver has the process take over now what it would when a thread of its comes into the cache in the mode that it was set to. While all of them run
// natively nobody waits for that, which is a tenth of a second for a compiler's code.
func (p *Process) TakeOver() {
	if p.mode != ModeNative {
		p.takeOver(p.mode.variant())
	}
}

// recordsLike says what the process's blocks record, comparably with other processes; empty where that cannot be said, or some of its translations
// record something else. Only then code that records is of use to others (--engine no-kept-records).
func (p *Process) recordsLike() string {
	if p.translator.Entries.Function != nil {
		return p.entriesLike()
	}
	if p.tr.opts.NoKeptRecords || p.cache.Epoch[codecache.Record] > 0 {
		return ""
	}
	for v := codecache.KeptVariants; v < codecache.Aside; v++ {
		if p.cache.SlotChecks[v] != nil {
			return ""
		}
	}
	like := p.client.RecordsLike(p)
	if like != "" && p.translator.Budgeted {
		like += fmt.Sprintf(", against a budget in %d words", p.translator.Words)
	}
	return like
}

// entriesLike is recordsLike of a process that counts entries of functions: blocks go by where these begin and end, of which names have a sum, and with edges they count otherwise
// (--engine no-kept-entries).
func (p *Process) entriesLike() string {
	switch {
	case p.tr.opts.NoKeptEntries, p.translator.Budgeted:
		return ""
	case p.translator.Entries.Edges.On:
		return "entries of functions, and from where"
	}
	return "entries of functions"
}

// alike tells whether also code that records nothing is of use to those alone of whom recordsLike says the same.
func (p *Process) alike() bool { return p.translator.Budgeted || p.translator.Entries.Function != nil }

// hasRecorded tells whether there is recording code.
func (p *Process) hasRecorded() bool {
	return p.cache.Facts.Last() > 0 || p.cache.SideExits.N > 0 || p.cache.SlotChecks[codecache.Record] != nil
}

// noteRecords notes what others have to know of the process's recording code, before its handler forgets it.
func (p *Process) noteRecords() {
	if p.hasRecorded() || p.alike() {
		if p.like = p.recordsLike(); p.like != "" {
			p.names = p.client.Names(p)
		}
	}
}

// takeImages makes translations known whose images have been mapped.
func (p *Process) takeImages() {
	if p.from != nil {
		was := p.from.Reused
		p.from.TakeImages()
		p.stats.Reused += p.from.Reused - was
	}
}

// taker is a process as what it takes over sees it.
type taker struct{ p *Process }

func (t taker) Plainly() bool {
	p := t.p
	if p.like == "" {
		return p.plain() && !p.alike()
	}
	return p.plain() && p.like == p.recordsLike()
}

func (t taker) TakeNames(names reuse.Names, at uint64) bool {
	return t.p.client.TakeNames(t.p, names, at)
}
func (t taker) TakeEntered(list []codecache.Entered, shift uint64) {
	t.p.translator.Entries.Take(list, shift)
	for _, th := range t.p.threads {
		th.counts.GiveEdges()
	}
}
func (t taker) Publish(checks []codecache.CheckAt, shift uint64) { t.p.publishTaken(checks, shift) }

// Holds tells whether an image is mapped, and was not patched while nobody saw it.
func (t taker) Holds(im *reuse.Image) bool {
	p := t.p
	return p.code.Holds(im.Start, im.End) && p.written.Unpatched(p.pid, p.code.Mapping(im.Start), im, codeOwner{p})
}

func (t taker) MadeFrom(page uint64) { t.p.code.MadeFrom(page) }

// lookAround makes translations known of what has been mapped since. It comes before a look whether an address has been translated,
// while no group is being written.
func (p *Process) lookAround() {
	if p.from != nil {
		p.code.Know()
	}
}

// plain tells whether nothing is asked of the process that changes what its translations do, besides counting instructions against a budget and entries of functions, which
// recordsLike has in it. What counters of entries are of a child's creator tells it (EntryCounts.Inherit), and others what was kept.
func (p *Process) plain() bool {
	return !p.translator.Awaits && !p.toggle.Has() && !(p.translator.Budgeted && p.tr.opts.NoKeptBursts) && !p.translator.CountsAccesses && !p.translator.KeepFlags && p.points.Unasked() && len(p.cache.Watched) == 0
}

// template makes one of the process's translations, for the next one that executes its program; nil where they are of no use to others: because
// something in them is about what was asked of this process, or because code was overwritten meanwhile.
// The process is gone; its regions are the template's now.
func (p *Process) template() *reuse.Template {
	if p.detaching.Gone() || !p.general() {
		return nil
	}
	p.written.Entered, p.written.EnteredHead = p.translator.Entries.Keep()
	t := reuse.NewTemplate(&p.cache, &p.written, p.code.Translated(), p.names, p.from)
	p.lent = t != nil
	return t
}

// keepTemplate keeps what the process has translated for the next one that executes its program. It is done once, also where its memory has to stay,
// and not at all where there will be none: behind the last process of a run of which nothing stays on disk.
func (p *Process) keepTemplate() {
	if p.offered || p.tr.templates.Disk == nil && p.tr.empty() {
		return
	}
	p.offered = true
	if p.alike() && p.like == "" { // they would be taken for those that do not count
		return
	}
	if p.past != nil && p.past.Path != "" {
		p.tr.templates.Keep(reuse.Name{Program: p.past.Path, Records: p.like}, p.exe, reuse.Useful(&p.cache), p.template)
	}
}

// general tells whether the translations are such as any process with the same images would have.
func (p *Process) general() bool {
	w := &p.written
	switch {
	case w.Off, w.Mixed, p.translator.Awaits, p.toggle.Has(), p.translator.Budgeted && p.tr.opts.NoKeptBursts, p.translator.CountsAccesses, p.translator.KeepFlags:
		return false
	case p.translator.Entries.Function != nil && (p.names == nil || p.translator.Entries.Worn()):
		return false
	case !p.points.Untouched(), len(p.cache.Watched) > 0, p.hasRecorded() && p.names == nil, len(p.cache.Stepped) > 0:
		return false
	}
	for i := range p.cache.RareExits {
		if need := p.cache.RareExits[i].Need; need != nil && !(p.translator.Budgeted && need.OfInstructions()) {
			return false
		}
	}
	return true
}

// A forked child's memory is its creator's, and so are its translations: it begins with a copy of them as they are at that time, in
// memory at the same addresses (--engine no-inherit). What the creator has changed since the fork is compared as after a stretch of native code:
// mappings with those that translations were made from, and code that lies in no file with itself.
//
// What a child does its creator mostly never did, but the next child will: a shell's children get rid of what they need not, and execute or exit. So
// what a child had in the end, in which its creator's is contained, is kept with the creator for the next one (heir): memory and tables as they are,
// without a copy. They say what holds for the creator as long as the child has changed none of its code.
//
// Refused: to look at the bytes of files as well, which fork has copied with their pages; to wait until the child has asked some
// times, since nearly all do.

// heir is what a forked child that is gone has left to the next one of its creator: the file of its memory, whose regions are unmapped,
// and the tables.
type heir struct {
	file  *os.File
	cache *codecache.Cache
	code  appcode.Inherited
	like  string // see Process.recordsLike
	names reuse.Names
}

// takeHeir is what the last child has left, for another that is about to be set up; nil if there is nothing, or less than
// the process has itself.
func (p *Process) takeHeir() *heir {
	if p == nil || p.heir == nil {
		return nil
	}
	h := p.heir
	p.heir = nil
	if h.cache.BlockPool.N < p.cache.BlockPool.N {
		h.close()
		return nil
	}
	return h
}

// close gives an heir's memory back.
func (h *heir) close() {
	if h != nil {
		h.file.Close()
	}
}

// runsNatively notes that what the process does to its memory is not seen.
func (p *Process) runsNatively() {
	p.code.RunsNatively()
	p.written.RanNatively()
	p.written.Mixed = p.written.Mixed || p.tr.opts.NoKeptBursts
	p.changedCode()
}

// changedCode notes that the process can execute something else than before, or may: what its children had does not hold any more.
func (p *Process) changedCode() {
	p.changed++
	p.heir.close()
	p.heir = nil
}

// leave keeps what a forked child that is gone has translated for the next child of its creator.
func (p *Process) leave() {
	c := p.creator.Value()
	if p.translator.Entries.Function != nil || c == nil || c.dropped || c.closed || p.changed > 0 || p.asOf != c.changed || p.written.Mixed || !p.code.Known() || len(p.threads) > 0 || !p.points.Untouched() ||
		!p.heritable(codecache.Plain) && !p.heritable(codecache.Count) && !p.heritable(codecache.Record) || p.hasRecorded() && p.names == nil {
		return
	}
	if old := c.heir; old != nil {
		if old.cache.BlockPool.N >= p.cache.BlockPool.N {
			return
		}
		old.close()
	}
	if file := p.shm.Leave(); file != nil {
		p.left = true
		c.heir = &heir{file, p.cache.Leave(), p.code.Inherited(), p.like, p.names}
	}
}

// inherit gives a forked child, which has translated nothing yet and is about to run in variant v, what the child before it
// has left, whose memory it has, or its creator's translations.
func (p *Process) inherit(from *Process, h *heir, v codecache.Variant) {
	if p.tr.opts.NoInherit || p.translator.Budgeted || p.asOf != from.changed || v >= codecache.KeptVariants || !p.plain() || !p.translator.Entries.Like(&from.translator.Entries) {
		return
	}
	counts := p.translator.Entries.Function != nil
	switch {
	case h != nil && !counts && p.cache.SamePlaces(h.cache) && h.cache.SlotChecks[v] != nil && p.takesRecords(h.like, h.names, h.cache):
		p.cache.Adopt(h.cache)
		p.code.Inherit(h.code)
	case p.cache.SamePlaces(&from.cache) && from.heritable(v) && p.inheritsRecords(from):
		p.cache.Inherit(&from.cache)
		p.code.Inherit(from.code.Inherited())
		if counts {
			p.translator.Entries.Inherit(&from.translator.Entries)
		}
	default:
		return
	}
	p.tookOver = true
	p.stats.Reused += p.cache.BlockPool.N
	p.code.CompareCode()
}

// takesRecords tells whether a child can go on with the recording code of a cache, which records like that, and takes over what its numbers mean.
func (p *Process) takesRecords(like string, names reuse.Names, cache *codecache.Cache) bool {
	if cache.Facts.Last() == 0 && cache.SideExits.N == 0 {
		return true
	}
	return names != nil && like != "" && like == p.recordsLike() && p.client.TakeNames(p, names, 0)
}

// inheritsRecords is takesRecords of a creator's code.
func (p *Process) inheritsRecords(from *Process) bool {
	if !from.hasRecorded() {
		return true
	}
	return p.takesRecords(from.recordsLike(), from.client.Names(from), &from.cache)
}

// heritable tells whether the process's translations of a variant are such as a child of its would make, and worth a copy. Those of programs that make
// code are not: pages that are set aside, and gates, are the process's.
func (p *Process) heritable(v codecache.Variant) bool {
	if p.closed || p.detaching.Gone() || p.translator.Budgeted || !p.code.AsMade() || !p.plain() || !p.points.Untouched() {
		return false
	}
	return p.cache.SlotChecks[v] != nil && p.cache.BlockPool.N >= reuse.WorthKeeping && !p.cache.HasGates()
}

// The memory of the code of a process that is gone is the next one's that executes the same program: its large pages are there, where the kernel would make and clear
// others. What is written there is not looked at (--engine no-spare).

// spareFile is such memory, and the program that it was of.
type spareFile struct {
	program string
	file    *os.File
}

// How many are kept at most, and of how much code.
const (
	mostFiles   = 4
	leastMemory = 1 << 20
	mostMemory  = 48 << 20
)

// keepMemory keeps the memory of a process that is gone, unless somebody else may have it still: a child that it has created, or itself, being detached.
func (p *Process) keepMemory() {
	size := p.stats.CacheBytes
	switch tr := p.tr; {
	case tr.opts.NoSpare, tr.done, len(tr.files) == mostFiles, size < leastMemory, size > mostMemory, p.past == nil, p.past.Path == "":
	case p.lent, p.left, p.kept, p.bred, p.detachedThreads, p.detaching.Gone(), !p.points.Untouched(), p.shm.File == nil:
	default:
		if f := p.shm.Leave(); f != nil {
			tr.files = append(tr.files, spareFile{p.past.Path, f})
		}
	}
}

// takeMemory is memory for a process that is about to execute a program, as another one of that has left it; nil if there is none.
func (tr *Tracer) takeMemory(past *reuse.Program, at mapping.Where) *os.File {
	if past == nil || at != mapping.Executing {
		return nil
	}
	i := slices.IndexFunc(tr.files, func(f spareFile) bool { return f.program == past.Path })
	if i < 0 {
		return nil
	}
	f := tr.files[i].file
	tr.files = slices.Delete(tr.files, i, i+1)
	return f
}
