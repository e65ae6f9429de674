package claude

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A Tally says how a [Platform] counts the tokens of a model's requests.
type Tally struct {
	URL   string // address of the end point
	Model string // value of the member "model"; "": the body is a whole request for an answer
	// Wrap makes the body from the encoded request; nil: the body is that request.
	Wrap   func(sent [][]byte) [][]byte
	Member string // member of the answer with the number; "": input_tokens
}

// CountTokens implements [llm.Counter]. It uses /v1/messages/count_tokens, which is free
// (https://platform.claude.com/docs/en/build-with-claude/token-counting), or the end point
// of a [Platform]. If an end point turns out not to count, it is not asked again. The error
// then matches [errors.ErrUnsupported].
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	tally := Tally{Model: m.ID}
	if p := m.platform; p != nil {
		if p.Count == nil {
			return 0, &llm.APIError{Class: llmconst.NotFound, Provider: p.Name, Message: "tokens are not counted there", RetryAfter: -1, Err: errors.ErrUnsupported}
		}
		var err error
		if tally, err = p.Count(m.ID); err != nil {
			return 0, &llm.APIError{Class: llm.Auth, Provider: p.Name, Message: err.Error(), RetryAfter: -1, Err: err}
		}
	}
	return m.counting.Ask(ctx, wire.First(tally.Member, "input_tokens"), func() (*wire.Exchange, error) {
		body, err := m.body(req, &tally)
		if err != nil {
			return nil, err
		}
		if tally.Wrap != nil {
			body = tally.Wrap(body)
		}
		x, err := m.exchange(true, body)
		if err != nil {
			return nil, err
		}
		if x.URL = wire.Join(x.URL, "/count_tokens"); tally.URL != "" {
			x.URL = tally.URL
		}
		return x, nil
	})
}
