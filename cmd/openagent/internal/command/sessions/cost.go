package sessions

import (
	"context"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/internal/account"
)

// spending reads the usage of a session.
func spending(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) (*account.Book, error) {
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return nil, err
	}
	return account.Read(store.Read(ctx, id, 0))
}

// showSpending shows the cost, the context or the cache use of a session.
func showSpending(ctx context.Context, h *cli.IO, o *sessionsOptions, id, what string) error {
	book, err := spending(ctx, h, o, id)
	if err != nil {
		return err
	}
	var v any
	var lines []string
	switch what {
	case "context":
		u := book.Context()
		v, lines = u, usage.ContextLines(h, u)
	case "cache":
		c := book.Cache()
		v, lines = c, usage.CacheLines(h, c)
	default:
		c := book.Cost()
		v, lines = c, usage.CostLines(h, c)
	}
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, v, "", nil)
	}
	return h.Show(strings.Join(lines, "\n"))
}
