package rules

import "testing"

// A global option of git in front of the command hides that the command runs a text.
func TestGitGlobalOptionHidesCommandThatRunsText(t *testing.T) {
	policies := map[string]Policy{
		"allow git, deny read":   {Allow: []Rule{"Bash(git *)"}, Deny: []Rule{"Read(/work/secret)"}},
		"allow git, deny rm":     {Allow: []Rule{"Bash(git *)"}, Deny: []Rule{"Bash(rm *)"}},
		"bypass, deny read":      {Mode: Bypass, Deny: []Rule{"Read(/work/secret)"}},
		"allow git, ask for all": {Allow: []Rule{"Bash(git *)"}, Ask: []Rule{"Edit(/work/x)"}},
	}
	for _, command := range []string{"submodule foreach 'rm -rf x; cat secret'", "bisect run rm x", "difftool -y -x rm", "mergetool -t x", "filter-branch --tree-filter 'rm x' HEAD", "for-each-repo --config=x rm"} {
		for name, p := range policies {
			want := p.Decide(run("/work", "git "+command)).Behavior
			for _, option := range []string{"--no-pager", "-P", "-p", "--bare", "--no-optional-locks", "--literal-pathspecs", "--git-dir=.git"} {
				if got := p.Decide(run("/work", "git "+option+" "+command)).Behavior; got != want {
					t.Errorf("%s: git %s %s: %s; without the option: %s", name, option, command, got, want)
				}
			}
		}
	}
}
