package permission

import (
	"encoding/json"
	"testing"
)

// said is a judge that always says the same.
type said Decision

func (s said) Decide(Request) Decision { return Decision(s) }

func TestJudges(t *testing.T) {
	command := func(line string) Request {
		return Request{Tool: "Bash", Dir: "/w", Access: []Access{{Kind: RunCommand, Target: line}}}
	}
	read := Request{Tool: "Read", ReadOnly: true, Dir: "/w", Access: []Access{{Kind: ReadFile, Target: "/w/a"}}}
	edit := Request{Tool: "Write", Aliases: []string{"Create"}, Dir: "/w", Access: []Access{{Kind: EditFile, Target: "/w/a"}}}
	fetch := Request{Tool: "WebFetch", ReadOnly: true, Access: []Access{{Kind: FetchURL, Target: "https://example.com"}}}
	search := Request{Tool: "WebSearch", ReadOnly: true}
	mcp := Request{Tool: "mcp__github__delete"}
	for _, c := range []struct {
		name  string
		judge Decider
		call  Request
		want  Behavior
	}{
		{"allow list: named", AllowList("Read"), read, Allowed},
		{"allow list: another", AllowList("Read"), edit, Denied},
		{"allow list: by alias", AllowList("Create"), edit, Allowed},
		{"allow list: a server", AllowList("mcp__github"), mcp, Allowed},
		{"allow list: case counts", AllowList("read"), read, Denied},
		{"allow list: empty", AllowList(), read, Denied},
		{"deny list: named", DenyList("Bash"), command("ls"), Denied},
		{"deny list: by alias", DenyList("Create"), edit, Denied},
		{"deny list: pattern", DenyList("mcp__*"), mcp, Denied},
		{"deny list: another", DenyList("Bash"), read, NoOpinion},
		{"deny list: empty", DenyList(), edit, NoOpinion},
		{"read only: reads", ReadOnly(), read, Allowed},
		{"read only: edits", ReadOnly(), edit, Denied},
		{"read only: looks up", ReadOnly(), fetch, Allowed},
		{"read only: searches", ReadOnly(), search, Allowed},
		{"read only: fetches to change", ReadOnly(), Request{Tool: "Post", Access: []Access{{Kind: FetchURL, Target: "https://example.com"}}}, Denied},
		{"read only: command that reads", ReadOnly(), command("git status && ls"), Allowed},
		{"read only: command that does not", ReadOnly(), command("git status; rm -rf x"), Denied},
		{"read only: external", ReadOnly(), mcp, Denied},
		{"composite: empty", Composite(), read, NoOpinion},
		{"composite: nobody has an opinion", Composite(DenyList("x"), said{}), edit, NoOpinion},
		{"composite: deny after allow", Composite(said(Allow()), said{}, said(Deny("no"))), read, Denied},
		{"composite: ask beats allow", Composite(said(Allow()), said(Ask("?")), said(Allow())), read, Asked},
		{"composite: defer beats allow", Composite(said(Allow()), said(Defer())), read, Deferred},
		{"composite: of composites", Composite(Composite(said(Allow())), Composite(Composite(DenyList("Read")))), read, Denied},
		{"composite: the seed's", Composite(DenyList("Bash"), ReadOnly()), command("ls"), Denied},
		{"composite: unknown behavior", Composite(said{Behavior: "alow"}), read, Denied},
		{"composite: other input", Composite(said(AllowWith(json.RawMessage(`{}`)))), read, Denied},
		{"a policy is a judge", Composite(Policy{Deny: []Rule{"Read"}}), read, Denied},
	} {
		if d := c.judge.Decide(c.call); d.Behavior != c.want || c.want == Denied && d.Reason == "" {
			t.Errorf("%s: got %+v, want %q", c.name, d, c.want)
		}
	}
}
