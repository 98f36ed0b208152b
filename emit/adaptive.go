package emit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"alleria/abp"
)

// Adapted appends a line to the run's log of what it has adapted. One goroutine calls it, and CloseAdapted behind it. With
// Discard it does nothing.
func (r *Run) Adapted(a *abp.Adaptation) error {
	if r.opts.Discard {
		return nil
	}
	if r.adaptive == nil {
		f, err := os.OpenFile(filepath.Join(r.opts.Dirs[0], abp.AdaptiveFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("log of adaptation: %w", err)
		}
		r.adaptive = f
	}
	line, err := json.Marshal(a)
	if err == nil {
		_, err = r.adaptive.Write(append(line, '\n'))
		r.written.Add(int64(len(line) + 1))
	}
	if err != nil {
		return fmt.Errorf("log of adaptation: %w", err)
	}
	return nil
}

// CloseAdapted ends the log.
func (r *Run) CloseAdapted() error {
	if r.adaptive == nil {
		return nil
	}
	if err := r.adaptive.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("log of adaptation: %w", err)
	}
	return nil
}
