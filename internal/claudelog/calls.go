package claudelog

import (
	"encoding/json"

	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/llm"
)

// Blocks returns the content of an answer as Claude Code has it. Hosts read the inputs of some calls,
// such as those that change tasks, by its names.
func Blocks(content llm.Blocks) []any {
	blocks := contentjson.Blocks(content)
	for i, b := range content {
		if u, ok := b.(llm.ToolUse); ok && (u.Name == "TaskUpdate" || u.Name == "TaskGet") {
			u.Input = withTaskID(u.Input)
			blocks[i] = contentjson.Block(u)
		}
	}
	return blocks
}

// withTaskID returns the input of a call that names a task, with that name as taskId as well.
func withTaskID(input json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(input, &members) != nil || members["id"] == nil || members["taskId"] != nil {
		return input
	}
	members["taskId"] = members["id"]
	data, err := json.Marshal(members)
	if err != nil {
		return input
	}
	return data
}
