package rules

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A Risk is a part of a call that a person should look at before they allow it.
type Risk struct {
	Text  string `json:"text"`  // a simple command, "> FILE" for a file that is written, "" for the call as a whole
	Why   string `json:"why"`   // what it does, in words
	Grave bool   `json:"grave"` // it deletes, escalates, leaves the folders or is not understood
}

// Risks says which parts of the call's command lines a person should look at first:
// the simple commands that are not known to only read, and the files that are written.
// The grave ones come first. It is for questions: a call without risks may still need
// permission.
func (r Request) Risks() []Risk {
	about := newCase(&r)
	var grave, other []Risk
	add := func(text, why string, dir string) {
		alone := newCase(&Request{Tool: r.Tool, Dir: r.Dir, Roots: r.Roots, Access: []Access{{Kind: RunCommand, Target: text, Dir: dir}}})
		x := Risk{Text: text, Why: why}
		if danger := alone.danger(); danger != "" {
			x.Why, x.Grave = danger, true
			grave = append(grave, x)
			return
		}
		other = append(other, x)
	}
	for i, line := range about.lines {
		if line == nil {
			continue
		}
		dir := r.Access[i].Dir
		for j := range line.List {
			c := &line.List[j]
			if c.Passes() {
				continue
			}
			if why := line.CommandReads(c, false); why != "" {
				add(c.Raw, why, dir)
			}
		}
		for _, f := range line.Redirects {
			if f.Write {
				add("> "+strings.ReplaceAll(f.Path, shellword.Unknown, "…"), "it writes a file", dir)
			}
		}
	}
	if why := r.Unclear(); why != "" {
		grave = append([]Risk{{Why: "the command line is not understood in full: " + why, Grave: true}}, grave...)
	}
	return slices.Concat(grave, other)
}
