// Package oneshot runs one prompt and prints the answer, as openagent -p does.
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

// Run runs one prompt. Without a prompt it resumes the interrupted run.
func Run(ctx context.Context, h *cli.IO, s *app.App, in agent.Input) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var out *streamjson.Writer
	var put func(any)
	if s.Options.Output == cli.FormatStream {
		out = streamjson.NewWriter(h.Out, func(err error) { cancel(err) })
		defer out.StopWaiting(ctx)()
		put = out.Put
	}
	resume := strings.TrimSpace(in.Text) == "" && len(in.Blocks) == 0 && !in.Compact
	r, err := streamjson.NewSessionReport(ctx, s, put, !resume, h.Warn)
	if err != nil {
		return cli.StartError(ctx, streamjson.CloseWriter(ctx, out, err))
	}
	r.Warn = h.Warn
	r.Expect(!resume)
	if out == nil {
		r.Notice = h.Warn
	}
	events := s.Session.StreamInput(ctx, in)
	if resume {
		events = s.Session.Resume(ctx)
	}
	err = r.Run(s.Session, events)
	if !r.Started {
		return cli.StartError(ctx, streamjson.CloseWriter(ctx, out, err))
	}
	if out != nil {
		line, o := r.ResultLine(ctx, false)
		out.Put(line)
		return streamjson.RunError(ctx, h, o, streamjson.CloseWriter(ctx, out, nil))
	}
	line, o := r.Result(ctx)
	if s.Options.Output != cli.FormatJSON {
		line.Result = s.DisplayText(ctx, line.UUID, line.Result)
	}
	return streamjson.RunError(ctx, h, o, printResult(h, s.Options.Output, line, r.End))
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
		return cli.WriteError(err)
	}
	var err error
	if text := line.Result; text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err = io.WriteString(h.Out, text)
	}
	for _, d := range end.Denials {
		h.Warn("refused: %s: %s", d.Tool, d.Reason)
	}
	if line.IsError {
		h.Warn("the run ended: %s", app.EndText(end))
	}
	return cli.WriteError(err)
}
