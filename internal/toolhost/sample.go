package toolhost

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/llm"
)

// ErrDeclined is matched if a person, a rule or another decider refuses a server's request.
var ErrDeclined = errors.New("the request is declined")

// A Sampling is a server's request to the run's model.
type Sampling struct {
	Server string
	// Tool is the name by which permission rules know such requests of the server,
	// mcp__server__sampling.
	Tool      string
	System    string
	Messages  []llm.Message // texts and images
	MaxTokens int           // of the answer
	Stop      []string      // stop sequences
	Models    []string      // names of models, the one liked best first: hints
}

// A Sampled is the model's answer to a [Sampling].
type Sampled struct {
	Text  string
	Model string
	Stop  llm.StopReason
}

// Sample asks the [RunServices] of ctx. Without one it fails with [ErrDeclined].
func Sample(ctx context.Context, s Sampling) (Sampled, error) {
	if h, ok := ctx.Value(hostKey{}).(RunServices); ok {
		return h.Sample(ctx, s)
	}
	return Sampled{}, ErrDeclined
}
