package text

import "strings"

// Nearest returns the name that the writer of word probably meant: the one with the fewest
// typing errors, ignoring case, or "" if none is near.
func Nearest(word string, names []string) string {
	best, fewest := "", (len(word)+1)/3+1
	if len(word) > 200 {
		return ""
	}
	for _, name := range names {
		if len(name) > 200 {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// distance counts the bytes to insert, delete, replace or swap with their
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
