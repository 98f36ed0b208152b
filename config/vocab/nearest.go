package vocab

import "strings"

// Nearest returns the candidate that a wrong name resembles most, for messages;
// empty where none comes near: more than a third of the letters would have to
// change, which is a guess that helps nobody.
func Nearest(name string, candidates []string) string {
	best, distance := Closest(name, candidates)
	if distance < 0 || distance > 2*max(len([]rune(name))/3, 1)+1 {
		return ""
	}
	return best
}

// Closest returns the candidate with the smallest edit distance to name, and
// that distance in halves of a letter. Case counts less than a wrong letter, so
// that "timestamp" finds "timeStamp" rather than anything else, and so does
// leaving off the end of a long name.
func Closest(name string, candidates []string) (best string, distance int) {
	distance = -1
	for _, c := range candidates {
		a, b := strings.ToLower(name), strings.ToLower(c)
		// In halves, so that case can count less than a letter and still count.
		d := 2 * editDistance(a, b)
		switch {
		case d == 0 && name != c:
			d = 1
		// "accessAddress" is fourteen letters away from what was meant, and closer to
		// shorter names by counting alone.
		case d > 3 && len(a) > 3 && strings.HasPrefix(b, a):
			d = 3
		}
		if distance < 0 || d < distance {
			best, distance = c, d
		}
	}
	return best, distance
}

// editDistance counts insertions, deletions, substitutions and transpositions
// of neighbours (optimal string alignment): the slips that fingers make.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 {
		x = x[:64] // longer than any name of ours; the cost must not depend on the input
	}
	before, above, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	// Three rows of the table at a time: the one before last is needed for
	// transpositions.
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(y)]
}
