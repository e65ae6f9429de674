package main

import (
	"context"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
)

// A demoRecord writes a demo as JSON: an object a line, or the result alone.
type demoRecord struct {
	host   *host
	report *report
	lines  *lines // nil: the result alone
}

// newDemoRecord returns the record of a session. fail is called when stdout
// cannot be written any more.
func newDemoRecord(h *host, s *agent.Session, format string, fail func(error)) *demoRecord {
	r := &demoRecord{host: h}
	var put func(any)
	if format == formatStream {
		r.lines = newLines(h.out, fail)
		put = r.lines.put
	}
	r.report = newReport(s.ID, demoName, put)
	r.report.expect(true)
	return r
}

func (r *demoRecord) event(_ context.Context, e event.Event) error {
	r.report.event(e)
	return nil
}

func (r *demoRecord) finish(ctx context.Context, end event.RunEnd) error {
	line, _ := r.report.finished(ctx)
	if r.lines == nil {
		return r.host.printResult(formatJSON, line, end)
	}
	r.lines.put(line)
	return r.lines.close(ctx)
}
