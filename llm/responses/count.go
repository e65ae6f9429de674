package responses

import (
	"context"

	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// CountTokens implements [llm.Counter] with /responses/input_tokens
// (https://platform.openai.com/docs/api-reference/responses/input-tokens). If a host turns
// out not to have it, it is not asked again. The error then matches
// [errors.ErrUnsupported].
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	return m.counting.Ask(ctx, "input_tokens", func() (*wire.Exchange, error) {
		base := m.client.base()
		host := hostOf(base)
		body, err := m.body(req, host, true)
		if err != nil {
			return nil, err
		}
		at := m.client.place(base, host)
		at.URL = wire.Join(base, "/responses/input_tokens")
		return at.Exchange(true, body, &m.Keys)
	})
}
