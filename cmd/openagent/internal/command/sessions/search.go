package sessions

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/session"
)

func searchSessions(ctx context.Context, h *cli.IO, o *sessionsOptions, query string) error {
	stores, err := sessionstore.Stores(ctx, h, o.place, o.All)
	if err != nil {
		return err
	}
	hits := []session.Hit{}
	limit := cmp.Or(o.limit, 100)
	for _, s := range stores {
		options := session.SearchOptions{Limit: limit - len(hits), Match: func(i session.Info) bool { return !o.others(i) }}
		if options.Limit <= 0 {
			break
		}
		for hit, err := range session.Search(ctx, s, query, options) {
			switch {
			case ctx.Err() != nil:
				return cli.CommandError(ctx, ctx.Err())
			case errors.Is(err, session.ErrCorrupt):
				h.Warn("%v; repair it with: openagent sessions repair %s", err, hit.Session.Session)
			case err != nil:
				return cli.Usagef("%w", err)
			default:
				hits = append(hits, hit)
			}
		}
	}
	if len(hits) == 0 && o.format != cli.FormatJSON {
		h.Warn("no matches; --all searches the sessions of all folders")
		return nil
	}
	var rows [][]string
	for _, hit := range hits {
		rows = append(rows, []string{hit.Session.Session, strconv.FormatInt(hit.Seq, 10), hit.Time.Local().Format(time.DateTime), hit.Snippet})
	}
	return h.WriteList(o.format, hits, "SESSION FACT TIME TEXT", rows)
}
