package rules

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`]*)`")

// TestDocs checks the examples of docs/permissions.md.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- examples -->\n")
	table, _, ok := strings.Cut(rest, "<!-- end of examples -->")
	if !ok {
		t.Fatal("there is no table of examples")
	}
	checked := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) != 3 || !strings.Contains(cells[0], "`") {
			continue
		}
		rule := quoted.FindStringSubmatch(cells[0])[1]
		for i, want := range []bool{true, false} {
			for _, m := range quoted.FindAllStringSubmatch(cells[i+1], -1) {
				checked++
				d := Policy{Allow: []Rule{Rule(rule)}}.Decide(exampleOf(rule, m[1]))
				if by := d.Behavior == Allowed && d.Source == FromRule; by != want {
					t.Errorf("%s, %s: covered is %v, want %v (%s)", rule, m[1], by, want, d.Reason)
				}
			}
		}
	}
	if checked < 25 {
		t.Errorf("%d examples are too few", checked)
	}
}

func exampleOf(rule, text string) Request {
	switch name, _, _ := strings.Cut(rule, "("); name {
	case "Bash":
		return run("/w", text)
	case "Edit":
		return edit("Edit", "/w", text)
	case "WebFetch":
		return Request{Tool: name, ReadOnly: true, Dir: "/w", Access: []Access{{Kind: FetchURL, Target: text}}}
	}
	return Request{Tool: text, Dir: "/w"}
}
