package rules

import (
	"slices"
	"strings"
	"testing"
)

// The matrix: every mode, with every kind of rule, for every kind of call, by itself
// and under ceilings. What must come out is stated here in its own words, from
// what the docs promise, and shares no code with what decides.

// A matrixCall is a kind of call, and rules that are about it.
type matrixCall struct {
	name, bare, pattern string
	Request
	reads, edits, fetches, dangerous bool
}

var matrixCalls = []matrixCall{
	{name: "reading tool", bare: "Read", pattern: "Read(/a)", reads: true,
		Request: Request{Tool: "Read", ReadOnly: true, Dir: "/w", Access: []Access{{Kind: ReadFile, Target: "/w/a"}}}},
	{name: "edit inside", bare: "Edit", pattern: "Edit(/a)", edits: true,
		Request: Request{Tool: "Write", Dir: "/w", Access: []Access{{Kind: EditFile, Target: "/w/a"}}}},
	{name: "edit outside", bare: "Edit", pattern: "Edit(//v/a)", dangerous: true,
		Request: Request{Tool: "Write", Dir: "/w", Access: []Access{{Kind: EditFile, Target: "/v/a"}}}},
	{name: "reading command", bare: "Bash", pattern: "Bash(ls *)", reads: true,
		Request: Request{Tool: "Bash", Dir: "/w", Access: []Access{{Kind: RunCommand, Target: "ls"}}}},
	{name: "command", bare: "Bash", pattern: "Bash(make *)",
		Request: Request{Tool: "Bash", Dir: "/w", Access: []Access{{Kind: RunCommand, Target: "make all"}}}},
	{name: "dangerous command", bare: "Bash", pattern: "Bash(rm *)", dangerous: true,
		Request: Request{Tool: "Bash", Dir: "/w", Access: []Access{{Kind: RunCommand, Target: "rm -rf /v"}}}},
	{name: "fetch", bare: "WebFetch", pattern: "WebFetch(domain:a.com)", fetches: true,
		Request: Request{Tool: "WebFetch", ReadOnly: true, Dir: "/w", Access: []Access{{Kind: FetchURL, Target: "https://a.com/x"}}}},
	{name: "search", bare: "WebSearch", pattern: "WebSearch", fetches: true, Request: Request{Tool: "WebSearch", ReadOnly: true, Dir: "/w"}},
	{name: "external tool", bare: "mcp__s", pattern: "mcp__s__t", dangerous: true, Request: Request{Tool: "mcp__s__t", Dir: "/w"}},
	{name: "external tool that destroys nothing", bare: "mcp__s__*", pattern: "mcp__s__t", Request: Request{Tool: "mcp__s__t", NonDestructive: true, Dir: "/w"}},
	{name: "external tool that reads", bare: "mcp__*", pattern: "mcp__s__t", reads: true, Request: Request{Tool: "mcp__s__t", ReadOnly: true, Dir: "/w"}},
}

// matrixRules are the kinds of rules: by behavior, bare or with a pattern.
var matrixRules = []string{"", "allow bare", "allow pattern", "ask bare", "ask pattern", "deny bare", "deny pattern",
	"allow ask pattern", "allow deny bare", "ask deny pattern", "allow ask deny bare"}

func (c matrixCall) policy(mode Mode, kinds string) Policy {
	p := Policy{Mode: mode}
	r := []Rule{Rule(c.bare)}
	if strings.HasSuffix(kinds, "pattern") {
		r = []Rule{Rule(c.pattern)}
	}
	for word := range strings.FieldsSeq(kinds) {
		switch word {
		case "allow":
			p.Allow = r
		case "ask":
			p.Ask = r
		case "deny":
			p.Deny = r
		}
	}
	return p
}

// promised is what the docs say of a cell.
func (c matrixCall) promised(mode Mode, kinds string) Behavior {
	has := func(kind string) bool { return slices.Contains(strings.Fields(kinds), kind) }
	ask := Asked
	if mode == DontAsk {
		ask = Denied // it denies what would ask
	}
	switch {
	case has("deny"):
		return Denied // whatever else there is
	case mode == Bypass:
		return Allowed // it asks nothing
	case mode == Plan && !c.reads && !c.fetches:
		return Asked // waits for the plan, whatever the rules allow
	case has("ask"):
		return ask
	case has("allow"):
		return Allowed
	case c.reads:
		return Allowed
	case mode == AcceptEdits && c.edits, mode == Auto && !c.dangerous:
		return Allowed
	}
	return ask
}

