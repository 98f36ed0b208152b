package session

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"alleria/abp"
	"alleria/config"
	"alleria/internal/session/plan"
	"alleria/internal/sys"
)

// openWriter makes an image's profile, and the processing threads if it is the first one.
//
// The pool starts at once, with nothing to consume. An error that nobody can go on after ends the recording from
// a processing thread: Poll sees to the rest.
func (ps *process) openWriter(im *image) error {
	if ps.emit == nil || ps.opts.Only == OnlyCount { // counts are in run.json
		return nil
	}
	h := ps.header(im)
	ps.parts++ // a program executed by the process is a part of the run of its own
	h.Process, h.Generation = uint32(ps.number), uint32(ps.parts)
	e := ps.entry(nil)
	e.Generation, e.Command = h.Generation, h.CommandLine
	ps.emit.AddProcess(e)
	w, err := ps.emit.NewProcess(h, im.p.Blocks())
	if err != nil {
		return err
	}
	im.writer = w
	if n := leastSample(ps.opts.Config); n > 1 {
		w.Sample()
		ps.note(fmt.Sprintf("of some instructions only a random part was kept, at most one in %d: counts are of what was kept", n))
	}
	for _, l := range ps.cpuid() {
		w.AddCPUID(abp.CPUIDLeaf{Leaf: l.Leaf, Subleaf: l.Subleaf, EAX: l.EAX, EBX: l.EBX, ECX: l.ECX, EDX: l.EDX})
	}
	w.AddFamily(ps.family(nil))
	if len(ps.opts.Analyses) > 0 {
		im.beside = ps.newBeside(w, h)
	}
	ps.openPool(im.p.BellMemory())
	return nil
}

// header describes an image's process.
// What cannot be read stays empty: a header is no reason to give a run up.
func (ps *process) header(im *image) abp.Header {
	pid := im.p.PID()
	now := time.Now()
	h := abp.Header{Machine: abp.Machine{OS: abp.OSLinux, Arch: abp.ArchX8664, TargetArch: abp.ArchX8664, VirtualBits: 48,
		PageSize: uint32(os.Getpagesize()), Memory: sys.Memory()}, Created: now, Started: now, TSCAtStart: sys.TSC(), TSCFrequency: ps.tscFrequency(),
		PID: uint32(pid), Flags: flagsOfConfig(ps.opts.Config), SystemDir: "/usr/lib", OSVersion: sys.Kernel()}
	switch sys.CPUVendor() {
	case "GenuineIntel":
		h.Vendor = abp.VendorIntel
	case "AuthenticAMD":
		h.Vendor = abp.VendorAMD
	}
	// Of the process and not of the options: an interpreter line or an execve has
	// changed it.
	h.Executable = ps.exe(pid)
	h.WorkDir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		h.CommandLine = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	return h
}

// flagsOfConfig sums up what the configuration can record.
// They say what may be in the profile, for readers that need values, say, and can
// refuse early.
func flagsOfConfig(c *config.Config) abp.HeaderFlags {
	fields := plan.FieldFlags[abp.HeaderFlags]{
		{config.AccessAddressAndSize, abp.FlagAddresses}, {config.AccessValue, abp.FlagValues}, {config.TimeStamp, abp.FlagTimeStamps},
		{config.RoutineID, abp.FlagRoutines}, {config.Branch, abp.FlagBranches},
	}
	f := abp.FlagInstructions
	for _, w := range c.Windows {
		for in := range w.Profile.AllInstructions() {
			f |= fields.Of(in.Fields)
			if len(in.Registers) > 0 {
				f |= abp.FlagRegisters
			}
		}
		for _, p := range w.Profile.Processes {
			for _, t := range p.Threads {
				if t.Syscalls {
					f |= abp.FlagSyscalls
				}
				if t.Signals {
					f |= abp.FlagSignals
				}
			}
		}
	}
	return f
}

// closeWriter drains the rings and closes an image's profile.
// The rings first: what they hold still goes into the profile.
func (ps *process) closeWriter(im *image) {
	if im.writer == nil {
		return
	}
	for _, ring := range im.rings { // of threads whose end was not told, if any
		ps.proc.pool.Remove(ring)
	}
	ps.drained(im.writer)
	ps.closeBeside(im)
	end := abp.EndInfo{Ended: time.Now().UnixNano(), EndTSC: sys.TSC(), Reason: "the process ended"}
	if why := ps.why.Load(); why != nil {
		end.Reason = *why
	}
	if err := im.writer.Close(end); err != nil {
		ps.failed.CompareAndSwap(nil, &err)
	}
	ps.full() // with what was written last
	im.writer = nil
}

// limits ends the recording when it has gone on for long enough.
// Limits are looked at when the engine polls: the target hears of it a little late. What it
// records meanwhile beyond a bound on instructions or bytes is dropped by emit.
func (r *run) limits(now time.Time) {
	o := r.opts
	if r.over.Load() || r.emit == nil || o.Only == OnlyCount {
		return
	}
	if o.MaxTime > 0 && time.Since(r.started) >= o.MaxTime {
		r.end(fmt.Sprintf("--max-time %v", o.MaxTime))
	}
	r.full()
	if r.disk.due(now) {
		r.warnDisk(r.disk.look(now, r.emit.Written()))
	}
}

// full ends the recording when a bound on what is recorded was reached.
func (r *run) full() {
	if why := r.emit.Full(); why != "" {
		r.end(why)
	}
}

// warnDisk tells the user while it is time to do something: at once only on a
// terminal, since otherwise standard error is the target's.
func (r *run) warnDisk(text string) {
	if text == "" {
		return
	}
	if w := r.opts.Progress; w != nil {
		fmt.Fprintf(w, "\ralleria: %s\n", text)
	}
	if w := r.opts.Log; w != nil {
		fmt.Fprintln(w, text)
	}
	if r.emit != nil {
		r.emit.Note(text)
	}
}

// logf writes a line to the developers' log, if there is one.
func (r *run) logf(format string, args ...any) {
	if w := r.opts.Log; w != nil {
		fmt.Fprintf(w, format+"\n", args...)
	}
}

// host describes the machine.
// It is written once a run, for whoever compares two of them.
func host() abp.Host {
	h := abp.Host{Processors: runtime.NumCPU(), Memory: sys.Memory(), Kernel: sys.Kernel(), Processor: sys.CPUBrand()}
	h.Name, _ = os.Hostname()
	return h
}

// leastSample is the smallest N of all instructions of which one in N is recorded; 0
// if there are none.
func leastSample(c *config.Config) int {
	least := 0
	for _, w := range c.Windows {
		for i := range w.Profile.AllImages() {
			for _, f := range i.Functions {
				for _, in := range f.Instructions {
					if in.Sample > 1 && (least == 0 || in.Sample < least) {
						least = in.Sample
					}
				}
			}
		}
	}
	return least
}
