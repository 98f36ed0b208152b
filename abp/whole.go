package abp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Gap is a part of a run that is not where the rest of the run says that it is: a file that
// was deleted, or one of another run in its place.
type Gap struct {
	Path string // of the file or directory
	Text string // what is wrong with it, as the end of a sentence that begins with the path
	// CutOff: it was never written, because the recorder was ended.
	CutOff bool
}

// String returns the gap as a sentence.
func (g Gap) String() string { return g.Path + " " + g.Text }

// Texts of gaps.
const (
	gapMissing = "is missing"
	gapForeign = "is not of this run"
	gapDamaged = "is damaged, and passed over"
)

// configFile is the configuration as used, beside run.json.
const configFile = "window.xml"

// Gaps returns what belongs to the profile and is not there. That a file lacks its end, because
// the recording was cut off, is no gap; what others lack by that is one.
//
// Three things know what belongs together: run.json the processes and the output directories,
// each main profile its sub-profiles, and each file's header whose it is.
func (p *Profile) Gaps() []Gap { return p.gaps }

// runGaps compares a run's directory with what run.json says.
func (p *Profile) runGaps(dir string) {
	if p.run == nil {
		p.gap(filepath.Join(dir, RunFile), gapMissing)
		return
	}
	for _, out := range p.run.Outputs {
		if st, err := os.Stat(out); err != nil || !st.IsDir() {
			p.gap(out, gapMissing)
		}
	}
	recorded := false
	for _, e := range p.run.Processes {
		if e.Dir == "" {
			continue
		}
		recorded = true
		p.processGap(dir, &e)
	}
	// A run that only counted has none.
	if recorded && p.run.Config != "" && absent(filepath.Join(dir, configFile)) {
		p.gap(filepath.Join(dir, configFile), gapMissing)
	}
	p.strayGaps(dir)
}

// processGap looks for one process of run.json, and whether it has recorded what run.json says.
func (p *Profile) processGap(dir string, e *ProcessEntry) {
	main := filepath.Join(dir, e.Dir, MainFile)
	proc := p.Program(e.Number, e.Generation)
	p.lostIn(proc, e)
	switch {
	case absent(main):
		p.gap(main, gapMissing)
	case proc == nil || proc.main.path != main || proc.main.header.PID != e.PID:
		p.gap(main, gapForeign)
	case e.HasRecords() && e.Counts != (Counts{}) && proc.Complete() && len(proc.gaps) == 0 && proc.Counts() != e.Counts:
		p.gap(main, fmt.Sprintf("has %d instructions, %s says %d", proc.Counts().Instructions, RunFile, e.Instructions))
	}
}

// strayGaps looks for sub-profiles without a main profile: run.json of a run that was cut off
// lists no processes.
func (p *Profile) strayGaps(dir string) {
	for _, root := range append([]string{dir}, p.run.Outputs...) {
		names, err := filepath.Glob(filepath.Join(root, "p*", "*.abp"))
		if err != nil { // of the pattern only
			return
		}
		for _, name := range names {
			main := filepath.Join(dir, filepath.Base(filepath.Dir(name)), MainFile)
			if subNumber(name) != 0 && absent(main) {
				p.gap(main, gapMissing)
			}
		}
	}
}

// gap notes a gap, once.
func (p *Profile) gap(path, text string) {
	for _, g := range p.gaps {
		if g.Path == path {
			return
		}
	}
	p.gaps = append(p.gaps, Gap{Path: path, Text: text})
}

// belongs reports whether a sub-profile is this process's, under the number that its name has.
// A sub-profile has its main profile's header, but for type and number.
func (p *Process) belongs(f *File, number int) bool {
	a, b := &p.main.header, &f.header
	return b.Type == TypeSub && int(b.Stream) == number &&
		a.Process == b.Process && a.Generation == b.Generation && a.PID == b.PID && a.TSCAtStart == b.TSCAtStart && a.Created.Equal(b.Created)
}

