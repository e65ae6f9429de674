package rules

import (
	"os"
	"strings"
	"testing"
)

// TestBypasses judges lines that were made to get past rules.
func TestBypasses(t *testing.T) {
	text, err := os.ReadFile("testdata/bypasses.txt")
	if err != nil {
		t.Fatal(err)
	}
	var p Policy
	lines := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if rules, ok := strings.CutPrefix(line, "== "); ok {
			p = rulesOf(t, rules)
			continue
		}
		if line == "" || strings.HasPrefix(line, "#!") || p.Allow == nil {
			continue
		}
		lines++
		call := run("/w", strings.ReplaceAll(line, "⏎", "\n"))
		modes := Modes
		if p.Deny == nil {
			modes = []Mode{Default, Plan, DontAsk, AcceptEdits}
		}
		for _, mode := range modes {
			q := p
			q.Mode = mode
			if d := q.Decide(call); d.Behavior == Allowed || mode == Bypass && d.Behavior != Denied {
				t.Errorf("%v, mode %s: %s is %s: %s", p, mode, line, d.Behavior, d.Reason)
			}
		}
	}
	if lines < 300 {
		t.Errorf("%d lines are too few", lines)
	}
	t.Logf("%d lines", lines)
}

func rulesOf(t *testing.T, text string) (p Policy) {
	for part := range strings.SplitSeq(text, "; ") {
		word, rule, _ := strings.Cut(part, " ")
		list := map[string]*[]Rule{"deny": &p.Deny, "ask": &p.Ask, "allow": &p.Allow}[word]
		if list == nil {
			t.Fatalf("testdata: %q", part)
		}
		*list = append(*list, Rule(rule))
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return p
}
