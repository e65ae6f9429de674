package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// CountTokens implements [llm.Counter]: /v1/messages/count_tokens costs nothing
// (https://platform.claude.com/docs/en/build-with-claude/token-counting). A
// [Platform] is not asked: each counts in another way.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if p := m.client.Platform; p != nil {
		return 0, &llm.APIError{Class: llm.NotFound, Provider: p.Name, Message: "tokens are not counted there", RetryAfter: -1, Err: errors.ErrUnsupported}
	}
	body, err := m.body(req, true)
	if err != nil {
		return 0, err
	}
	x, err := m.exchange(true, body)
	if err != nil {
		return 0, err
	}
	x.URL += "/count_tokens"
	reply, err := x.Do(ctx)
	if err != nil {
		return 0, err
	}
	complete := false
	defer func() { reply.Close(complete) }()
	if err := reply.Page(); err != nil {
		return 0, err
	}
	data, err := io.ReadAll(reply)
	if err != nil {
		return 0, reply.Fail(err, llm.Truncated)
	}
	complete = true
	var answer struct {
		Input *wire.Count `json:"input_tokens"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Input == nil {
		return 0, reply.Error(llm.Protocol, "the count of tokens is not what the API promises")
	}
	return int(*answer.Input), nil
}