// subGaps compares the open sub-profiles with those that the main profile lists.
func (p *Process) subGaps(dir string) {
	for i := range p.subs {
		s := &p.subs[i]
		path := s.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		known := p.sub(s.Number) != nil
		for _, g := range p.gaps { // foreign, noted when it was opened
			known = known || subNumber(g.Path) == int(s.Number)
		}
		if !known {
			p.gaps = append(p.gaps, Gap{Path: path, Text: p.lostStream(path)})
		}
	}
}

// countGap compares what the main profile says of all sub-profiles with what those have that were
// found: a file may be missing that is in no list, or have lost its end.
func (p *Process) countGap() {
	if p.main.end == nil || len(p.gaps) > 0 || p.main.end.Counts == (Counts{}) || p.main.end.Counts == p.Counts() {
		return
	}
	for _, f := range p.files {
		if !f.Complete() {
			return // which says enough
		}
	}
	p.gaps = append(p.gaps, Gap{Path: p.main.path, Text: fmt.Sprintf("lists %d instructions, its sub-profiles have %d",
		p.main.end.Counts.Instructions, p.Counts().Instructions)})
}

// absent reports whether there is no such file. One that cannot be looked at is there.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// processOf returns the number in a process's directory's name, 0 if it is none.
func processOf(dir string) int {
	name, ok := strings.CutPrefix(filepath.Base(dir), "p")
	name, _, _ = strings.Cut(name, ".") // from the second of its programs on
	n, err := strconv.Atoi(name)
	if !ok || err != nil {
		return 0
	}
	return n
}

// A main file that was cut off may lack the definitions of blocks that frames in other files refer
// to: each file is written by itself, and a crash of the machine loses what the system had not
// written yet. Such frames cannot be decoded; their headers still say what they count.

// Lacks reports whether a frame refers to blocks that the main file does not define, because it was
// cut off. Readers leave such a frame out. In a main file that is whole it is damage, which decoding
// the frame reports.
func (p *Process) Lacks(ref *FrameRef) bool {
	if p.main.Complete() || ref.Execs == 0 {
		return false
	}
	if p.Block(ref.MaxBlock) == nil {
		return true
	}
	// Blocks are defined when they are first needed, not by number: the highest may be there and
	// others not.
	_, _, err := p.FrameBlocks(ref, nil)
	return errors.Is(err, errUndefined)
}

// lackGap notes how many frames cannot be read, as far as their headers tell.
func (p *Process) lackGap() {
	if p.main.Complete() {
		return
	}
	lacking, all := 0, 0
	for i := range p.threads {
		for _, ref := range p.threads[i].Frames {
			all++
			if ref.Execs > 0 && p.Block(ref.MaxBlock) == nil {
				lacking++
			}
		}
	}
	if lacking > 0 {
		p.gaps = append(p.gaps, Gap{p.main.path, fmt.Sprintf("was cut off: it lacks code that %d of %d frames refer to, which are counted by thread only", lacking, all), true})
	}
}

// DamagedFile is what the name of a stream's file ends in of which a disk has refused some after it had taken it: nobody knows which part, so that readers take
// all of it for missing. What its frames' headers say tells what that was.
const DamagedFile = ".damaged"

// damagedStream is what is left of such a file.
type damagedStream struct {
	name         string
	frames       int
	instructions uint64
	threads      []uint32 // in order of appearance
	first, last  uint64   // time stamps of the frames' ends
	size         uint64
	bad          uint64 // where the first section lies that cannot be read; size: all can
	behind       uint64 // the time stamp up to which frames lie in front of it
}

