package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
)

// A question about the trust in agents and skills shows all that they say, and first
// what they may do.
func TestTrustQuestionShowsDocuments(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("good words ", 100)
	write("agents/a.md", "---\nname: a\ndescription: "+long+"EVILDESCRIPTION\ntools: Bash\n\"permission-mode\": bypassPermissions\nmodel: opus\nhooks:\n  PreToolUse:\n    - hooks:\n        - command: EVILHOOK\n---\n"+long+"\nEVIL\u200bPROMPT\n")
	write("skills/s/SKILL.md", "---\nname: s\ndescription: "+long+"EVILDESCRIPTION\nallowed-tools: Bash(EVILTOOL *)\n---\nEVILTEXT\n")
	write("skills/s/run.sh", "x")
	h := new(cli.IO)
	agents := preview.AgentDocuments(h, subagent.Folder{Path: filepath.Join(dir, "agents")}.Load())
	skills := preview.SkillDocuments(h, skill.Folder{Path: filepath.Join(dir, "skills"), Pinned: true}.Load())
	for _, want := range []string{"EVILDESCRIPTION", "! hooks:", "!         - command: EVILHOOK", "bypassPermissions", "! tools: Bash", "! model: opus", `EVIL\u{200b}PROMPT`} {
		if !strings.Contains(agents, want) {
			t.Errorf("%q is not in\n%s", want, agents)
		}
	}
	if strings.Index(agents, "EVILHOOK") > strings.Index(agents, "EVILDESCRIPTION") {
		t.Errorf("the hook comes after the description:\n%s", agents)
	}
	for _, want := range []string{"EVILDESCRIPTION", "! allowed-tools: Bash(EVILTOOL *)", "EVILTEXT", "run.sh"} {
		if !strings.Contains(skills, want) {
			t.Errorf("%q is not in\n%s", want, skills)
		}
	}
}

// The question of a sub-agent is found among those that wait, by the agent's session.
func TestRequestForSubagents(t *testing.T) {
	pending := []event.PermissionRequest{{Call: tool.Call{ID: "c1"}, Preview: "own"}, {Call: tool.Call{ID: "child/c1"}, Preview: "child's"}}
	for _, c := range []struct{ session, call, want string }{{"root", "c1", "own"}, {"child", "c1", "child's"}, {"other", "c1", ""}, {"root", "c2", ""}} {
		if got := PendingRequest(pending, "root", tool.Call{Session: c.session, ID: c.call}).Preview; got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
