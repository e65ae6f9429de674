package sessions

import (
	"cmp"
	"context"
	"io"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/internal/tracehtml"
	"github.com/openagent-go/agent/session"
)

// traceSession writes the spans of a session, computed from its journal.
func traceSession(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) error {
	if o.html && o.chrome {
		return cli.Usagef("use --html or --chrome, not both")
	}
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	read := func(s session.Store, id string) (facts []event.Event, failed error) {
		for e, err := range s.Read(ctx, id, 0) {
			if err != nil {
				return facts, err
			}
			facts = append(facts, e)
		}
		return facts, nil
	}
	facts, err := read(store, id)
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	stores := map[string]session.Store{id: store}
	rs := tracefile.Build(id, facts, func(above, agent string) []event.Event {
		stores[agent] = session.Under(stores[above], above)
		own, err := read(stores[agent], agent)
		if err != nil {
			h.Warn("the agent %s: %v", agent, err)
		}
		return own
	})
	for i := range rs {
		rs[i].Message = h.OneLine(rs[i].Message)
	}
	write := func(w io.Writer) error { return tracefile.Write(w, rs) }
	if o.chrome {
		write = func(w io.Writer) error { return tracefile.WriteChrome(w, rs) }
	}
	if o.html {
		title := id
		if info, err := session.Stat(ctx, store, id); err == nil {
			title = cmp.Or(info.Title, info.Prompt, id)
		}
		write = func(w io.Writer) error { return tracehtml.Write(w, h.OneLine(title), rs) }
	}
	return writeOut(ctx, h, o.file, write)
}