// readDamaged reads what can be read of a file, section by section; nil where there is none.
func readDamaged(path string) (*damagedStream, error) {
	r, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("open damaged stream: %w", err)
	}
	defer r.Close() // read only: nothing can be lost
	st, err := r.Stat()
	if err != nil {
		return nil, fmt.Errorf("open damaged stream: %w", err)
	}
	f := &File{path: path, r: r, size: uint64(st.Size())}
	d := &damagedStream{name: filepath.Base(path), size: f.size, bad: f.size}
	head := make([]byte, min(f.size, HeaderSize))
	if f.readAt(head, 0) != nil || f.header.decodeFixed(head) != nil {
		d.bad = 0
		return d, nil
	}
	var buf []byte
	for at := uint64(HeaderSize); at < f.size; {
		s, err := f.sectionAt(at)
		if err != nil || s.End() > f.size {
			d.isBad(at)
			break
		}
		if s.Type == SectionDirectory {
			break
		}
		if buf, err = f.readPayload(&s, buf); err != nil {
			d.isBad(at)
		} else if s.Type == SectionProfile {
			d.frame(buf, at)
		}
		at = s.End()
	}
	return d, nil
}

// isBad notes a section that cannot be read.
func (d *damagedStream) isBad(at uint64) {
	if at < d.bad {
		d.bad, d.behind = at, d.last
	}
}

// frame adds a frame up.
func (d *damagedStream) frame(payload []byte, at uint64) {
	var h FrameHeader
	if len(payload) < FrameHeaderSize {
		d.isBad(at)
		return
	}
	if _, err := h.decode(payload[:FrameHeaderSize]); err != nil {
		d.isBad(at)
		return
	}
	if d.frames++; d.frames == 1 {
		d.first = h.FirstTSC
	}
	d.first, d.last = min(d.first, h.FirstTSC), max(d.last, h.LastTSC)
	d.instructions += h.Counts.Instructions
	if !slices.Contains(d.threads, h.Thread) {
		d.threads = append(d.threads, h.Thread)
	}
}

// text says it as the end of a sentence that begins with the path of the stream. times are those of the process's header.
func (d *damagedStream) text(times *Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the disk has refused some of what it had taken before, nobody knows which part; the file is %s now", gapMissing, d.name)
	at := func(tsc uint64) float64 { return times.TimeOf(tsc).Sub(times.Started).Seconds() }
	if d.frames == 0 {
		b.WriteString(", and nothing of it can be read")
		return b.String()
	}
	slices.Sort(d.threads)
	fmt.Fprintf(&b, ". Of it %d frames can be read, of thread", d.frames)
	for i, t := range d.threads {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %d", t)
	}
	fmt.Fprintf(&b, ", from %.6f to %.6f s, with %d instructions, which are lost", at(d.first), at(d.last), d.instructions)
	if d.bad < d.size {
		fmt.Fprintf(&b, "; the first damage lies at byte %d of %d", d.bad, d.size)
		if d.behind != 0 {
			fmt.Fprintf(&b, ", behind %.6f s", at(d.behind))
		}
	}
	return b.String()
}

// lostStream is the text of the gap that a stream's file leaves which is not there.
func (p *Process) lostStream(path string) string {
	d, err := readDamaged(path + DamagedFile)
	if err != nil {
		return fmt.Sprintf("%s, and what is left of it cannot be looked at: %v", gapMissing, err)
	}
	if d == nil {
		return gapMissing
	}
	return d.text(&p.main.header)
}

// lostIn adds how many instructions a process has lost in all, as its run says, to what is said of its damaged streams.
func (p *Profile) lostIn(proc *Process, e *ProcessEntry) {
	if proc == nil || e.LostInstructions == 0 {
		return
	}
	for i := range p.gaps {
		g := &p.gaps[i]
		if strings.Contains(g.Text, DamagedFile) && slices.ContainsFunc(proc.gaps, func(o Gap) bool { return o.Path == g.Path }) {
			g.Text += fmt.Sprintf("; process %d has lost %d instructions in all (%s)", e.Number, e.LostInstructions, RunFile)
		}
	}
}