// stricter puts decisions of a policy and its ceilings together.
func stricter(a, b Behavior) Behavior {
	for _, v := range []Behavior{Denied, Asked} {
		if a == v || b == v {
			return v
		}
	}
	return Allowed
}

func TestMatrix(t *testing.T) {
	cells := 0
	for _, c := range matrixCalls {
		for _, mode := range Modes {
			for _, kinds := range matrixRules {
				cells++
				p := c.policy(mode, kinds)
				if got, want := p.Decide(c.Request), c.promised(mode, kinds); got.Behavior != want || got.Reason == "" {
					t.Errorf("%s, mode %s, rules %q: %s (%s), want %s", c.name, mode, kinds, got.Behavior, got.Reason, want)
				}
				if (p.Decide(c.Request).Source == FromRule) != (p.Decide(c.Request).Rule != "") {
					t.Errorf("%s, mode %s, rules %q: a decision by a rule does not name it", c.name, mode, kinds)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// A child's calls are bounded by what its parent may do: at depth 1, and through a
// child in between that allows everything at depths 2 and 3.
func TestMatrixOfChildren(t *testing.T) {
	cells := 0
	type level struct {
		mode  Mode
		kinds string
	}
	var levels []level
	for _, mode := range Modes {
		for _, kinds := range matrixRules[:7] {
			levels = append(levels, level{mode, kinds})
		}
	}
	for _, c := range matrixCalls {
		for _, parent := range levels {
			for _, child := range levels {
				cells++
				want := stricter(c.promised(parent.mode, parent.kinds), c.promised(child.mode, child.kinds))
				if want == Asked && (parent.mode == DontAsk || child.mode == DontAsk) {
					want = Denied
				}
				open := Policy{Mode: Bypass, Allow: []Rule{"*"}}
				above := c.policy(parent.mode, parent.kinds)
				own := c.policy(child.mode, child.kinds)
				for depth, p := range []Policy{own.Within(above), own.Within(open.Within(above)), own.Within(open.Within(open.Within(above)))} {
					if got := p.Decide(c.Request); got.Behavior != want {
						t.Errorf("%s, depth %d, parent %v, child %v: %s (%s), want %s", c.name, depth+1, parent, child, got.Behavior, got.Reason, want)
					}
					if p.Denies(c.Request) != nil && want != Denied {
						t.Errorf("%s, parent %v, child %v: denied by Denies, want %s", c.name, parent, child, want)
					}
					if p.Compile().Plans() != (parent.mode == Plan || child.mode == Plan) {
						t.Errorf("parent %v, child %v: Plans is %v", parent, child, p.Compile().Plans())
					}
				}
			}
		}
	}
	t.Logf("%d cells at each of 3 depths", cells)
}

// What a ceiling hides and keeps unreadable stays so in the child.
func TestCeilingHides(t *testing.T) {
	p := Policy{}.Within(Policy{}.Within(Policy{Deny: []Rule{"mcp__s", "Read(*.env)"}, Private: []string{"/h/private"}}))
	if !p.Hides("mcp__s__t") || p.Hides("mcp__o__t") {
		t.Error("a ceiling's rule does not hide a tool")
	}
	if u := p.DeniedReadPatterns(nil, "/w"); !u.Hides("/w/a/.env", "/w") || !u.Hides("/h/private/x", "/w") || u.Hides("/w/a/env", "/w") {
		t.Error("what a ceiling's rules and private paths hide is shown")
	}
	if d := p.Decide(Request{Tool: "Read", ReadOnly: true, Dir: "/w", Access: []Access{{Kind: ReadFile, Target: "/h/private/x"}}}); d.Behavior != Denied {
		t.Errorf("a private file of the ceiling: %+v", d)
	}
	if err := (Policy{}.Within(Policy{Mode: "x"})).Check(); err == nil {
		t.Error("a broken ceiling passes")
	}
}
