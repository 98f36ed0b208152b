// Package quantity reads numbers as options have them: counts, sizes and times.
//
// Commands call it, and what writes configurations from options; the window language has its own reader in package config, with positions. It keeps no state.
package quantity

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count reads a count: decimal or 0x…, with the configuration language's
// suffixes k, M and G, which are powers of a thousand.
// 0x is for whoever copies a number from a debugger; octal and binary come with the
// same conversion and do no harm.
func Count(s string) (uint64, error) { return scaled(s, 1000) }

// Size reads a number of bytes. Its suffixes are powers of 1024 as in
// other tools' options, with or without B or iB behind them.
// The bound of 1<<62 keeps sums of two sizes within an int64.
func Size(s string) (int64, error) {
	t := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	n, err := scaled(t, 1024)
	if err != nil || n > 1<<62 {
		return 0, fmt.Errorf("%q is not a size like 64K, 10M or 2G", s)
	}
	return int64(n), nil
}

// scaled reads a number and at most one suffix, each of which is a further
// power of unit.
//
// A product above 64 bits is refused and does not wrap: `--max-instructions 99999999T`
// would else stop at once. Negative numbers and fractions are refused by the
// conversion.
func scaled(s string, unit uint64) (uint64, error) {
	digits, factor := s, uint64(1)
	for i, suffix := range []string{"k", "M", "G", "T"} {
		cut, found := strings.CutSuffix(s, suffix)
		if !found && suffix == "k" {
			cut, found = strings.CutSuffix(s, "K")
		}
		if found {
			digits = cut
			for ; i >= 0; i-- {
				factor *= unit
			}
			break
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || n > (1<<64-1)/factor {
		return 0, fmt.Errorf("%q is not a count like 5000, 10k or 2G", s)
	}
	return n * factor, nil
}

// Duration reads a time like 500ms or 10s; a bare number means seconds,
// as for timeout(1).
// Durations are never negative; zero is allowed where the flag gives it a meaning.
func Duration(s string) (time.Duration, error) {
	if secs, err := strconv.ParseFloat(s, 64); err == nil {
		s = strconv.FormatFloat(secs, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time like 500ms, 10s or 2m", s)
	}
	return d, nil
}
