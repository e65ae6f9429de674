package permission

import (
	"strings"
	"testing"
)

func init() { UnderstandShell() }

// TestWithoutShell: a program that cannot read command lines lets none run that is not
// allowed whatever it does.
func TestWithoutShell(t *testing.T) {
	parse := lineReader.Swap(nil)
	defer lineReader.Store(parse)
	line := "ls # " + t.Name()
	q := Request{Tool: "Bash", Dir: "/w", ReadOnly: true, Access: []Access{{Kind: RunCommand, Target: line}}}
	for _, mode := range []Mode{Default, AcceptEdits, Auto, DontAsk, Plan} {
		p := Policy{Mode: mode, Allow: []Rule{"Bash(ls)", "Bash(ls *)"}}
		if d := p.Decide(q); d.Behavior == Allowed || !strings.Contains(d.Reason, "UnderstandShell") {
			t.Errorf("%s: %+v", mode, d)
		}
	}
	if d := (Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}).Decide(q); d.Behavior == Allowed {
		t.Errorf("a deny rule that cannot be checked: %+v", d)
	}
	if c, err := ParseCommand(line); err != nil || len(c.List) != 1 || c.List[0].Name != "ls" {
		t.Errorf("ParseCommand: %+v, %v", c, err)
	}
}
