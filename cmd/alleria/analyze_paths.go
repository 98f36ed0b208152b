package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/paths"
)

// pathsCommand counts acyclic paths.
func (a *app) pathsCommand() *cobra.Command {
	var filter orderFlags
	json, top := false, 20
	c := &cobra.Command{
		Use:   "paths PROFILE",
		Short: "Count paths through functions: which ways hot code takes, as lines of source",
		Long: `paths counts how often each path through a function was executed (Ball and Larus):
from where it is entered, or from where a jump back leads, to where it returns or
jumps back. Jumps to lower addresses are what cuts loops. Paths are shown as lines of
source where images have debug information, else as addresses in the image's file.
Code is followed as far as it was recorded: record with --select any, and with
addresses, which tell what returns where.`,
		Example: "  alleria record --analysis paths -o out -- ./tool\n  alleria analyze paths out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("--top is a number from 0, not %d", top)
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				all := []*paths.Result{}
				err = a.eachProcess(profiles[0], q, func(proc *abp.Process, progress *analysis.Progress) error {
					r, err := a.pathsOf(profiles[0], proc, &filter, q, progress)
					if err != nil {
						return err
					}
					all = append(all, r)
					if json {
						return nil
					}
					return a.printPaths(proc, r, top)
				})
				if err != nil || !json {
					return err
				}
				return a.printJSON(all)
			})
		},
	}
	fl := c.Flags()
	fl.UintSliceVar(&filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.BoolVar(&json, "json", false, "print JSON, everything in it: a list of processes")
	fl.IntVar(&top, "top", 20, "show this `number` of paths; 0: all")
	return c
}

// pathsOf counts paths over a process's records, or returns what was counted while it ran.
func (a *app) pathsOf(p *abp.Profile, proc *abp.Process, f *orderFlags, q abp.Query, progress *analysis.Progress) (*paths.Result, error) {
	file, found, err := a.liveResult(proc, "paths")
	if err != nil {
		return nil, err
	}
	if r, ok := found.(*paths.Result); ok {
		a.sayLive(proc, file)
		return r, f.wholeOnly(proc)
	}
	return paths.Count(p, proc, q.Threads, progress)
}

// printPaths prints paths with the lines that the images of the process have.
func (a *app) printPaths(proc *abp.Process, r *paths.Result, top int) (err error) {
	src := newSourceLines()
	defer func() { err = errors.Join(err, src.close()) }()
	return r.Write(a.stdout, top, func(path string, base, addr uint64) (string, int, bool) {
		for i := range proc.Images() {
			if img := &proc.Images()[i]; img.Path == path && img.Base == base {
				file, line, ok := src.find(img, addr)
				return filepath.Base(file), line, ok && file != ""
			}
		}
		return "", 0, false
	})
}
