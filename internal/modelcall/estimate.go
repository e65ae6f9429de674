package modelcall

import "github.com/openagent-go/agent/llm"

// The overhead of a request and of a message in [llm.Request.Estimate].
var (
	empty   = (&llm.Request{}).Estimate()
	message = (&llm.Request{Messages: []llm.Message{{}}}).Estimate()
)

// ToolTokens returns about how many tokens the description of the tool counts.
func ToolTokens(t llm.Tool) int {
	tools := [1]llm.Tool{t}
	r := llm.Request{Tools: tools[:]}
	return r.Estimate() - empty
}

// Tokens returns about how many tokens the blocks count.
func Tokens(blocks llm.Blocks) int {
	messages := [1]llm.Message{{Content: blocks}}
	r := llm.Request{Messages: messages[:]}
	return r.Estimate() - message
}
