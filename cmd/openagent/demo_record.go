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
	faults []trial
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

// event takes in an event. Those of other sessions are told by the faults that
// they belong to.
func (r *demoRecord) event(_ context.Context, e event.Event) error {
	if e.Session == r.report.session {
		r.report.event(e)
	}
	return nil
}

// A faultLine tells how a fault went.
type faultLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	trial
	origin
}

func (r *demoRecord) fault(f trial) error {
	r.faults = append(r.faults, f)
	r.report.line(faultLine{Type: "system", Subtype: "fault", trial: f, origin: r.report.sign("")})
	return nil
}

// A faultsLine is the result of a demo with faults.
type faultsLine struct {
	resultLine
	Faults []trial `json:"faults"`
}

func (r *demoRecord) finish(ctx context.Context, end event.RunEnd) error {
	line, _ := r.report.finished(ctx)
	var result any = line
	if r.faults != nil {
		for _, f := range r.faults {
			if !f.Survived {
				line.Subtype, line.IsError = errorRun, true
				line.Errors = append(line.Errors, f.Fault+": "+f.Detail)
			}
		}
		result = faultsLine{line, r.faults}
	}
	if r.lines == nil {
		data, err := encodeLine(result)
		if err == nil {
			_, err = r.host.out.Write(data)
			err = writing(err)
		}
		return err
	}
	r.lines.put(result)
	return r.lines.close(ctx)
}
