package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// answerOptions are the flags of sessions answer.
type answerOptions struct {
	allow       bool
	deny        string
	call, input string
	by          string
	expires     time.Duration
	replies     []string // to the questions of a tool, in order
}

func (o *answerOptions) flags() cli.Flags {
	return cli.Flags{
		{Name: "allow", Help: "let the call run", Set: cli.SetTrue(&o.allow)},
		{Name: "reply", Arg: "TEXT", Help: "answer a question of a tool: labels of options, with a comma between several, or your own words; once for each question", Set: cli.Append(&o.replies)},
		{Name: "deny", Arg: "REASON", Help: "refuse the call, with a reason for the model", Set: cli.Text(&o.deny)},
		{Name: "call", Arg: "ID", Help: "id of the call, if several are pending", Set: cli.Text(&o.call)},
		{Name: "input", Arg: "JSON", Help: "with --allow: replace the input of the call", Set: cli.Text(&o.input)},
		{Name: "by", Arg: "NAME", Help: "who decides, for the record", Set: cli.Text(&o.by)},
		{Name: "expires", Arg: "DURATION", Help: "with --allow: ask again if the call starts later than this", Set: cli.Duration(&o.expires)},
	}
}

func (o *answerOptions) check() error {
	switch {
	case o.allow && o.deny != "":
		return cli.Usagef("use --allow or --deny, not both")
	case len(o.replies) > 0 && (o.allow || o.deny != ""):
		return cli.Usagef("--reply answers a question of a tool; use it without --allow and --deny")
	case o.by != "" && !o.allow && o.deny == "":
		return cli.Usagef("--by works only with --allow or --deny; add one of them")
	case o.expires != 0 && !o.allow:
		return cli.Usagef("--expires works only with --allow; add it")
	case o.input != "" && !o.allow:
		return cli.Usagef("--input works only with --allow; add it")
	case o.input != "" && !json.Valid([]byte(o.input)):
		return cli.Usagef("--input is not JSON")
	}
	return nil
}

// answerSession shows the pending questions of a suspended run, or answers one.
func answerSession(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) (err error) {
	if err := o.answer.check(); err != nil {
		return err
	}
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	info, err := session.Stat(ctx, store, id)
	if err != nil {
		return sessionstore.NotFound(id, err)
	}
	if dir, err := settings.WorkingDir(); err != nil || cli.ResolveFolder(dir) != cli.ResolveFolder(info.Dir) {
		return cli.Usagef("session %s belongs to %s; run the command in that folder", id, h.OneLine(info.Dir))
	}
	b, err := app.LoadTools(ctx, h, new(app.ToolsOptions), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	a := &agent.Agent{Model: provider.DemoModel(), Dir: b.Project, AdditionalDirs: b.Options.Dirs, Tools: b.All, Permissions: app.Policy(h, b.Options),
		Sessions: store, Secrets: h.Secrets, Log: settings.Logger(h, b.Options)} // no model is called
	s := a.Session(id)
	defer func() { err = errors.Join(err, s.Close()) }()
	pending, err := s.Pending(ctx)
	switch {
	case errors.Is(err, session.ErrBusy):
		return cli.Usagef("session %s is in use by %s; answer there", id, cli.Holder(err))
	case errors.Is(err, agent.ErrNotRunning):
		return cli.Usagef("session %s has no pending call to answer", id)
	case err != nil:
		return cli.StartError(ctx, err)
	}
	if !o.answer.allow && o.answer.deny == "" && len(o.answer.replies) == 0 {
		return showPending(ctx, h, o, a, pending)
	}
	return answerCall(ctx, h, o, store, s, pending)
}

// showPending lists the pending questions.
func showPending(ctx context.Context, h *cli.IO, o *sessionsOptions, a *agent.Agent, pending []event.PermissionRequest) error {
	if o.answer.call != "" {
		return cli.Usagef("--call works only with --allow, --deny or --reply; add one of them")
	}
	g := &app.SessionRules{Agent: a, Roots: append([]string{a.Dir}, a.AdditionalDirs...)}
	if o.format == cli.FormatJSON {
		list := []waitingCall{}
		for _, p := range pending {
			list = append(list, waitingCall{p, g.Risks(ctx, p.Call)})
		}
		return h.WriteList(o.format, list, "", nil)
	}
	var b strings.Builder
	for _, p := range pending {
		agent := ""
		if p.Call.Agent != "" {
			agent = h.OneLine(p.Call.Agent) + ": "
		}
		if len(p.Questions) > 0 {
			fmt.Fprintf(&b, "%s: %s%s asks; answer with --reply\n%s\n", p.Call.ID, agent, h.OneLine(p.Call.Name), questionLines(h, p.Questions))
			continue
		}
		fmt.Fprintf(&b, "%s: %s%s\n%s\n", p.Call.ID, agent, h.Visible(p.Reason), preview.PlainText(preview.CallLines(h, "", p.Call, g.Risks(ctx, p.Call), p.Preview)))
	}
	return h.Show(b.String())
}

// questionLines shows the questions of a tool with their options.
func questionLines(h *cli.IO, questions []tool.Question) string {
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(q.Text))
		for _, o := range q.Options {
			line := h.OneLine(o.Label)
			if o.Description != "" {
				line += ": " + h.OneLine(o.Description)
			}
			fmt.Fprintf(&b, "  - %s\n", line)
		}
	}
	return b.String()
}

