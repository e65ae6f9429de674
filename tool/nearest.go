package tool

import "strings"

// Nearest returns the name that somebody who wrote word probably meant: the one
// with the fewest typing errors, whatever its case, or "" if none is near.
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

// distance is the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(corner+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
