package anthropic

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// A Tally is how a [Platform] counts the tokens of a model's requests.
type Tally struct {
	URL   string // where
	Model string // the model's name there, a member of what is sent; "": what is sent is a whole request for an answer
	// Wrap makes the body of the encoded request; nil: that is the body.
	Wrap   func(sent [][]byte) [][]byte
	Member string // of the answer that is the number; "": input_tokens
}

// CountTokens implements [llm.Counter]: /v1/messages/count_tokens costs nothing
// (https://platform.claude.com/docs/en/build-with-claude/token-counting), and neither
// do the end points of a [Platform]. One that turns out not to count is not asked
// again; its error matches [errors.ErrUnsupported].
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	tally := Tally{Model: m.ID}
	if p := m.client.Platform; p != nil {
		if p.Count == nil {
			return 0, &llm.APIError{Class: llm.NotFound, Provider: p.Name, Message: "tokens are not counted there", RetryAfter: -1, Err: errors.ErrUnsupported}
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
