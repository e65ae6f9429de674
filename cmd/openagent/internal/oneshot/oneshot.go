package oneshot

import (
	"context"
	"io"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/event"
)

// PrintOne runs one prompt, or goes on with the interrupted run where there is none.
func PrintOne(ctx context.Context, h *cli.IO, s *app.App, in agent.Input) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var out *streamjson.Lines
	var put func(any)
	if s.Options.Output == cli.FormatStream {
		out = streamjson.NewLines(h.Out, func(err error) { cancel(err) })
		defer out.StopWaiting(ctx)()
		put = out.Put
	}
	resume := strings.TrimSpace(in.Text) == "" && len(in.Blocks) == 0 && !in.Compact
	r, err := streamjson.ReportOf(ctx, s, put, !resume, h.Complain)
	if err != nil {
		return cli.StartError(ctx, streamjson.Closing(ctx, out, err))
	}
	r.Warn = h.Complain
	r.Expect(!resume)
	if out == nil {
		r.Notice = h.Complain
	}
	events := s.Session.StreamInput(ctx, in)
	if resume {
		events = s.Session.Resume(ctx)
	}
	err = r.Run(s.Session, events)
	if !r.Live {
		return cli.StartError(ctx, streamjson.Closing(ctx, out, err))
	}
	line, o := r.Finished(ctx)
	if out != nil {
		out.Put(line)
		return streamjson.Finish(ctx, h, o, streamjson.Closing(ctx, out, nil))
	}
	if s.Options.Output != cli.FormatJSON {
		line.Result = s.Displayed(ctx, line.UUID, line.Result)
	}
	return streamjson.Finish(ctx, h, o, printResult(h, s.Options.Output, line, r.End))
}

// printResult writes the result as text or as the one object, and what people
// should know of it to stderr.
func printResult(h *cli.IO, format string, line streamjson.ResultLine, end event.RunEnd) error {
	if format == cli.FormatJSON {
		data, err := cli.EncodeLine(line)
		if err != nil {
			return err
		}
		_, err = h.Out.Write(data)
		return cli.Writing(err)
	}
	var err error
	if text := line.Result; text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err = io.WriteString(h.Out, text)
	}
	for _, d := range end.Denials {
		h.Complain("refused: %s: %s", d.Tool, d.Reason)
	}
	if line.IsError {
		h.Complain("the run ended: %s", app.EndText(end))
	}
	return cli.Writing(err)
}
