package session

import (
	"bytes"
	"slices"

	"alleria/abp"
	"alleria/emit"
	"alleria/engine"
	"alleria/internal/session/spaces"
	"alleria/internal/sys"
)

// addressSpace tells an image's profile what lies where: all of it when a window opens that records addresses, then what changes.
//
// In the cache each mapping is seen where it is made. What a native program maps is found at the next opening, by the same look at its
// mappings that finds its images. A nil one does nothing.
type addressSpace struct {
	space  spaces.Space
	writer *emit.ProcessWriter
	p      target
	text   []byte // of the latest look of anybody's
	seen   []byte // of the latest look of ours; nil: there was none
}

// newAddressSpace is nil where nobody is going to ask what an address belongs to.
func newAddressSpace(o *Options, im *image) *addressSpace {
	dropped := o.Discard && len(o.Analyses) == 0
	if im.writer == nil || dropped || flagsOfConfig(o.Config)&abp.FlagAddresses == 0 {
		return nil
	}
	return &addressSpace{writer: im.writer, p: im.p}
}

// reads keeps what is read of the process's mappings for look.
func (a *addressSpace) reads(maps func(pid int) ([]byte, error)) func(pid int) ([]byte, error) {
	if a == nil {
		return maps
	}
	return func(pid int) ([]byte, error) {
		text, err := maps(pid)
		a.text = text
		return text, err
	}
}

// look tells of all mappings as they were read last. The tracer's own are left out.
func (a *addressSpace) look(why string) {
	if a == nil || bytes.Equal(a.text, a.seen) {
		return
	}
	maps, err := sys.ParseMaps(a.text)
	if err != nil { // of a process that is gone
		return
	}
	maps = slices.DeleteFunc(maps, func(m sys.Mapping) bool { return a.p.Ours(m.Start) })
	news := a.space.Look(maps)
	if a.seen == nil {
		a.p.WatchMappings()
	}
	a.tell(why, news, a.seen != nil)
	a.seen = a.text
}

// tell writes what is news.
func (a *addressSpace) tell(why string, news []abp.Region, change bool) {
	if len(news) > 0 {
		a.writer.AddSnapshot(abp.Snapshot{TSC: sys.TSC(), Reason: why, Regions: news, Change: change})
	}
}

// mapped tells of what a call has mapped. Only of files and shared memory the kernel is asked, for that mapping alone.
func (a *addressSpace) mapped(m engine.Mapped) {
	if a == nil || a.seen == nil {
		return
	}
	var news []abp.Region
	switch m.How {
	case engine.MappedAnonymous:
		news = a.space.Put(spaces.Anonymous(m.Start, m.End, m.Prot, m.By))
	case engine.MappedMoved:
		news = a.space.Moved(m.From, m.FromEnd-m.From, m.Start, m.End-m.Start)
	case engine.MappedBreak:
		news = a.space.Break(m.End)
	case engine.MappedNamed:
		got, ok, err := sys.MapAt(a.p.PID(), m.Start)
		if err != nil || !ok { // unmapped by another thread since
			return
		}
		// As one with the same beside it, it is longer than what was mapped now.
		news = a.space.Put(spaces.RegionOf(&got))
	case engine.MappedAnything:
		text, err := sys.ReadMaps(a.p.PID())
		if err != nil {
			return
		}
		a.text = text
		a.look("a call has mapped something")
		return
	}
	a.tell("a call has mapped something", news, true)
}

// Mapped is engine.Handler's.
func (ps *process) Mapped(m engine.Mapped) { ps.image.space.mapped(m) }
