package tools_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
)

// Words that describe the purpose of a built-in tool find it, and little else.
func TestToolSearchFindsTheKit(t *testing.T) {
	k := fullKit(t)
	k.Settings = tools.SettingsFile("", "", tools.Setting{Key: "model", Type: "string"}, tools.Setting{Key: "no_color", Type: "boolean"})
	var deferred []tool.Spec
	for _, e := range k.Tools() {
		if e.Tier != "core" {
			deferred = append(deferred, e.Tool.Spec())
		}
	}
	search := tools.ToolSearch().(interface{ Over([]tool.Spec) tool.Tool }).Over(deferred)
	for _, c := range []struct {
		query, best string
		not         string // tools that do not belong here
	}{
		{"go to definition", "LSP", "TodoRead TodoWrite Batch"},
		{"goToDefinition", "LSP", "TodoRead TodoWrite Batch"},
		{"find references", "LSP", "Batch TodoRead"},
		{"call hierarchy", "LSP", "Batch"},
		{"rename a symbol", "LSP", "Batch"},
		{"webhook", "RemoteTrigger", "LSP"},
		{"run something every morning", "CronCreate", "Batch Agent"},
		{"schedules", "CronCreate", "Batch"},
		{"change the model", "Config", "Batch TodoRead"},
		{"show me the settings", "Config", "Batch"},
		{"edit a notebook", "NotebookEdit", "Batch"},
		{"working in a git worktree", "EnterWorktree", "Batch"},
		{"several edits of one file", "MultiEdit", "Batch"},
		{"send a message to a teammate", "SendMessage", "Batch"},
		{"many calls at once", "Batch", "LSP"},
	} {
		r := tooltest.Run(t, search, map[string]any{"query": c.query})
		found := r.Patch.Enable
		if len(found) == 0 || found[0] != c.best {
			t.Errorf("%q finds %v, want %s first", c.query, found, c.best)
		}
		for _, name := range strings.Fields(c.not) {
			if slices.Contains(found, name) {
				t.Errorf("%q finds %v, and %s is among them", c.query, found, name)
			}
		}
	}
	for _, query := range []string{"to the of it", "a", "x y z"} {
		if r := tooltest.Run(t, search, map[string]any{"query": query}); len(r.Patch.Enable) > 0 {
			t.Errorf("%q finds %v", query, r.Patch.Enable)
		}
	}
}
