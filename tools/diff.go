package tools

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	// maxDiff is the length in bytes of the longest diff that is kept.
	maxDiff = 256 << 10
	// maxCompared is the size in bytes of the largest files that are compared line
	// by line.
	maxCompared = 2 << 20
)

// A fileChange is the part of the Details about a changed file.
type fileChange struct {
	FilePath  string `json:"filePath"`
	Diff      string `json:"diff"` // unified; cut where DiffCut is set
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	DiffCut   bool   `json:"diffCut,omitempty"`
	Created   bool   `json:"created,omitempty"`
	// Replacements is how many places an edit changed.
	Replacements int `json:"replacements,omitempty"`
}

// compare describes how the text of the file at path changes. edits lead from
// old to text; where nil they are found.
func compare(path string, created bool, old, text string, edits []udiff.Edit) fileChange {
	c := fileChange{FilePath: path, Created: created}
	if edits == nil {
		if len(old)+len(text) <= maxCompared {
			edits = udiff.Lines(old, text)
		} else {
			edits = []udiff.Edit{{Start: 0, End: len(old), New: text}}
		}
	}
	from := path
	if created {
		from = "/dev/null"
	}
	if len(edits) == 0 {
		return c
	}
	u := unify(old, edits)
	c.Additions, c.Deletions = u.added, u.deleted
	diff := "--- " + from + "\n+++ " + path + "\n" + u.out.String()
	if len(diff) > maxDiff {
		diff = diff[:strings.LastIndexByte(diff[:maxDiff], '\n')+1]
		c.DiffCut = true
	}
	c.Diff = strings.ToValidUTF8(diff, "\uFFFD")
	return c
}
