package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/elicitform"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/tool"
)

// maxRounds is the number of times a person may fill in a form, corrections included.
const maxRounds = 3

// A callHost is the [toolhost.RunServices] of a call.
type callHost struct {
	x    *runSetup
	call tool.Call
	line *driver.Context

	mu       sync.Mutex
	over     bool
	sampled  int                  // number of requests to the model
	cancels  []context.CancelFunc // cancel those requests
	sampling sync.WaitGroup
}

// Elicit asks a person the question of a server. It calls hooks before and after.
func (h *callHost) Elicit(ctx context.Context, e toolhost.Elicitation) toolhost.Elicited {
	x := h.x
	e.Message = x.Plain(e.Message)
	about := hook.Input{Event: hook.Elicitation, Session: h.call.Session, Transcript: x.Transcript, Dir: h.call.Dir, Mode: h.call.Mode, Agent: h.call.Agent,
		Server: e.Server, Message: e.Message, Ask: "form", Schema: e.Schema, Call: h.call.ID}
	if e.URL != "" {
		about.Ask, about.URL, about.Elicitation = "url", e.URL, e.ID
	}
	answer, decided := toolhost.Elicited{Action: toolhost.Declined}, false
	if x.Hooks.Has(hook.Elicitation, e.Server) {
		answer, decided = h.hooked(ctx, about, answer)
	}
	if !decided {
		answer = h.askPerson(ctx, e)
	}
	if x.Hooks.Has(hook.ElicitationResult, e.Server) && ctx.Err() == nil {
		about.Event, about.Action, about.Content = hook.ElicitationResult, string(answer.Action), answer.Content
		if changed, ok := h.hooked(ctx, about, answer); ok {
			answer = changed
		}
	}
	if ctx.Err() != nil {
		return toolhost.Elicited{Action: toolhost.Dismissed}
	}
	return answer
}

// hooked calls hooks. They may answer instead of the person. If they block or stop, the
// question is declined.
func (h *callHost) hooked(ctx context.Context, in hook.Input, was toolhost.Elicited) (answer toolhost.Elicited, decided bool) {
	out := h.x.CallHooks(ctx, in, h.line)
	if out.Block || out.Stop {
		return toolhost.Elicited{Action: toolhost.Declined}, true
	}
	if out.Action == "" {
		return was, false
	}
	answer = toolhost.Elicited{Action: toolhost.Action(out.Action), Content: out.Content}
	if answer.Action == toolhost.Accepted && answer.Content == nil {
		answer.Content = was.Content
	}
	return answer, true
}

// askPerson asks with the AskUser callback. Without a callback the question is declined.
func (h *callHost) askPerson(ctx context.Context, e toolhost.Elicitation) toolhost.Elicited {
	declined := toolhost.Elicited{Action: toolhost.Declined}
	if h.x.agent.AskUser == nil {
		return declined
	}
	if size := len(e.Message) + len(e.URL) + len(e.Schema); size > elicitform.MaxSize {
		h.x.Log.Warn("a question of an MCP server is declined, because a person could not be shown all of it; the server has to ask for less at once", "server", e.Server, "bytes", size, "most", elicitform.MaxSize)
		return declined
	}
	fields, err := elicitform.Parse(e.Schema)
	if e.URL != "" {
		fields, err = nil, nil
	}
	if err != nil {
		h.x.Log.Warn("a question of an MCP server is declined", "server", e.Server, "error", err)
		return declined
	}
	const yes, no = "Answer", "Decline"
	text := fmt.Sprintf("The MCP server %s asks: %s", elicitform.Line(e.Server), elicitform.Lines(e.Message))
	consent := tool.Question{Header: "MCP", Text: text, Options: []tool.Option{{Label: yes}, {Label: no}}}
	if e.URL != "" {
		consent.Text += " It wants you to open this page: " + elicitform.Line(e.URL)
		consent.Options[0].Description = "you open the page, or have opened it"
	}
	said, err := h.ask(ctx, []tool.Question{consent})
	switch {
	case err != nil || len(said) != 1 || len(said[0].Options)+len(said[0].Text) == 0:
		return toolhost.Elicited{Action: toolhost.Dismissed}
	case !slices.Equal(said[0].Options, []string{yes}):
		return declined
	case e.URL != "":
		return toolhost.Elicited{Action: toolhost.Accepted}
	}
	return h.fill(ctx, fields)
}

// fill asks for the fields of a form, and asks again for fields whose answers are invalid.
func (h *callHost) fill(ctx context.Context, fields []elicitform.Field) toolhost.Elicited {
	content := map[string]json.RawMessage{}
	open, problems := fields, make([]string, len(fields))
	for range maxRounds {
		if len(open) == 0 {
			break
		}
		var questions []tool.Question
		for i := range open {
			questions = append(questions, open[i].Question("MCP", problems[i]))
		}
		answers, err := h.ask(ctx, questions)
		if err != nil {
			return toolhost.Elicited{Action: toolhost.Dismissed}
		}
		var again []elicitform.Field
		problems = nil
		for i := range open {
			var a tool.Answer
			if i < len(answers) {
				a = answers[i]
			}
			v, problem := open[i].Value(a)
			if problem != "" {
				again, problems = append(again, open[i]), append(problems, problem)
			} else if v != nil {
				content[open[i].Name] = v
			}
		}
		open = again
	}
	if len(open) > 0 {
		return toolhost.Elicited{Action: toolhost.Dismissed}
	}
	data, err := json.Marshal(content)
	if err != nil { // a default that is not JSON; the decoder lets none through
		return toolhost.Elicited{Action: toolhost.Dismissed}
	}
	return toolhost.Elicited{Action: toolhost.Accepted, Content: data}
}

// ask asks the person. Only one question of a call is open at a time.
func (h *callHost) ask(ctx context.Context, questions []tool.Question) ([]tool.Answer, error) {
	turn := h.x.TurnToAsk()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	call := h.call
	h.line.Show(event.UserQuestion{Call: call, Questions: questions})
	j := &executor.Input{Call: call, Signals: h.line}
	notified := h.x.Notify(ctx, j, "question", fmt.Sprintf("%s asks: %s", call.Name, questions[0].Text))
	answers, err := safecall.Within(ctx, func() ([]tool.Answer, error) { return h.x.agent.AskUser(ctx, call, questions) })
	notified()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		h.x.Log.Info("a question of an MCP server is not answered", "error", h.x.Secrets.Text(err.Error()))
	}
	return answers, err
}
