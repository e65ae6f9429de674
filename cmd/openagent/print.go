package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
)

// promptCommand is the command without a name: a prompt.
func promptCommand(h *host) cli.Command {
	o := new(options)
	return cli.Command{Name: "openagent", Args: "[prompt]", Summary: "Run an agent on a prompt",
		Details: `On a terminal it is a conversation. With -p, or without a terminal, it is one prompt.
Text on stdin is added to the prompt, or is the prompt.
`,
		Examples: []string{"openagent", "openagent -p 'Why does the build fail?'", "git diff | openagent -p 'Review this change'"},
		Footer:   cli.ExitHelp + "\n" + environmentHelp, Flags: o.flags,
		Run: func(ctx context.Context, args []string) error { return h.prompt(ctx, o, args) }}
}

// mistyped refuses a lone word that is nearly a command: a slip of the finger
// should not cost money.
func (h *host) mistyped(args []string) error {
	if len(args) != 1 || strings.ContainsAny(args[0], " \t\n") {
		return nil
	}
	if name := tool.Nearest(args[0], root(h).Names()); name != "" {
		return cli.Usagef("there is no command %q; did you mean openagent %s? As a prompt it needs -p", cli.Clip(args[0]), name)
	}
	return nil
}

// prompt runs the program without a command.
func (h *host) prompt(ctx context.Context, o *options, args []string) error {
	printing := o.print || o.output != "" || o.input != "" || !h.inTerminal || !h.outTerminal
	if err := o.check(); err != nil {
		return err
	}
	if _, err := promptArg(args); err != nil {
		return err
	}
	if err := h.mistyped(args); err != nil && !o.print {
		return err
	}
	var c *repl
	var d *streamSession
	var ask agent.AskUserFunc
	switch {
	case !printing:
		c = newConversation(h)
		ask = c.inquire
	case o.promptTool == askByStdio:
		d = &streamSession{h: h, changed: make(chan struct{}, 1)}
		ask = d.inquire
	case o.input == formatStream:
		d = &streamSession{h: h, changed: make(chan struct{}, 1)}
	}
	s, err := h.setup(ctx, o, ask)
	if err != nil {
		return err
	}
	defer func() {
		if err := s.close(); err != nil {
			h.complain("%v", err)
		}
	}()
	blocks, err := s.attached(o.files)
	if err != nil {
		return err
	}
	switch {
	case !printing:
		return c.talk(ctx, s, args, blocks)
	case o.input == formatStream:
		return d.serveInput(ctx, s, args, blocks)
	}
	text, err := h.promptText(ctx, args, s.past || len(blocks) > 0)
	if err != nil {
		return err
	}
	said := text
	if len(args) == 1 {
		said, _ = promptArg(args)
	}
	in, err := h.expandSaid(ctx, s, agent.Input{Text: text, Blocks: blocks}, said)
	if err != nil {
		return startError(ctx, cli.Usagef("%w", err))
	}
	return h.printOne(ctx, s, in)
}

// printOne runs one prompt, or goes on with the interrupted run where there is none.
func (h *host) printOne(ctx context.Context, s *setup, in agent.Input) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var out *lines
	var put func(any)
	if s.options.output == formatStream {
		out = newLines(h.out, func(err error) { cancel(err) })
		defer out.stopWaiting(ctx)()
		put = out.put
	}
	resume := strings.TrimSpace(in.Text) == "" && len(in.Blocks) == 0 && !in.Compact
	r, err := s.report(ctx, put, !resume, h.complain)
	if err != nil {
		return startError(ctx, closing(ctx, out, err))
	}
	r.warn = h.complain
	r.expect(!resume)
	if out == nil {
		r.notice = h.complain
	}
	events := s.session.StreamInput(ctx, in)
	if resume {
		events = s.session.Resume(ctx)
	}
	err = r.run(s.session, events)
	if !r.live {
		return startError(ctx, closing(ctx, out, err))
	}
	line, o := r.finished(ctx)
	if out != nil {
		out.put(line)
		return h.finish(ctx, o, closing(ctx, out, nil))
	}
	if s.options.output != formatJSON {
		line.Result = s.displayed(ctx, line.UUID, line.Result)
	}
	return h.finish(ctx, o, h.printResult(s.options.output, line, r.end))
}

// report returns a report of the session that knows its past. asked reports whether this
// start brings a new prompt; tell is for what a person should know of the permission mode.
func (s *setup) report(ctx context.Context, put func(any), asked bool, tell func(format string, args ...any)) (*report, error) {
	r := newReport(s.session.ID, s.provider.name.value, put)
	r.servers, r.commands, r.skills, r.instructions, r.kinds = s.serverNames, s.slashNames, s.skillNames, s.instructionFiles, s.kindNames()
	if s.options.partial {
		r.showPieces()
	}
	if s.sandbox != nil {
		st := s.sandbox.State()
		r.sandbox = &st
	}
	if !s.past {
		return r, nil
	}
	if err := r.past(ctx, s.store); err != nil {
		return r, err
	}
	if err := s.settleMode(ctx, r.config.Mode, asked, tell); err != nil {
		return r, err
	}
	var err error
	r.mode, err = s.session.Mode(ctx)
	return r, err
}

// closing ends the writing of lines and returns the first error.
func closing(ctx context.Context, out *lines, err error) error {
	if out == nil {
		return err
	}
	if closed := out.close(ctx); err == nil {
		err = closed
	}
	return err
}

// finish returns the error for the end of a run, or for output that was lost.
func (h *host) finish(ctx context.Context, o outcome, err error) error {
	switch {
	case err == nil:
		return cli.Ended(o.code)
	case isSignal(ctx):
		return cli.Ended(signalCode(ctx))
	}
	return &cli.ExitError{Code: cli.ExitInternal, Err: err}
}

// run takes in the events of a run. The error is that of a run that did not
// begin, or was not recorded to its end.
func (r *report) run(s *agent.Session, events iter.Seq2[event.Event, error]) error {
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		r.event(e)
	}
	if r.live && r.end.Reason == "" {
		soFar := event.RunEnd{}
		if res := s.Result(); res != nil {
			soFar = event.RunEnd{Text: res.Text, Partial: res.Partial, Turns: res.Turns, Usage: res.Usage, CostUSD: res.CostUSD, Models: res.Models,
				Denials: res.Denials, Tools: res.Tools, Duration: res.Duration, API: res.APIDuration, First: res.FirstDelta}
		}
		if failed == nil {
			failed = errors.New("the run ended without a word")
		}
		r.broken(failed, soFar)
	}
	return failed
}

// printResult writes the result as text or as the one object, and what people
// should know of it to stderr.
func (h *host) printResult(format string, line resultLine, end event.RunEnd) error {
	if format == formatJSON {
		data, err := encodeLine(line)
		if err != nil {
			return err
		}
		_, err = h.out.Write(data)
		return writing(err)
	}
	var err error
	if text := line.Result; text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err = io.WriteString(h.out, text)
	}
	for _, d := range end.Denials {
		h.complain("refused: %s: %s", d.Tool, d.Reason)
	}
	if line.IsError {
		h.complain("the run ended: %s", endText(end))
	}
	return writing(err)
}

func writing(err error) error {
	if err != nil {
		return fmt.Errorf("writing to stdout: %w", err)
	}
	return nil
}

func endText(end event.RunEnd) string {
	if end.Message == "" || end.Message == string(end.Reason) {
		return string(end.Reason)
	}
	return string(end.Reason) + ": " + end.Message
}

func isSignal(ctx context.Context) bool {
	var s *signalError
	return errors.As(context.Cause(ctx), &s)
}
