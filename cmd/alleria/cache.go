package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"alleria/analysis"
	"alleria/engine/reuse"
	"alleria/internal/diskcache"
	"alleria/internal/symbols"
)

// cacheOff is what --cache is where nothing is to be kept.
const cacheOff = "off"

// kept opens the folder in which translations stay between runs: one that is named, or the user's. nil: none.
//
// One that is named has to be there or to be made. The user's own is an optimisation: where it is refused, or there is no home, the log has a
// note and the run goes on without.
func (a *app) kept(named string, log io.Writer) (*diskcache.Dir, error) {
	path, err := named, error(nil)
	switch named {
	case cacheOff:
		return nil, nil
	case "":
		path, err = diskcache.DefaultPath()
	}
	var d *diskcache.Dir
	if err == nil {
		d, err = diskcache.Open(path)
	}
	if err != nil && named != "" {
		return nil, usagef("--cache: %w", err)
	}
	if err != nil && log != nil {
		fmt.Fprintf(log, "kept translations: %v\n", err)
	}
	return d, nil
}

// cacheEntry is one program of cache --json.
type cacheEntry struct {
	reuse.Said
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"`
}

// cacheList is cache --json.
type cacheList struct {
	Directory string       `json:"directory"`
	Bytes     int64        `json:"bytes"`
	Most      int64        `json:"most"` // bytes, more are not kept
	Entries   []cacheEntry `json:"entries"`
	Names     keptNames    `json:"names"`
}

// keptNames are the images' tables of functions that are kept besides translations.
type keptNames struct {
	Images int   `json:"images"`
	Bytes  int64 `json:"bytes"`
}

// add enters an entry into the list by what is said about it; what somebody else has kept is passed over.
func (c *cacheList) add(l *diskcache.Listed) {
	e := cacheEntry{Bytes: l.Size, Used: l.Used}
	var names symbols.KeptTable
	if json.Unmarshal([]byte(l.About), &names) == nil && names.Functions > 0 {
		c.Names.Images, c.Names.Bytes, c.Bytes = c.Names.Images+1, c.Names.Bytes+l.Size, c.Bytes+l.Size
	} else if json.Unmarshal([]byte(l.About), &e.Said) == nil {
		c.Entries, c.Bytes = append(c.Entries, e), c.Bytes+l.Size
	}
}

// keptCommand lists and empties the folder of kept.
func (a *app) keptCommand() *cobra.Command {
	asJSON, dir := false, ""
	c := &cobra.Command{
		Use:   "cache [flags]",
		Short: "List the translations that are kept for later runs, or remove them",
		Long: `record keeps translations of programs, so that they start faster the next time. cache
lists these programs, the most recently used first, and says for how many images the
names of functions are kept. All of it is in $XDG_CACHE_HOME/alleria, or ~/.cache/alleria,
and takes 512 MiB at most. Translations are valid only for the alleria that made them and
for unchanged programs and libraries; those that record, only for the same configuration.
Nothing is lost when they are removed.`,
		Example: `  alleria cache
  alleria cache --json | jq '.entries[].program'
  alleria cache clear`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.listKept(dir, asJSON) },
	}
	c.PersistentFlags().StringVar(&dir, "cache", "", "the `directory`, as for record --cache")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(&cobra.Command{
		Use: "clear", Short: "Remove all translations that are kept", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.clearKept(dir) },
	})
	return c
}

// openKept opens a folder that is there, or the user's; nil if it is not.
func openKept(dir string) (*diskcache.Dir, string, error) {
	if dir == "" {
		var err error
		if dir, err = diskcache.DefaultPath(); err != nil {
			return nil, "", err
		}
	}
	d, err := diskcache.OpenExisting(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dir, nil
	}
	return d, dir, err
}

// listKept lists what is kept.
func (a *app) listKept(dir string, asJSON bool) error {
	d, path, err := openKept(dir)
	if err != nil {
		return err
	}
	list := cacheList{Directory: path, Most: diskcache.DefaultMost, Entries: []cacheEntry{}}
	if d != nil {
		found, err := d.List()
		if err != nil {
			return err
		}
		for i := range found {
			list.add(&found[i])
		}
	}
	if asJSON {
		return a.printJSON(list)
	}
	if len(list.Entries) == 0 && list.Names.Images == 0 {
		fmt.Fprintf(a.messages(), "alleria: %s has no translations\n", path)
		return nil
	}
	table := analysis.NewTextTable("program", "records", "blocks", "size", "written", "used")
	table.Text = 2
	for _, e := range list.Entries {
		records := "no"
		if e.Records {
			records = "yes"
		}
		table.Add(analysis.Printable(e.Program), records, fmt.Sprint(e.Blocks), amount(float64(e.Bytes), "B"), e.Written.Format(time.DateTime), e.Used.Format(time.DateTime))
	}
	table.Write(a.stdout, "")
	if n := list.Names; n.Images > 0 {
		fmt.Fprintf(a.stdout, "function names of %d %s: %s\n", n.Images, map[bool]string{true: "image", false: "images"}[n.Images == 1], amount(float64(n.Bytes), "B"))
	}
	_, err = fmt.Fprintf(a.stdout, "%s in %s\n", amount(float64(list.Bytes), "B"), path)
	return err
}

// clearKept removes what is kept.
func (a *app) clearKept(dir string) error {
	d, path, err := openKept(dir)
	if err != nil || d == nil {
		return err
	}
	n, bytes, err := d.Clear()
	fmt.Fprintf(a.messages(), "alleria: files removed from %s: %d, %s\n", path, n, amount(float64(bytes), "B"))
	return err
}
