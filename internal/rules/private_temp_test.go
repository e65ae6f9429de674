package rules

import (
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/safefile"
)

// The temporary file of a private file has the same content, and is private too: a crash
// leaves it, and a call may come between its writing and its renaming.
func TestTemporaryFilesOfPrivateFilesArePrivate(t *testing.T) {
	home := t.TempDir()
	private := filepath.Join(home, "triggers.json")
	temp := filepath.Join(home, safefile.TempName(private))
	for name, mode := range map[string]Mode{"default": Default, "bypass": Bypass} {
		p := Policy{Mode: mode, Private: []string{private}, Allow: []Rule{"Read", "Edit", "Bash"}}
		for what, a := range map[string]Access{"Read": {Kind: ReadFile, Target: temp}, "Edit": {Kind: EditFile, Target: temp}, "Bash": {Kind: RunCommand, Target: "cat " + temp}} {
			r := Request{Tool: what, Access: []Access{a}, Dir: "/work", Roots: []string{"/work"}}
			if d := p.Decide(r); d.Behavior != Denied {
				t.Errorf("mode %s, %s of %s: %s", name, what, filepath.Base(temp), d.Behavior)
			}
		}
		if d := p.Decide(Request{Tool: "Read", Access: []Access{{Kind: ReadFile, Target: private + ".tmp"}}, Dir: "/work"}); d.Behavior != Denied {
			t.Errorf("mode %s: the name of before: %s", name, d.Behavior)
		}
	}
}
