package session

import (
	"fmt"
	"time"
)

// When the user is warned of a disk that fills: when it will be full in a minute
// at the rate of late, or in ten and hardly a tenth of it is left. A disk that is
// nearly full and stays so is no reason: the recording may be small.
const (
	diskEvery = 500 * time.Millisecond
	diskSoon  = time.Minute
	diskLater = 10 * time.Minute
	diskTight = 10 // parts of the disk of which one is left
)

// diskWatch looks at the free space of the file systems that a run writes to. It
// warns once: what comes next is the error of the full disk itself.
type diskWatch struct {
	dirs  []string
	space func(dir string) (free, total uint64, err error)

	next    time.Time
	last    time.Time
	written int64
	rate    float64 // bytes a second, smoothed
	warned  bool
}

// due tells whether it is time to look.
func (w *diskWatch) due(now time.Time) bool {
	return !w.warned && len(w.dirs) > 0 && !now.Before(w.next)
}

// look takes how many bytes the run has written by now, in all of its
// directories, and returns the warning that is due, empty for none.
func (w *diskWatch) look(now time.Time, written int64) string {
	w.next = now.Add(diskEvery)
	if !w.last.IsZero() && now.After(w.last) {
		rate := float64(written-w.written) / now.Sub(w.last).Seconds()
		if w.rate == 0 {
			w.rate = rate
		}
		w.rate += (rate - w.rate) / 4
	}
	w.last, w.written = now, written
	if w.rate <= 0 {
		return ""
	}
	for _, dir := range w.dirs {
		free, total, err := w.space(dir)
		if err != nil {
			continue // writing will say what is wrong
		}
		// Streams take turns at the directories.
		seconds := float64(free) / (w.rate / float64(len(w.dirs)))
		left := time.Duration(min(seconds, 1e6) * float64(time.Second))
		if left < diskSoon || left < diskLater && free < total/diskTight {
			w.warned = true
			return fmt.Sprintf("the disk of %s is filling up: %d MiB left, %.1f MiB/s written, full in about %v", dir, free>>20, w.rate/(1<<20), left.Round(time.Second))
		}
	}
	return ""
}
