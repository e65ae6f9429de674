package rules

import (
	"strings"
	"testing"
)

// A bound lets pass what its list covers, in every mode and whatever else allows.
func TestBound(t *testing.T) {
	bash := func(line string) Request {
		return Request{Tool: "Bash", Dir: "/p", Roots: []string{"/p"}, Access: []Access{{Kind: RunCommand, Target: line}}}
	}
	file := func(tool string, kind AccessKind, path string) Request {
		return Request{Tool: tool, Dir: "/p", Roots: []string{"/p"}, ReadOnly: kind == ReadFile, Access: []Access{{Kind: kind, Target: path}}}
	}
	for _, c := range []struct {
		only []Rule
		call Request
		in   bool
	}{
		{[]Rule{"Read", "Grep"}, file("Read", ReadFile, "/p/a"), true},
		{[]Rule{"Read", "Grep"}, file("Grep", ReadFile, "/p"), true},
		{[]Rule{"Read"}, file("Grep", ReadFile, "/p"), false}, // a list names tools, not what they do
		{[]Rule{"Read"}, bash("cat a"), false},
		{[]Rule{"Edit"}, file("Write", EditFile, "/p/a"), false},
		{[]Rule{"Read(docs/**)"}, file("Read", ReadFile, "/p/docs/a"), true},
		{[]Rule{"Read(docs/**)"}, file("Read", ReadFile, "/p/src/a"), false},
		{[]Rule{"Read(docs/**)"}, file("Read", ReadFile, "/p/docs/../src/a"), false},
		{[]Rule{"Read(docs/**)", "Read"}, file("Read", ReadFile, "/p/src/a"), true},
		{nil, file("Read", ReadFile, "/p/a"), false},
		{[]Rule{"Re ad"}, file("Read", ReadFile, "/p/a"), false}, // cannot be read
		{[]Rule{"mcp__git"}, Request{Tool: "mcp__git__log"}, true},
		{[]Rule{"mcp__git__*"}, Request{Tool: "mcp__git__log"}, true},
		{[]Rule{"mcp__git"}, Request{Tool: "mcp__other__log"}, false},
		{[]Rule{"Agent"}, Request{Tool: "Agent", Aliases: []string{"Task"}}, true},
		{[]Rule{"Task"}, Request{Tool: "Agent", Aliases: []string{"Task"}}, true},
		{[]Rule{"Bash(git diff *)"}, Request{Tool: "Bash"}, false}, // it does not say what it runs
		{[]Rule{"WebFetch(domain:go.dev)"}, Request{Tool: "WebFetch", Access: []Access{{Kind: FetchURL, Target: "https://pkg.go.dev/x"}}}, true},
		{[]Rule{"WebFetch(domain:go.dev)"}, Request{Tool: "WebFetch", Access: []Access{{Kind: FetchURL, Target: "https://evil.dev/go.dev"}}}, false},

		{[]Rule{"Bash"}, bash("rm -rf x; anything"), true},
		{[]Rule{"Bash(git diff *)"}, bash("git diff"), true},
		{[]Rule{"Bash(git diff:*)"}, bash("git diff --stat HEAD~1"), true},
		{[]Rule{"Bash(git diff *)"}, bash("git diff && git diff x"), true},
		{[]Rule{"Bash(git diff *)", "Bash(head *)"}, bash("git diff | head -5"), true},
		{[]Rule{"Bash(git diff *)"}, bash("git diff | head -5"), false}, // what only reads is listed too
		{[]Rule{"Bash(git diff *)"}, bash("cat /etc/passwd"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff; rm x"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff & rm x"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff\nrm x"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff $(rm x)"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff `rm x`"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff <(rm x)"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git diff > out"), false},
		{[]Rule{"Bash(git diff *)", "Edit(out)"}, bash("git diff > out"), true},
		{[]Rule{"Bash(git diff *)"}, bash("git -c core.pager=x diff"), false},
		{[]Rule{"Bash(git diff *)"}, bash("GIT_EXTERNAL_DIFF=x git diff"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git difftool"), false},
		{[]Rule{"Bash(git diff *)"}, bash("git push"), false},
		{[]Rule{"Bash(git diff *)"}, bash("sh -c 'git diff; rm x'"), false},
		{[]Rule{"Bash(git diff *)"}, bash("eval git diff"), false},
		{[]Rule{"Bash(git diff *)"}, bash("function git { rm x; }; git diff"), false},
		{[]Rule{"Bash(git diff *)"}, bash("PATH=/tmp; git diff"), false},
		{[]Rule{"Bash(git diff *)"}, bash("if true; then rm x; fi"), false},
	} {
		for _, mode := range Modes {
			p := Policy{Mode: mode, Allow: []Rule{"Bash", "Read", "Grep", "Write", "Agent", "WebFetch", "mcp__git", "mcp__other"}, Restriction: &Restriction{By: "the skill x", Only: c.only}}
			denied := p.Denies(c.call) != nil
			d := p.Decide(c.call)
			if denied == c.in || !c.in && (d.Behavior != Denied || !strings.Contains(d.Reason, "the skill x may use")) || c.in && strings.Contains(d.Reason, "the skill x") {
				t.Errorf("%s, %v: %v: within %v, want %v: %+v", mode, c.only, c.call.Access, !denied, c.in, d)
			}
			if under := (Policy{Mode: Bypass}).Within(p).Decide(c.call); !c.in && under.Behavior != Denied {
				t.Errorf("%s, %v: a ceiling's bound lets %v pass: %+v", mode, c.only, c.call.Access, under)
			}
			if c.call.Unbound = true; !c.in {
				if p.Denies(c.call) != nil {
					t.Errorf("%v: bound though unbound: %v", c.only, c.call.Access)
				}
			}
			c.call.Unbound = false
		}
	}
}

// A bound allows nothing by itself.
func TestBoundAllowsNothing(t *testing.T) {
	write := Request{Tool: "Write", Access: []Access{{Kind: EditFile, Target: "/p/a"}}}
	p := Policy{Restriction: &Restriction{By: "x", Only: []Rule{"Write"}}}
	if d := p.Decide(write); d.Behavior != Asked {
		t.Errorf("got %+v", d)
	}
	p.Deny = []Rule{"Write"}
	if d := p.Decide(write); d.Behavior != Denied || d.Rule != "Write" {
		t.Errorf("got %+v", d)
	}
	if err := (Policy{Restriction: &Restriction{By: "x", Only: []Rule{"("}}}).Check(); err == nil {
		t.Error("a malformed bound passes the check")
	}
}

func TestBoundCovers(t *testing.T) {
	b := &Restriction{Only: []Rule{"Read", "Bash(git diff *)"}}
	for _, c := range []struct {
		rules []Rule
		want  bool
	}{
		{[]Rule{"Read"}, true}, {[]Rule{"Read(a)"}, true}, {[]Rule{"Bash(git diff *)", "Read"}, true}, {nil, true},
		{[]Rule{"Bash"}, false}, {[]Rule{"Bash(git *)"}, false}, {[]Rule{"Read", "Write"}, false},
	} {
		if got := Covers(b.Only, c.rules); got != c.want {
			t.Errorf("%v: %v", c.rules, got)
		}
	}
}
