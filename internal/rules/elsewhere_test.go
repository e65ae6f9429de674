package rules

import "testing"

// What a command elsewhere opens is not known here, so nothing is allowed because of it.
func TestElsewhere(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		line   string
		here   Behavior
		there  Behavior
	}{
		{Policy{}, "cat a", Allowed, Asked},
		{Policy{Mode: Plan}, "cat a", Allowed, Asked},
		{Policy{Mode: Auto}, "touch a", Allowed, Asked},
		{Policy{Mode: DontAsk}, "ls", Allowed, Denied},
		{Policy{Mode: Bypass}, "rm a", Allowed, Allowed},
		{Policy{Allow: []Rule{"Bash"}}, "cat a > b", Allowed, Allowed},
		{Policy{Allow: []Rule{"Bash(make *)"}}, "make all", Allowed, Allowed},
		{Policy{Allow: []Rule{"Bash(make *)"}}, "make all && cat a", Allowed, Asked},
		{Policy{Allow: []Rule{"Bash(echo *)", "Edit(/b)"}}, "echo a > b", Allowed, Asked},
		{Policy{Mode: Bypass, Deny: []Rule{"Read(/secret/**)"}}, "cat a", Allowed, Denied},
		{Policy{Allow: []Rule{"Bash"}, Deny: []Rule{"Read(/secret/**)"}}, "cat a", Allowed, Asked},
		{Policy{Mode: Bypass, Deny: []Rule{"Read(/secret/**)"}}, "cat secret/key", Denied, Denied},
		{Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}, "rm a", Denied, Denied},
		{Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}, "ls", Allowed, Allowed},
	} {
		r := Request{Tool: "Bash", Dir: "/work", Roots: []string{"/work"}, Access: []Access{{Kind: RunCommand, Target: tt.line, Dir: "/work"}}}
		if d := tt.policy.Decide(r); d.Behavior != tt.here {
			t.Errorf("%+v, %s: here %s: %s", tt.policy, tt.line, d.Behavior, d.Reason)
		}
		r.Access[0].Elsewhere = true
		if d := tt.policy.Decide(r); d.Behavior != tt.there {
			t.Errorf("%+v, %s: there %s: %s", tt.policy, tt.line, d.Behavior, d.Reason)
		}
	}
}
