package rules

import (
	"testing"

	"github.com/openagent-go/agent/internal/rules/shellscan"
)

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"ls $(rm x)", "a=$((x[1])) b", "cat <<E\n`a`\nE", "case x in (a) b;& esac", "sudo env -u A sh -c 'eval \"x\"'", "{a,{b,c}}", "${x/#a/$(b)}", "find . -exec a {} + -o -name \\*", "xargs -I% a %%", "cd a && cd .. ; [[ -v a[$(b)] ]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := shellscan.ParseCommand(line)
		if err != nil && c.Unclear == "" {
			t.Error("an error, but all is clear")
		}
		r := Request{Tool: "Bash", Dir: "/nowhere/w", Access: []Access{{Kind: RunCommand, Target: line}}}
		(Policy{Deny: []Rule{"Bash(rm *)", "Read(*.env)", "Edit(/x/**)"}}).Decide(r)
		(Policy{Mode: Auto, Allow: []Rule{"Bash(git *)"}}).Decide(r)
		r.Suggest()
		if c.Unclear != "" && (Policy{Allow: []Rule{"Bash(*)"}}).Decide(r).Behavior == Allowed {
			t.Errorf("%q is allowed by a pattern, but %s", line, c.Unclear)
		}
	})
}
