package rules

import "testing"

// A confined call needs no question by the mode; rules and mode plan hold for it.
func TestAllowConfined(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Policy
		line string
		want Behavior
	}{
		{"default", Policy{}, "make", Allowed},
		{"acceptEdits", Policy{Mode: AcceptEdits}, "make", Allowed},
		{"auto, dangerous", Policy{Mode: Auto}, "rm -rf x", Allowed},
		{"dontAsk", Policy{Mode: DontAsk}, "make", Allowed},
		{"plan", Policy{Mode: Plan}, "make", Asked},
		{"deny rule", Policy{Deny: []Rule{"Bash(make *)"}}, "make", Denied},
		{"ask rule", Policy{Ask: []Rule{"Bash(make *)"}}, "make", Asked},
		{"ask rule that cannot be checked", Policy{Ask: []Rule{"Bash(make *)"}}, "$x", Asked},
		{"deny rule that cannot be checked", Policy{Deny: []Rule{"Bash(make *)"}}, "$x", Asked},
	} {
		q := Request{Tool: "Bash", Dir: "/w", Confined: true, Access: []Access{{Kind: RunCommand, Target: tt.line}}}
		p := tt.p
		p.AllowConfined = true
		if d := p.Decide(q); d.Behavior != tt.want {
			t.Errorf("%s: %+v, want %s", tt.name, d, tt.want)
		}
		if d := tt.p.Decide(q); d.Behavior == Allowed {
			t.Errorf("%s: allowed without AllowConfined: %+v", tt.name, d)
		}
		q.Confined = false
		if d := p.Decide(q); d.Behavior == Allowed {
			t.Errorf("%s: allowed though it is not confined: %+v", tt.name, d)
		}
	}
}
