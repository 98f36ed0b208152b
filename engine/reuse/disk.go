package reuse

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"alleria/internal/diskcache"
	"alleria/internal/records"
)

// Disk is where templates stay from one run to the next.
//
// A file is for one binary of ours, one kind of processor, the same switches, a program by its path, and what its blocks record, in words (Key, Name). Whether its images
// are those of today is found as within a run, image by image, besides what build-ids and contents say (contents.go).
type Disk struct {
	Dir *diskcache.Dir
	// Key is what translations depend on that does not change within a run; records: those that record as well.
	Key func(records bool) string
	Log func(format string, args ...any)
	// Read is told how large a file is that was read, before it becomes a template; nil: nobody.
	Read func(bytes int)
	// NameOf is what numbers of images and functions mean, of what Names.Words has said in an earlier run.
	NameOf NameOf
	// CheckFacts has all facts of blocks looked at when a file is read, not those that are read later.
	CheckFacts bool
	// Asked is what is to be recorded, in words that are known before the program is (ReadAhead); empty: nothing is read ahead.
	Asked string

	ahead    *ahead       // what is being read ahead, until something is asked for
	first    func() error // keeps what that was; nil: it is kept
	keys     map[bool]string
	contents map[contentKey]uint64
}

// Names is what numbers of images and functions in facts of blocks mean.
type Names interface {
	// Words says it in a form that holds in another run; nil where nothing does.
	Words() []byte
}

// NameOf is what words say, which were read from a file; nil where they say nothing, or have no names for numbers as high as these.
type NameOf func(words []byte, high records.Highest) Names

// Said is what is said in a file about a template.
type Said struct {
	Program string    `json:"program"`
	Blocks  int       `json:"blocks"`
	Records bool      `json:"records"` // they record something
	Written time.Time `json:"written"`
}

// keyOf is a template's key.
func (d *Disk) keyOf(name Name) string {
	records := name.Records != ""
	if d.keys == nil {
		d.keys = make(map[bool]string)
	}
	if d.keys[records] == "" {
		d.keys[records] = "templates 4\n" + OwnBinary() + "\n" + d.Key(records) + "\n"
	}
	return d.keys[records] + name.Program + "\n" + name.Records
}

// OwnBinary tells our binary from others, also from what lay at its path before.
func OwnBinary() string {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%+v", versionOf(info))
}

// load is a program's template; nil if there is none for a program as it is now.
func (d *Disk) load(name Name, exe FileVersion) *Template {
	if d == nil || OwnBinary() == "" {
		return nil
	}
	data, err, ok := d.takeAhead(name)
	key := d.keyOf(name)
	if !ok {
		data, err = d.Dir.Load(key)
	}
	if data == nil {
		d.log(err)
		return nil
	}
	if d.Read != nil {
		d.Read(len(data))
	}
	t, err := unflatten(data, d.NameOf, d.CheckFacts)
	if err != nil {
		d.log(fmt.Errorf("translations of %s: %w", name.Program, err))
		d.log(d.Dir.Drop(key))
		return nil
	}
	if t.exe != exe {
		return nil
	}
	return t
}

// store writes a program's template.
func (d *Disk) store(name Name, t *Template) {
	if d == nil || !t.isNew || !t.exe.known() {
		return
	}
	var names []byte
	if t.names != nil {
		if names = t.names.Words(); names == nil {
			return
		}
	}
	about, err := json.Marshal(Said{Program: name.Program, Blocks: t.Blocks.N, Records: name.Records != "", Written: time.Now()})
	if err == nil {
		err = d.Dir.Store(d.keyOf(name), string(about), t.flatten(names))
		runtime.KeepAlive(t) // whose memory the parts are
	}
	d.log(err)
}

// drop removes a program's template.
func (d *Disk) drop(name Name) {
	if d != nil {
		d.log(d.Dir.Drop(d.keyOf(name)))
	}
}

// log notes what went wrong: a run goes on without what is kept.
func (d *Disk) log(err error) {
	if err != nil && d.Log != nil {
		d.Log("kept translations: %v", err)
	}
}
