package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"alleria/abp"
	"alleria/analysis/adaptive"
)

// adaptiveColumns is how wide the lines on a terminal are.
const adaptiveColumns = 72

// adaptation shows what runs have adapted: to the terminal, as JSON, or as a picture in a file.
func (v *reportViews) adaptation(a *app, dirs []string) error {
	if v.svg != "" && len(dirs) > 1 {
		return usagef("--svg draws one run, not %d", len(dirs))
	}
	all := []any{}
	for _, dir := range dirs {
		rows, err := abp.ReadAdaptive(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := abp.ReadRun(dir); err != nil {
				return err
			}
			return fmt.Errorf("%s has no %s: nothing was adapted in it (--ptc, --tuner off, --discard)", dir, abp.AdaptiveFile)
		}
		if err != nil {
			return err
		}
		title := dir
		if run, err := abp.ReadRun(dir); err == nil {
			title = strings.Join(run.Command, " ")
		}
		switch {
		case v.svg != "":
			return drawAdaptation(v.svg, rows, title)
		case v.json:
			all = append(all, map[string]any{"profile": dir, "rows": rows})
		default:
			fmt.Fprintln(a.stdout, title)
			if err := adaptive.Text(a.stdout, adaptive.New(rows, adaptiveColumns), v.top); err != nil {
				return err
			}
		}
	}
	if v.json {
		return a.printJSON(all)
	}
	return nil
}

// drawAdaptation writes the picture.
func drawAdaptation(path string, rows []abp.Adaptation, title string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return errors.Join(adaptive.SVG(f, adaptive.New(rows, adaptive.Columns), title), f.Close())
}
