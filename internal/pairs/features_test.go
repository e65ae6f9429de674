//go:build linux

package pairs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// all are the features that are combined. An ingredient changes the agent, the place in
// which it works, the way in which its calls are made, or what becomes of its session.
var all = []string{"sandbox", "worktree", "sub-agent", "background", "plan mode", "resume", "fork", "rewind", "skill", "MCP", "defer", "approval", "options", "hook", "batch", "memory"}

// place is the folder of the world that a host runs in.
var place string

// features are those of a scenario.
type features []string

func (f features) has(name string) bool { return slices.Contains(f, name) }

func (f features) String() string { return strings.Join(f, " × ") }

// prompts begin what the scripted model is told; they say which part it plays.
const (
	promptGo    = "PROMPT go"
	promptChild = "PROMPT child"
	promptPlan  = "PROMPT plan"
	promptMore  = "PROMPT more"
)

// turns are the answers to a prompt.
func (f features) turns(prompt string) []llmtest.Step {
	switch prompt {
	case promptChild:
		return f.childWork()
	case promptPlan:
		return append([]llmtest.Step{f.work(1)}, f.remember(planLesson)...)
	case promptMore:
		return slices.Concat([]llmtest.Step{f.work(7)}, f.remember("Of a fork"), f.bounds(17))
	}
	var steps []llmtest.Step
	if f.has("plan mode") {
		steps = append(steps, use("EnterPlanMode", nil), f.work(1))
		steps = append(steps, f.remember(planLesson)...)
		if f.has("sub-agent") {
			steps = append(steps, f.delegate(promptPlan, false))
		}
		steps = append(steps, use("ExitPlanMode", map[string]any{"plan": "Work."}))
	}
	if f.has("skill") {
		steps = append(steps, use("Skill", map[string]any{"skill": "job"}))
	}
	if f.has("sub-agent") {
		steps = append(steps, f.delegate(promptChild, f.has("background")))
	} else if f.has("worktree") {
		steps = append(steps, use("EnterWorktree", nil))
	}
	steps = append(steps, f.work(2), f.forbidden())
	if f.has("background") && !f.has("sub-agent") {
		steps = append(steps, use("Bash", map[string]any{"command": "echo x >> " + f.file(5) + "; sleep 100", "run_in_background": true}))
	}
	steps = append(steps, f.remember(ownLesson)...)
	return append(append(steps, f.bounds(8)...), f.work(3))
}

func (f features) childWork() []llmtest.Step {
	return append(slices.Concat([]llmtest.Step{f.work(4), f.forbidden()}, f.remember("Of a child"), f.bounds(9)), f.work(6))
}

// What calls add to the memory, and what was there before.
const (
	planLesson = "Of plan mode"
	ownLesson  = "Of the agent"
	oldLesson  = "Of an earlier session"
	oldID      = "earlier-1"
)

// remember is a call that adds to the memory, and one that confirms what was there.
func (f features) remember(title string) []llmtest.Step {
	if !f.has("memory") {
		return nil
	}
	steps := []llmtest.Step{f.call("Memory", map[string]any{"action": "add", "kind": "convention", "title": title})}
	if title == ownLesson {
		steps = append(steps, f.call("Memory", map[string]any{"action": "confirm", "id": oldID}))
	}
	return steps
}

// bounds are a call that needs approval, and one that the options of the prompt forbid.
func (f features) bounds(n int) (steps []llmtest.Step) {
	if f.has("approval") {
		steps = append(steps, f.call("Deploy", map[string]any{"file": f.file(n)}))
	}
	if f.has("options") {
		steps = append(steps, use("Glob", map[string]any{"pattern": "*.txt"}))
	}
	return steps
}

// expected are the numbers of the calls that must run once. The command in the background
// is not among them: the end of the session may come before its first step.
func (f features) expected() []int {
	list := []int{2, 3}
	if f.has("approval") {
		list = append(list, 8)
	}
	if f.has("sub-agent") {
		list = append(list, 4, 6)
	}
	if f.has("approval") && f.has("sub-agent") {
		list = append(list, 9)
	}
	return list
}

// file is where a call leaves its mark; the model's own words where a hook changes them.
func (f features) file(n int) string {
	if f.has("hook") {
		return fmt.Sprint("raw-", n)
	}
	return fmt.Sprint("count-", n)
}

// work is a call that changes something, and must not run twice.
func (f features) work(n int) llmtest.Step {
	name, input := "Bash", map[string]any{"command": "echo x >> " + f.file(n)}
	if f.has("MCP") {
		name, input = "mcp__marks__mark", map[string]any{"file": f.file(n)}
	}
	return f.call(name, input)
}

// call makes a call beside one that reads.
func (f features) call(name string, input map[string]any) llmtest.Step {
	if f.has("batch") {
		return use("Batch", map[string]any{"tool_calls": []any{map[string]any{"tool": name, "parameters": input},
			map[string]any{"tool": "Read", "parameters": map[string]any{"file_path": "notes.txt"}}}})
	}
	return llmtest.Call(llmtest.Use("", name, input), llmtest.Use("", "Read", map[string]any{"file_path": "notes.txt"}))
}

// forbidden are calls that are denied in every place and mode.
func (f features) forbidden() llmtest.Step {
	calls := []llm.ToolUse{llmtest.Use("", "Read", map[string]any{"file_path": filepath.Join(place, "project", "denied.txt")}),
		llmtest.Use("", "Write", map[string]any{"file_path": filepath.Join(place, "outside", "tripwire"), "content": "changed"})}
	if f.has("sandbox") {
		calls = append(calls, llmtest.Use("", "Bash", map[string]any{"command": "sh attack.sh"}),
			llmtest.Use("", "Grep", map[string]any{"pattern": "SECRET", "output_mode": "content"}),
			llmtest.Use("", "Read", map[string]any{"file_path": "hidden/key"}))
	}
	return llmtest.Call(calls...)
}

func (f features) delegate(prompt string, background bool) llmtest.Step {
	input := map[string]any{"prompt": prompt, "description": "part of the work", "subagent_type": "general-purpose", "run_in_background": background}
	if f.has("worktree") {
		input["isolation"] = "worktree"
	}
	return use("Agent", input)
}

func use(name string, input map[string]any) llmtest.Step {
	if input == nil {
		input = map[string]any{}
	}
	return llmtest.Call(llmtest.Use("", name, input))
}

// answer is the scripted model: it finds out from the conversation what comes next, so
// that it continues after a crash.
func (f features) answer(r *llmtest.Request, _ int) llmtest.Step {
	prompt, answers := "", 0
	called := "" // first, by the latest answer
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			answers++
			if uses := m.ToolUses(); len(uses) > 0 {
				called = uses[0].Name
			}
			continue
		}
		for _, b := range m.Content {
			if res, ok := b.(llm.ToolResult); ok && called == "EnterWorktree" && strings.Contains(res.Content.Text(), "is not known") {
				answers-- // the program died in the meantime: it is done again
			}
			if t, ok := b.(llm.Text); ok && strings.HasPrefix(t.Text, "PROMPT ") {
				prompt, answers = strings.TrimSpace(t.Text), 0
			}
		}
	}
	if steps := f.turns(prompt); answers < len(steps) {
		return steps[answers]
	}
	return llmtest.Say("done")
}
