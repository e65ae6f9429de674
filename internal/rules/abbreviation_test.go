package rules

import "testing"

// Rules that forbid hold for options that are cut short, rules that allow do not.
func TestAbbreviations(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		line string
		want bool
	}{
		{"Bash(git reset --hard*)", "git reset --har", true},
		{"Bash(git reset --hard*)", "git reset --ha HEAD~1", true},
		{"Bash(git reset --hard*)", "git -C src reset --h", true},
		{"Bash(git reset --hard*)", "git reset -q --har", true},
		{"Bash(git reset --hard:*)", "true && git reset --har HEAD", true},
		{"Bash(git reset --hard)", "git reset --har", true},
		{"Bash(git reset --hard*)", "git reset --soft HEAD~1", false},
		{"Bash(git reset --hard*)", "git reset -- hard", false},
		{"Bash(git push --force*)", "git push --fo origin", true},
		{"Bash(git push --force-with-lease*)", "git push --force-w", true},
		{"Bash(git push --force-with-lease*)", "git push --force", false},
		{"Bash(git log --all-match*)", "git log --all", false},
		{"Bash(git log --output*)", "git log --outp=x", true},
		{"Bash(* --upload-pack*)", "git fetch --upl=x .", true},
		{"Bash(rm --recursive*)", "rm --rec x", true},
		{"Bash(rm --recursive*)", "sudo rm --recu x", true},
		{"Bash(rm --recursive*)", "sh -c 'rm --recu x'", true},
		{"Bash(tool --danger*)", "tool --dang", true},
		{"Bash(tool --danger*)", "tool --safe", false},
		{"Bash(tool x)", "tool --safe x", true}, // flags do not hide a command
	} {
		r := run("/w", tt.line)
		if d := (Policy{Mode: Bypass, Deny: []Rule{tt.rule}}).Decide(r); (d.Behavior == Denied) != tt.want {
			t.Errorf("deny %s, %s: %s, %s", tt.rule, tt.line, d.Behavior, d.Reason)
		}
		if d := (Policy{Allow: []Rule{"Bash"}, Ask: []Rule{tt.rule}}).Decide(r); (d.Behavior == Asked) != tt.want {
			t.Errorf("ask %s, %s: %s, %s", tt.rule, tt.line, d.Behavior, d.Reason)
		}
	}
	for _, line := range []string{"git reset --har", "git push --forc"} {
		if d := (Policy{Allow: []Rule{"Bash(git reset --hard*)", "Bash(git push --force*)"}}).Decide(run("/w", line)); d.Behavior == Allowed {
			t.Errorf("%s is allowed: %s", line, d.Reason)
		}
	}
}
