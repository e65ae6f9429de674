package tool

import "github.com/openagent-go/agent/internal/skillscope"

// An Expansion is the result of a command of the user, such as "/review HEAD~1".
type Expansion struct {
	Kind string `json:"kind"`           // "slash_command", or "mcp_prompt" for a prompt of a server
	Name string `json:"name"`           // of the skill, or of the prompt
	Args string `json:"args,omitempty"` // what follows the name of the command
	// Text is the text for the model.
	Text string `json:"-"`
	// Scope, unless nil, is in force for the run: what the skill permits.
	Scope *skillscope.Scope `json:"scope,omitempty"`
}
