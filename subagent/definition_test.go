package subagent

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/permission"
)

// A policy makes a read-only kind only read, whatever its tools are.
func TestBounded(t *testing.T) {
	run := func(line string) permission.Request {
		return permission.Request{Tool: "Bash", Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}, Dir: "/p"}
	}
	for _, d := range Builtin() {
		a := d.Bounded()
		judge := permission.Composite(a.Deciders...)
		denied := judge.Decide(run("git commit -m x")).Behavior == permission.Denied
		if denied != d.ReadOnly {
			t.Errorf("%s: a commit is denied: %v", a.Name, denied)
		}
		if judge.Decide(run("git log -3")).Behavior == permission.Denied {
			t.Errorf("%s may not look at the history", a.Name)
		}
		if len(d.Agent.Deciders) != 0 {
			t.Errorf("%s: the definition itself was changed", a.Name)
		}
		if a.Name == "" || strings.TrimSpace(a.System) == "" || d.Description == "" || strings.Contains(d.Description, "\n") {
			t.Errorf("%q is not described: %q", a.Name, d.Description)
		}
	}
	if first := Builtin()[0]; first.ReadOnly || first.Agent.Name != "general-purpose" {
		t.Errorf("the first is %s", first.Agent.Name)
	}
	// It allows nothing: a page of the web is asked about as ever.
	page := permission.Request{Tool: "WebFetch", ReadOnly: true, Dir: "/p", Access: []permission.Access{{Kind: permission.FetchURL, Target: "https://example.com"}}}
	if d := permission.Composite(Builtin()[1].Bounded().Deciders...).Decide(page); d.Behavior != permission.NoOpinion {
		t.Errorf("a page: %v", d)
	}
}
