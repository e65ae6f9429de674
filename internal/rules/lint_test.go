package rules

import (
	"slices"
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	tools := []string{"Bash", "Edit", "Read", "Write", "WebFetch"}
	for _, c := range []struct{ rules, want string }{
		{"allow Bash(go test *)", ""},
		{"allow Bash", "allow Bash wide"},
		{"allow Bash(*)", "allow Bash(*) wide"},
		{"allow *", "allow * wide"},
		{"allow Bash(bash *)", "allow Bash(bash *) wide"},
		{"allow Bash(sudo *)", "allow Bash(sudo *) wide"},
		{"allow Bash(python3 *)", "allow Bash(python3 *) wide"},
		{"allow Bash(python3 x.py *)", ""},
		{"allow Bash(git *)", ""},
		{"allow Edit(//**)", "allow Edit(//**) wide"},
		{"allow Edit(/src/**)", ""},
		{"allow WebFetch", "allow WebFetch wide"},
		{"allow Bsh(ls)", "allow Bsh(ls) unknown"},
		{"allow mcp__later__x", ""},
		{"deny mcp__*; allow mcp__a__b", "allow mcp__a__b dead"},
		{"deny mcp__a; allow mcp__a__b", "allow mcp__a__b dead"},
		{"deny Bash; allow Bash(ls *)", "allow Bash(ls *) dead"},
		{"deny Bash(git *); allow Bash(git push *)", "allow Bash(git push *) dead"},
		{"deny Bash(git push *); allow Bash(git *)", ""},
		{"ask Bash(git *); allow Bash(git log *)", "allow Bash(git log *) dead"},
		{"deny Bash(git *); ask Bash(git push *)", "ask Bash(git push *) dead"},
		{"allow Bash(git *); allow Bash(git log *)", "allow Bash(git log *) shadowed"},
		{"allow Bash(git log *); allow Bash(git log:*)", "allow Bash(git log:*) shadowed"},
		{"deny Edit(/a/**); allow Edit(/a/b/c)", "allow Edit(/a/b/c) dead"},
		{"deny Edit(/a/b/**); allow Edit(/a/**)", ""},
		{"deny Read(*.env); allow Read(/x/prod.env)", "allow Read(/x/prod.env) dead"},
		{"deny WebFetch(domain:a.com); allow WebFetch(domain:x.a.com)", "allow WebFetch(domain:x.a.com) dead"},
		{"allow WebFetch(domain:x.a.com); allow WebFetch(domain:a.com)", "allow WebFetch(domain:x.a.com) shadowed"},
		{"deny WebFetch(domain:xa.com); allow WebFetch(domain:a.com)", ""},
		{"deny Edit; allow Bash(ls *)", ""},
	} {
		var got []string
		for _, f := range rulesOf(t, c.rules).Lint(tools) {
			got = append(got, string(f.Behavior)+" "+string(f.Rule)+" "+f.Kind)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", c.rules, got, c.want)
		}
	}
	bad := Policy{Deny: []Rule{"Bash("}, Origins: []Origin{{Denied, "Bash(", "x:3"}}}.Lint(nil)
	if len(bad) != 1 || bad[0].Kind != Malformed || bad[0].Origin != "x:3" {
		t.Errorf("%+v", bad)
	}
}

// What a dead rule would allow is never allowed: the finding is true.
func TestDeadRules(t *testing.T) {
	commands := []string{"git push", "git push -f x", "git log", "go test ./...", "ls", "git", "npm run build", "npm run"}
	patterns := []Rule{"Bash(git *)", "Bash(git push *)", "Bash(git push)", "Bash(g* *)", "Bash(npm run *)", "Bash(npm *)", "Bash(ls)", "Bash(*)", "Bash(git log:*)", "Bash(* test *)", "Bash"}
	for _, deny := range patterns {
		for _, allow := range patterns {
			p := Policy{Deny: []Rule{deny}, Allow: []Rule{allow}}
			dead := slices.ContainsFunc(p.Lint(nil), func(f Finding) bool { return f.Kind == Dead })
			for _, line := range commands {
				d := p.Decide(run("/w", line))
				if dead && d.Behavior == Allowed && d.Rule == string(allow) {
					t.Errorf("deny %s, allow %s: dead, but %s is allowed by it", deny, allow, line)
				}
			}
		}
	}
}

func TestParts(t *testing.T) {
	p := rulesOf(t, "deny Bash(rm *); ask Bash(git push *); allow Bash(go *); allow Edit(/out/**)")
	p.Origins = []Origin{{Denied, "Bash(rm *)", "settings.json:3"}}
	r := run("/w", "go test ./... && git push; rm x | env make > out/log; ls > /etc/x")
	want := "go test ./... allow, git push ask, rm x deny, env make allow, make ask, ls allow, > out/log allow, > /etc/x ask"
	var got []string
	for _, part := range p.Parts(r) {
		got = append(got, part.Text+" "+string(part.Behavior))
		if part.Reason == "" || part.Behavior == Denied && part.Origin != "settings.json:3" {
			t.Errorf("%+v", part)
		}
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	if r.Unclear() != "" || run("/w", "$x").Unclear() == "" {
		t.Error("what is not understood is not told")
	}
}

// A command that is not the first of its line is judged by the rules for files too.
func TestPartsWithFileRules(t *testing.T) {
	p := rulesOf(t, "deny Edit(/src/**); ask Read(/notes/**); allow Bash(go *)")
	want := "go vet allow, cp a src/b deny, cat notes/x ask"
	var got []string
	for _, part := range p.Parts(run("/w", "go vet; cp a src/b; cat notes/x")) {
		got = append(got, part.Text+" "+string(part.Behavior))
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
}

// Suggestions go from narrow to wide, and each allows the call.
func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		call Request
		want string
	}{
		{run("/w", "npm run build"), "exact Bash(npm run build) session project user; usual Bash(npm run build *) session project user; broad Bash(npm *) session project user"},
		{run("/w", "make"), "exact Bash(make) session project user; usual Bash(make *) session project user"},
		{run("/w", "rm -rf x"), "exact Bash(rm -rf x) session project user"},
		{run("/w", "$x"), ""},
		{edit("Edit", "/w", "/w/src/a.go"), "exact Edit(/src/a.go) session project; usual Edit(/src/**) session project; broad Edit(/**) session project"},
		{edit("Edit", "/w", "/v/a.go"), "exact Edit(//v/a.go) session project user"},
		{Request{Tool: "mcp__a__b"}, "exact mcp__a__b session project user"},
	} {
		var got []string
		for _, s := range c.call.Suggestions() {
			words := string(s.Width)
			for _, r := range s.Rules {
				words += " " + string(r)
			}
			got = append(got, words+" "+strings.Join(s.Scopes, " "))
			if d := (Policy{Allow: s.Rules}).Decide(c.call); d.Behavior != Allowed {
				t.Errorf("%v does not allow the call: %+v", s.Rules, d)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("got %q\nwant %q", strings.Join(got, "; "), c.want)
		}
	}
}
