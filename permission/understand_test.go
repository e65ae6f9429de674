package permission

import (
	"strings"
	"testing"
)

func init() { UnderstandShell() }

// TestWithoutShell: a program that cannot read command lines lets none run that is not
// allowed whatever it does.
func TestWithoutShell(t *testing.T) {
	understood := understand.Swap(nil)
	defer understand.Store(understood)
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
	for _, tool := range []string{"Read", "Edit"} {
		for _, rule := range []Rule{Rule(tool), Rule(tool + "(/secret/**)")} {
			if d := (Policy{Mode: Bypass, Deny: []Rule{rule}}).Decide(q); d.Behavior == Allowed && rule != "Read" {
				t.Errorf("%s cannot be checked: %+v", rule, d)
			}
		}
	}
	if _, _, all := q.Files(); all || q.Unclear() == "" {
		t.Error("the line's files are said to be known")
	}
	if c, err := ParseCommand(line); err != nil || len(c.List) != 1 || c.List[0].Name != "ls" {
		t.Errorf("ParseCommand: %+v, %v", c, err)
	}
}
