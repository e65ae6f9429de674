package rules

import "testing"

// What a rule for a command that shows something does not allow is the file that it is
// told to write.
func TestGitOutput(t *testing.T) {
	p := Policy{Allow: []Rule{"Bash(git log *)", "Bash(git diff *)", "Edit(out/**)"}}
	for line, want := range map[string]Behavior{
		"git log --oneline --format=x":                        Allowed,
		"git log --output=x":                                  Asked,
		"git log --outp x":                                    Asked,
		"git log --format='#!/bin/sh%ntouch x' --output=/a/b": Asked,
		"git diff HEAD --output out/a":                        Allowed,
		"git diff HEAD -- --output":                           Allowed,
	} {
		if d := p.Decide(run("/w", line)); d.Behavior != want {
			t.Errorf("%s: %+v, want %s", line, d, want)
		}
	}
}
