//go:build !recorder

package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"alleria/abp"
	"alleria/analysis/cache"
	"alleria/analysis/convert"
)

// conversion is one run of the command.
type conversion struct {
	*app
	profile *abp.Profile
	query   abp.Query
	format  *convert.Format
	rows    convert.Rows
	misses  *cache.Options
	cost    string
	output  string // as given; "": standard output
	force   bool
}

// part is one output of several.
type part struct {
	proc   *abp.Process // nil: all
	thread uint32       // 0: all
}

// run writes all outputs.
func (c *conversion) run() error {
	split := c.format.Split
	dataset := strings.HasSuffix(c.output, "/")
	if dataset {
		if c.format.Name != "parquet" {
			return usagef("--output %s: only parquet writes a directory", c.output)
		}
		if err := c.emptyDirectory(); err != nil {
			return err
		}
		split = convert.SplitThread
	}
	parts := c.parts(split)
	if len(parts) == 0 {
		return usagef("nothing that is asked for was recorded")
	}
	if len(parts) > 1 && c.output == "" {
		return usagef("%s makes a file for each of %d %s: --output names them, --process and --thread choose one",
			c.format.Name, len(parts), map[convert.Split]string{convert.SplitProcess: "processes", convert.SplitThread: "threads"}[split])
	}
	for _, p := range parts {
		if err := c.one(p, c.name(p, dataset, len(parts) > 1)); err != nil {
			return err
		}
	}
	return nil
}

// parts lists the outputs.
func (c *conversion) parts(split convert.Split) []part {
	var list []part
	for _, p := range c.profile.Processes() {
		if len(c.query.Processes) > 0 && !slices.Contains(c.query.Processes, p.Number()) {
			continue
		}
		if split != convert.SplitThread {
			list = append(list, part{proc: p})
			continue
		}
		for _, t := range p.Threads() {
			if len(c.query.Threads) == 0 || slices.Contains(c.query.Threads, t.Number) {
				list = append(list, part{p, t.Number})
			}
		}
	}
	if split == convert.SplitNone && len(list) > 0 {
		return []part{{}}
	}
	return list
}

// name is the file of an output; "" is standard output.
func (c *conversion) name(p part, dataset, several bool) string {
	if dataset {
		return filepath.Join(c.output, fmt.Sprintf("process=%d", p.proc.Number()), fmt.Sprintf("thread=%d", p.thread),
			fmt.Sprintf("part-%d%s", max(1, p.proc.Generation()), c.format.Ending))
	}
	if !several {
		return c.output
	}
	// Two endings where the last one is a compression's.
	ext := filepath.Ext(c.output)
	if ext == ".gz" || ext == ".zst" {
		ext = filepath.Ext(strings.TrimSuffix(c.output, ext)) + ext
	}
	which := "-p" + p.proc.Name()
	if p.thread != 0 {
		which += fmt.Sprintf("-t%d", p.thread)
	}
	return strings.TrimSuffix(c.output, ext) + which + ext
}

// emptyDirectory refuses a directory that has something in it.
func (c *conversion) emptyDirectory() error {
	entries, err := os.ReadDir(c.output)
	if err == nil && len(entries) > 0 && !c.force {
		return usagef("--output %s is not empty; --force writes into it", c.output)
	}
	return nil
}

// one writes one output. A file that could not be finished is taken away again.
func (c *conversion) one(p part, name string) (err error) {
	o := convert.Options{Profile: c.profile, Query: c.query, Rows: c.rows, Misses: c.misses, Cost: c.cost, Partition: strings.HasSuffix(c.output, "/"),
		Note: func(format string, args ...any) {
			fmt.Fprintf(c.messages(), "alleria: "+format+"\n", args...)
		}}
	if p.proc != nil {
		o.Query.Processes, o.Query.Programs = []uint32{p.proc.Number()}, []uint32{p.proc.Generation()}
	}
	if p.thread != 0 {
		o.Query.Threads = []uint32{p.thread}
	}
	if name == "" {
		if f, ok := c.stdout.(*os.File); ok && c.format.Binary && isTerminal(f) {
			return usagef("%s is binary and standard output is a terminal: name a file with --output", c.format.Name)
		}
		return c.write(c.stdout, o)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return usagef("--output: %w", err)
	}
	f, err := os.Create(name)
	if err != nil {
		return usagef("--output: %w", err)
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if info, e := os.Lstat(name); err != nil && e == nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	w, finish, err := c.compressor(f, name)
	if err != nil {
		return err
	}
	if err := c.write(w, o); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	fmt.Fprintf(c.messages(), "alleria: wrote %s\n", name)
	return nil
}

// write converts into one stream.
func (c *conversion) write(w io.Writer, o convert.Options) error {
	progress, stop := c.reading()
	o.Progress = progress
	out := bufio.NewWriterSize(w, 1<<16)
	err := c.format.Write(out, o)
	if err == nil {
		err = out.Flush()
	}
	stop()
	return conversionError(err)
}

// compressor puts a compressor in front of a file whose name says so, unless the format is
// compressed by itself.
func (c *conversion) compressor(f *os.File, name string) (io.Writer, func() error, error) {
	switch filepath.Ext(name) {
	case ".gz":
		if c.format.Packed {
			break
		}
		z := gzip.NewWriter(f)
		return z, z.Close, nil
	case ".zst":
		z, err := zstd.NewWriter(f)
		if err != nil {
			return nil, nil, fmt.Errorf("write %s: %w", name, err)
		}
		return z, z.Close, nil
	}
	return f, func() error { return nil }, nil
}
