package main

import (
	"context"
	"io"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/trace"
)

// traceSession writes the spans of a session as its journal tells them.
func (h *host) traceSession(ctx context.Context, o *sessionsOptions, id string) error {
	store, err := h.locate(ctx, o, id)
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
		return commandError(ctx, err)
	}
	stores := map[string]session.Store{id: store}
	rs := trace.Build(id, facts, func(above, agent string) []event.Event {
		stores[agent] = session.Under(stores[above], above)
		own, err := read(stores[agent], agent)
		if err != nil {
			h.complain("the agent %s: %v", agent, err)
		}
		return own
	})
	for i := range rs {
		rs[i].Message = h.oneLine(rs[i].Message)
	}
	write := func(w io.Writer) error { return trace.Write(w, rs) }
	if o.chrome {
		write = func(w io.Writer) error { return trace.WriteChrome(w, rs) }
	}
	if o.file == "" {
		err = write(h.out)
	} else {
		err = writeFile(o.file, write)
	}
	if err != nil {
		return commandError(ctx, err)
	}
	return nil
}

// record makes the agent's spans lines of a file.
func (s *setup) record(name string) error {
	rec, err := trace.Create(name)
	if err != nil {
		return cli.Usagef("--trace: %v", err)
	}
	s.recorder, s.agent.Trace = rec, rec.Trace
	return nil
}
