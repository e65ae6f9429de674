package demo

import (
	"context"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/providers"
)

// A demoRecord writes a demo as JSON: an object a line, or the result alone.
type demoRecord struct {
	host   *cli.IO
	report *streamjson.Report
	lines  *streamjson.Writer // nil: the result alone
	faults []trial
}

// newDemoRecord returns the record of a session. fail is called when stdout
// cannot be written any more.
func newDemoRecord(h *cli.IO, s *agent.Session, format string, fail func(error)) *demoRecord {
	r := &demoRecord{host: h}
	var put func(any)
	if format == cli.FormatStream {
		r.lines = streamjson.NewWriter(h.Out, fail)
		put = r.lines.Put
	}
	r.report = streamjson.NewReport(s.ID, providers.DemoName, put)
	r.report.Expect(true)
	return r
}

// event takes in an event. Those of other sessions are told by the faults that
// they belong to.
func (r *demoRecord) event(_ context.Context, e event.Event) error {
	if e.Session == r.report.Session {
		r.report.Event(e)
	}
	return nil
}

// A faultLine tells how a fault went.
type faultLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	trial
	streamjson.Origin
}

func (r *demoRecord) fault(f trial) error {
	r.faults = append(r.faults, f)
	r.report.Line(faultLine{Type: "system", Subtype: "fault", trial: f, Origin: r.report.NewOrigin("")})
	return nil
}

// A faultsLine is the result of a demo with faults.
type faultsLine struct {
	streamjson.ResultLine
	Faults []trial `json:"faults"`
}

func (r *demoRecord) finish(ctx context.Context, end event.RunEnd) error {
	line, _ := r.report.Result(ctx)
	var result any = line
	if r.faults != nil {
		for _, f := range r.faults {
			if !f.Survived {
				line.Subtype, line.IsError = cli.ErrorRun, true
				line.Errors = append(line.Errors, f.Fault+": "+f.Detail)
			}
		}
		result = faultsLine{line, r.faults}
	}
	if r.lines == nil {
		data, err := cli.EncodeLine(result)
		if err == nil {
			_, err = r.host.Out.Write(data)
			err = cli.WriteError(err)
		}
		return err
	}
	r.lines.Put(result)
	return r.lines.Close(ctx)
}