// answersTo returns the answers that replies give: labels of options, or words of their own.
func answersTo(questions []tool.Question, replies []string) []tool.Answer {
	var out []tool.Answer
	for i, reply := range replies {
		if i >= len(questions) {
			return append(out, tool.Answer{Text: reply}) // one too many, which is an error
		}
		q, labels := questions[i], []string{reply}
		if q.Multiple {
			labels = strings.Split(reply, ",")
		}
		a := tool.Answer{Text: reply}
		var chosen []string
		for _, l := range labels {
			if l = strings.TrimSpace(l); slices.ContainsFunc(q.Options, func(o tool.Option) bool { return o.Label == l }) {
				chosen = append(chosen, l)
			}
		}
		if len(chosen) == len(labels) {
			a = tool.Answer{Options: chosen}
		}
		out = append(out, a)
	}
	return out
}

// A waitingCall is a pending call with the risks that the user should check.
type waitingCall struct {
	event.PermissionRequest
	Risks []rules.Risk `json:"risks,omitempty"`
}

// answerCall records an answer.
func answerCall(ctx context.Context, h *cli.IO, o *sessionsOptions, store session.Store, s *agent.Session, pending []event.PermissionRequest) error {
	call := o.answer.call
	switch {
	case call == "" && len(pending) > 1:
		return cli.Usagef("%d calls are pending; choose one with --call: openagent sessions answer %s lists them", len(pending), s.ID)
	case call == "":
		call = pending[0].Call.ID
	case !slices.ContainsFunc(pending, func(p event.PermissionRequest) bool { return p.Call.ID == call }):
		return cli.Usagef("no call %q is pending; openagent sessions answer %s lists the pending calls", cli.Clip(call), s.ID)
	}
	i := slices.IndexFunc(pending, func(p event.PermissionRequest) bool { return p.Call.ID == call })
	questions, replies := pending[i].Questions, o.answer.replies
	switch {
	case len(questions) == 0 && len(replies) > 0:
		return cli.Usagef("call %s waits for a decision; use --allow or --deny", call)
	case len(questions) > 0 && len(replies) == 0:
		return cli.Usagef("the tool of call %s asks a question; answer it with --reply", call)
	case len(replies) > 0:
		if err := s.Answer(ctx, call, answersTo(questions, replies)); err != nil {
			return cli.Usagef("%w", err)
		}
		return reportAnswer(ctx, h, o, store, s, call, "answered", len(pending)-1)
	}
	d := permission.Deny(o.answer.deny)
	if o.answer.allow {
		d = permission.Allow()
		if o.answer.input != "" {
			d.Input = json.RawMessage(o.answer.input)
		}
	}
	d.Source, d.By = policies.FromPerson, o.answer.by
	if o.answer.expires > 0 {
		d.Expires = time.Now().UTC().Add(o.answer.expires)
	}
	if err := s.Decide(ctx, call, d); err != nil {
		return cli.Usagef("%w", err)
	}
	return reportAnswer(ctx, h, o, store, s, call, string(d.Behavior), len(pending)-1)
}

// reportAnswer says what was answered, and what comes next. A worker that has run the session continues it.
func reportAnswer(ctx context.Context, h *cli.IO, o *sessionsOptions, store session.Store, s *agent.Session, call, said string, left int) error {
	woken := false
	if left == 0 {
		var err error
		if woken, err = sessionstore.WakeWorker(ctx, store, s.ID); err != nil {
			return fmt.Errorf("the answer is kept, but no worker was told; openagent --resume %s continues the run: %w", s.ID, err)
		}
	}
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, struct {
			Call     string `json:"call"`
			Behavior string `json:"behavior"`
			Left     int    `json:"left"`
		}{call, said, left}, "", nil)
	}
	next := "openagent --resume " + s.ID + " continues the run"
	switch {
	case woken:
		next = "a worker continues the run"
	case left > 0:
		next = fmt.Sprintf("%d more to answer", left)
	}
	return h.Show(fmt.Sprintf("%s: %s; %s\n", call, said, next))
}
