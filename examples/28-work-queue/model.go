package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the coordinator and the workers.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	use := func(name string, in map[string]any) llm.ToolUse { return llmtest.Use("", name, in) }
	fill := llmtest.Step{}
	for i := range 8 {
		fill.Calls = append(fill.Calls, use("TaskCreate", map[string]any{"subject": fmt.Sprintf("Look at part %d", i+1)}))
	}
	last := llmtest.Call(use("TaskCreate", map[string]any{"subject": "Sum up", "blockedBy": []string{"1", "2", "3", "4", "5", "6", "7", "8"}}))
	start := llmtest.Step{}
	for i := range 3 {
		name := fmt.Sprintf("worker-%d", i+1)
		start.Calls = append(start.Calls, use("Agent", map[string]any{"name": name, "description": "Worker", "prompt": "Take tasks with Claim until there is none.", "subagent_type": "general-purpose"}))
	}
	worker := func(r *llmtest.Request, _ int) llmtest.Step {
		results := r.Results()
		if len(results) == 0 || results[0].Use.Name == "TaskUpdate" {
			return llmtest.Call(use("Claim", nil))
		}
		task := regexp.MustCompile(`^task_\d+`).FindString(results[0].Text)
		if task == "" {
			return llmtest.Step{Text: "There is nothing left for me."}
		}
		return llmtest.Call(use("TaskUpdate", map[string]any{"id": task, "status": "completed", "output": "done"}))
	}
	return &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
		"Take tasks": worker,
		"Work off":   llmtest.Steps(fill, last, start, llmtest.Step{Text: "The list is worked off."}),
	})}
}
