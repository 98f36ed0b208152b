package session

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"alleria/abp"
	"alleria/cab"
	"alleria/config"
	"alleria/internal/sys"
)

// openWriter makes an image's profile and its processing threads.
//
// The pool starts at once, with nothing to consume. Its first error ends the recording from
// a processing thread: Poll sees to the rest.
func (r *run) openWriter(im *image) error {
	if r.emit == nil || r.opts.Only == OnlyCount { // counts are in run.json
		return nil
	}
	h := r.header(im)
	h.Process = uint32(r.images) // a program executed by the process is a part of the run of its own
	w, err := r.emit.NewProcess(h, im.p.Blocks())
	if err != nil {
		return err
	}
	im.writer = w
	if n := leastSample(r.opts.Config); n > 1 {
		w.Sample()
		r.note(fmt.Sprintf("of some instructions only a part was kept, at random, of one in %d at most: counts are of what was kept", n))
	}
	for _, l := range r.cpuid() {
		w.AddCPUID(abp.CPUIDLeaf{Leaf: l.Leaf, Subleaf: l.Subleaf, EAX: l.EAX, EBX: l.EBX, ECX: l.ECX, EDX: l.EDX})
	}
	w.AddFamily(abp.FamilyRow{Number: h.Process, PID: h.PID, Followed: true, Started: time.Now().UnixNano(), Command: h.CommandLine})
	// As many as processors: too few make the target wait for room, too many only
	// sleep.
	threads := r.opts.Threads
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	sinks := make([]cab.Sink, threads)
	for i := range sinks {
		sinks[i] = &sink{stream: w.NewStream()}
	}
	im.pool = cab.NewPool(cab.NewBell(im.p.ControlMemory()), flushInterval, sinks, func(err error) {
		r.failed.CompareAndSwap(nil, &err)
		r.end("writing failed: " + err.Error())
	})
	return nil
}

// header describes an image's process.
// What cannot be read stays empty: a header is no reason to give a run up.
func (r *run) header(im *image) abp.Header {
	pid := im.p.PID()
	now := time.Now()
	h := abp.Header{OS: abp.OSLinux, Arch: abp.ArchX8664, TargetArch: abp.ArchX8664, VirtualBits: 48,
		PageSize: uint32(os.Getpagesize()), Created: now, Started: now, TSCAtStart: sys.TSC(), TSCFrequency: r.clock.TSCFrequency(),
		PID: uint32(pid), Flags: flagsOfConfig(r.opts.Config), Memory: memory(), SystemDir: "/usr/lib", OSVersion: osVersion()}
	switch sys.CPUVendor() {
	case "GenuineIntel":
		h.Vendor = abp.VendorIntel
	case "AuthenticAMD":
		h.Vendor = abp.VendorAMD
	}
	// Of the process and not of the options: an interpreter line or an execve has
	// changed it.
	h.Executable, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
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
	fields := fieldFlags[abp.HeaderFlags]{
		{config.AccessAddressAndSize, abp.FlagAddresses}, {config.AccessValue, abp.FlagValues}, {config.TimeStamp, abp.FlagTimeStamps},
		{config.RoutineID, abp.FlagRoutines}, {config.Branch, abp.FlagBranches},
	}
	f := abp.FlagInstructions
	for _, w := range c.Windows {
		for in := range w.Profile.AllInstructions() {
			f |= fields.of(in.Fields)
			if len(in.Registers) > 0 {
				f |= abp.FlagRegisters
			}
		}
	}
	return f
}

// closeWriter drains the rings and closes an image's profile.
// The pool first: what it drains still goes into the profile.
func (r *run) closeWriter(im *image) {
	if im.pool != nil {
		if err := im.pool.Close(); err != nil {
			r.failed.CompareAndSwap(nil, &err)
		}
		im.pool = nil
	}
	if im.writer == nil {
		return
	}
	end := abp.EndInfo{Ended: time.Now().UnixNano(), EndTSC: sys.TSC(), Reason: "the process ended"}
	if why := r.why.Load(); why != nil {
		end.Reason = *why
	}
	if err := im.writer.Close(end); err != nil {
		r.failed.CompareAndSwap(nil, &err)
	}
	im.writer = nil
}

// limits ends the recording when it has gone on for long enough.
// Limits are looked at when the engine polls: a recording ends a little late, by
// what the rings hold.
func (r *run) limits(im *image) {
	o := r.opts
	if r.over.Load() || im.writer == nil {
		return
	}
	if o.MaxTime > 0 && time.Since(r.started) >= o.MaxTime {
		r.end(fmt.Sprintf("--max-time %v", o.MaxTime))
	}
	if o.MaxInstructions > 0 {
		// What has been written, not what was executed: what the rings hold comes
		// on top.
		if c, _ := im.writer.Counts(); c.Instructions >= o.MaxInstructions {
			r.end(fmt.Sprintf("--max-instructions %d", o.MaxInstructions))
		}
	}
	if o.MaxSize > 0 && r.emit.Written() >= o.MaxSize {
		r.end(fmt.Sprintf("--max-size %d", o.MaxSize))
	}
	if now := time.Now(); r.disk.due(now) {
		r.warnDisk(r.disk.look(now, r.emit.Written()))
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

// host describes the machine.
// It is written once a run, for whoever compares two of them.
func host() abp.Host {
	h := abp.Host{Processors: runtime.NumCPU(), Memory: memory(), Kernel: osVersion(), Processor: sys.CPUBrand()}
	h.Name, _ = os.Hostname()
	return h
}

// memory is the machine's, in bytes; 0: not known.
func memory() uint64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	return s.Totalram * uint64(s.Unit)
}

// osVersion is the system and its release, as uname -sr has it.
func osVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
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
