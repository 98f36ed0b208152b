package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// printJSON prints what a command was asked for with --json: one document,
// indented, with a line end, so that it can be read as well as parsed.
//
// Everything that --json prints goes through here but the version, which is one
// line on purpose, and the report, whose form analysis documents. Callers pass
// empty slices and not nil ones: `null` would be one more case for every script.
func (a *app) printJSON(v any) error { return writeJSON(a.stdout, v) }

// writeJSON prints the same anywhere.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
