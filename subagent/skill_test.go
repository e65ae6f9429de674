package subagent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// serverTool writes a file, as the tool of a server.
func serverTool(dir string) tool.Tool {
	return tool.New(tool.Spec{Name: "mcp__files__write"}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
		return tool.Text("ok"), os.WriteFile(filepath.Join(dir, "x.txt"), nil, 0o600)
	})
}

// Agents started during a skill may use only its tools: not in the background, not farther
// down, not by their own skill or a tool of a server. Agents started after the skill has
// ended are free of it.
func TestSkillBoundsAgents(t *testing.T) {
	write := use("Write", map[string]any{"file_path": "x.txt", "content": "x"})
	run := func(name string) llm.ToolUse { return use("Skill", map[string]any{"skill": name}) }
	end := use("Skill", map[string]any{"end": true})
	for name, c := range map[string]struct {
		more    map[string]any // of the call of Agent
		before  []any          // that the parent does
		child   []any
		written bool
	}{
		"a tool":                             {before: []any{run("narrow")}, child: []any{write}},
		"a command":                          {before: []any{run("narrow")}, child: []any{use("Bash", map[string]any{"command": "touch x.txt"})}},
		"in the background":                  {before: []any{run("narrow")}, child: []any{write}, more: map[string]any{"run_in_background": true}},
		"a higher mode":                      {before: []any{run("narrow")}, child: []any{write}, more: map[string]any{"mode": "bypassPermissions"}},
		"a skill of its own that gives more": {before: []any{run("narrow")}, child: []any{run("writer"), write}},
		"the end of no skill of its own":     {before: []any{run("narrow")}, child: []any{end, write}},
		"a tool of a server":                 {before: []any{run("narrow")}, child: []any{use("mcp__files__write", map[string]any{})}},
		"a grandchild":                       {before: []any{run("narrow")}, child: []any{spawn("deeper", nil)}},
		"nested":                             {before: []any{run("narrow"), run("narrower")}, child: []any{write}},
		"after its end":                      {before: []any{run("narrow"), end}, child: []any{write}, written: true},
		"in a skill that lists it":           {before: []any{run("writer")}, child: []any{write}, written: true},
		"a skill of its own after the end":   {before: []any{run("narrow"), end}, child: []any{run("narrow"), write}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.manager.MaxDepth = 2
			rules := func(rs ...permission.Rule) []permission.Rule { return rs }
			s.agent.Tools = append(s.agent.Tools, tools.Skill(skill.New(
				&skill.Skill{Name: "narrow", Instructions: "Look.", Tools: rules("Read", "Agent", "Skill", "TaskOutput")},
				&skill.Skill{Name: "narrower", Instructions: "Look.", Tools: rules("Agent")},
				&skill.Skill{Name: "writer", Instructions: "Write.", Tools: rules("Write", "Agent", "mcp__files")},
			)), serverTool(s.dir))
			s.plays("try", append(c.child, "tried")...)
			s.plays("deeper", write, "tried")
			steps := append(c.before, spawn("try", c.more))
			for range 3 {
				steps = append(steps, func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
			}
			s.plays("go", steps...)
			res := s.prompt("go")
			_, err := os.Stat(filepath.Join(s.dir, "x.txt"))
			if (err == nil) != c.written {
				t.Errorf("written: %v; told %q", err == nil, res.Text)
			}
			if !strings.Contains(res.Text, "tried") {
				t.Errorf("the agent did not come to its end: %q", res.Text)
			}
		})
	}
}
