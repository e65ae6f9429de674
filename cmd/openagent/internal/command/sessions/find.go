package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/session"
)

// age makes the set function of a flag that takes a time span; d is a day.
func age(to *time.Duration) func(string) error {
	return func(s string) error {
		const form = "write a number of days such as 90d, or hours such as 12h"
		if days, ok := strings.CutSuffix(s, "d"); ok {
			n, err := strconv.ParseUint(days, 10, 16)
			if err != nil || n == 0 {
				return fmt.Errorf("%q is not an age; %s", cli.Clip(s), form)
			}
			*to = time.Duration(n) * 24 * time.Hour
			return nil
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is not an age; %s", cli.Clip(s), form)
		}
		*to = d
		return nil
	}
}

func searchSessions(ctx context.Context, h *cli.IO, o *SessionsOptions, query string) error {
	stores, err := sessionstore.Stores(h, o.Dir, o.All)
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
			var damage *session.CorruptError
			switch {
			case ctx.Err() != nil:
				return cli.CommandError(ctx, ctx.Err())
			case errors.As(err, &damage):
				h.Warn("%v; repair it with: openagent sessions repair %s", err, hit.Session.Session)
			case err != nil:
				return cli.Usagef("%w", err)
			default:
				hits = append(hits, hit)
			}
		}
	}
	if len(hits) == 0 && o.format != cli.FormatJSON {
		h.Warn("nothing was found; --all searches the sessions of all folders")
		return nil
	}
	var rows [][]string
	for _, hit := range hits {
		rows = append(rows, []string{hit.Session.Session, strconv.FormatInt(hit.Seq, 10), hit.Time.Local().Format(time.DateTime), hit.Snippet})
	}
	return h.WriteList(o.format, hits, "SESSION FACT TIME TEXT", rows)
}

// nameSession gives a session a title or a tag, or takes it away.
func nameSession(ctx context.Context, h *cli.IO, o *SessionsOptions, verb, id, name string) error {
	store, err := sessionstore.Locate(ctx, h, o.Dir, id)
	if err != nil {
		return err
	}
	set := session.Rename
	if verb == "tag" {
		set = session.SetTag
	}
	return told(ctx, h, id, set(ctx, store, id, name))
}

// told returns what is said of an error of changing a session.
func told(ctx context.Context, h *cli.IO, id string, err error) error {
	switch {
	case errors.Is(err, session.ErrSessionBusy):
		return cli.Usagef("session %s is in use by another process; wait for its end", id)
	case err != nil:
		return cli.CommandError(ctx, err)
	}
	return nil
}
