package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A message of a user.
type message struct {
	ID       string     `json:"id,omitempty"` // your own; "": a new one
	Text     string     `json:"text,omitempty"`
	Blocks   llm.Blocks `json:"blocks,omitempty"`   // text, images and documents, after the text
	Delivery string     `json:"delivery,omitempty"` // "prompt" starts a run, "steer" and "follow_up" go to the one that runs; "": prompt
	Mode     string     `json:"mode,omitempty"`     // permission mode of the prompt, no wider than the session's
	Model    string     `json:"model,omitempty"`    // of the prompt
	USD      float64    `json:"budget_usd,omitempty"`
}

// A creation is a prompt in a new session.
type creation struct {
	Session string `json:"session,omitempty"` // the id of the new session; "": a new one
	Dir     string `json:"dir,omitempty"`     // the working folder; "": the server's
	Title   string `json:"title,omitempty"`
	message
}

// accepted says that a message is on record.
type accepted struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	Known   bool   `json:"known,omitempty"` // the session has had it before
	State   string `json:"state,omitempty"` // waiting: it is kept, and no worker has taken it yet
}

// input returns a message as an input.
func (m message) input() (agent.Input, error) {
	in := agent.Input{ID: m.ID, Text: m.Text, Blocks: m.Blocks, Model: m.Model, Mode: permission.Mode(m.Mode), Budget: agent.Budget{USD: m.USD}}
	if in.ID == "" {
		in.ID = session.NewID()
	}
	if m.Mode != "" {
		if err := checkMode(m.Mode); err != nil {
			return in, err
		}
	}
	for _, b := range m.Blocks {
		switch b.(type) {
		case llm.Text, llm.Image, llm.Document:
		default:
			return in, bad("blocks may be text, images and documents")
		}
	}
	return in, nil
}

// checkMode returns an error for a permission mode that cannot be set over HTTP.
func checkMode(name string) error {
	mode, err := permission.ParseMode(name)
	switch {
	case mode == permission.Bypass:
		return &Error{http.StatusForbidden, "not_over_http", "this mode cannot be set over HTTP", "start the program with it, if you must"}
	case err != nil || name == "":
		return bad("there is no permission mode %q", text.Runes(name, 40))
	}
	return nil
}

func createSession(s *Server, c *call) (any, error) {
	var in creation
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.Delivery != "" && in.Delivery != "prompt" {
		return nil, bad("a session begins with a prompt")
	}
	if in.Session == "" {
		in.Session = session.NewID()
	} else if err := session.CheckID(in.Session); err != nil {
		return nil, err
	}
	if err := checkNames(&in.Title, nil); err != nil {
		return nil, err
	}
	input, err := in.input()
	if err != nil {
		return nil, err
	}
	l := s.live(place{c.user, in.Session})
	defer l.leave()
	switch _, err := session.Stat(c.ctx(), l.store, in.Session); {
	case err == nil:
		if err := l.beganWith(c.ctx(), in.ID); err != nil {
			return nil, err
		}
	case !errors.Is(err, session.ErrNotFound):
		return nil, err
	}
	out := accepted{Session: in.Session, ID: input.ID}
	err = each(func() (err error) {
		out.Known, err = l.prompt(c.ctx(), in.Dir, input)
		return err
	}, func() error {
		s.log().Info("session begun", "session", in.Session, "message", input.ID, "by", c.by)
		if in.Title == "" || out.Known {
			return nil
		}
		return l.name(c.ctx(), &in.Title, nil)
	})
	return out, c.waits(err, &out.State)
}

// beganWith returns an error if the session began with another message. Notes of the agent may come before it.
func (l *live) beganWith(ctx context.Context, id string) error {
	for e, err := range l.store.Read(ctx, l.at.id, 0) {
		if err != nil {
			return err
		}
		if d, ok := e.Data.(event.UserMessage); ok && d.Delivery == fact.AsPrompt {
			if d.ID == id {
				return nil
			}
			return session.ErrExists
		}
	}
	return nil
}

func sendMessage(s *Server, c *call) (any, error) {
	var in message
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.send(c, in)
}

// send passes a message to the session of a call.
func (s *Server) send(c *call, in message) (any, error) {
	input, err := in.input()
	if err != nil {
		return nil, err
	}
	l := s.live(c.place())
	defer l.leave()
	if _, err := l.stat(c.ctx()); err != nil && !errors.Is(err, errFirst) && l.hosted.get() == nil {
		return nil, err
	}
	out := accepted{Session: l.at.id, ID: input.ID}
	open, _ := l.running()
	switch in.Delivery {
	case "", "prompt":
		out.Known, err = l.prompt(c.ctx(), "", input)
	case "steer", "follow_up":
		if s.Workers != nil {
			err = l.steerWorker(c.ctx(), in.Delivery, input)
			break
		}
		if open == nil {
			return nil, l.notRunning(c.ctx())
		}
		send := open.Steer
		if in.Delivery == "follow_up" {
			send = open.FollowUp
		}
		out.ID, err = send(c.ctx(), agent.Input{ID: input.ID, Text: input.Text, Blocks: input.Blocks})
	default:
		return nil, bad("delivery must be prompt, steer or follow_up")
	}
	if err := c.waits(err, &out.State); err != nil {
		return nil, err
	}
	s.log().Info("message accepted", "session", l.at.id, "message", out.ID, "delivery", in.Delivery, "by", c.by)
	return out, nil
}

// notRunning says why a run cannot be controlled: it is another program's, or there is none.
func (l *live) notRunning(ctx context.Context) error {
	info, err := session.Stat(ctx, l.store, l.at.id)
	if err == nil && info.State == session.StateRunning {
		return session.ErrBusy
	}
	if errors.Is(err, session.ErrNotFound) {
		return err
	}
	return agent.ErrNotRunning
}

// interrupted says what an interrupt ended.
type interrupted struct {
	Cleared []string `json:"cleared"` // ids of messages that the model will not see
	Agents  []string `json:"agents"`  // ids of sub-agents that are being stopped
}

func interrupt(s *Server, c *call) (any, error) {
	l := s.live(c.place())
	defer l.leave()
	if s.Workers != nil {
		if err := l.interruptWorker(c.ctx()); err != nil {
			return nil, err
		}
		s.log().Info("run interrupted", "session", l.at.id, "by", c.by)
		return interrupted{[]string{}, []string{}}, nil
	}
	open := l.hosted.get()
	if open == nil {
		return nil, l.notRunning(c.ctx())
	}
	receipt, err := open.Interrupt(c.ctx())
	if err != nil {
		return nil, err
	}
	s.log().Info("run interrupted", "session", l.at.id, "by", c.by)
	return interrupted{append([]string{}, receipt.Cleared...), append([]string{}, receipt.Agents...)}, nil
}

func resume(s *Server, c *call) (any, error) {
	l := s.live(c.place())
	defer l.leave()
	if _, err := session.Stat(c.ctx(), l.store, l.at.id); err != nil {
		return nil, err
	}
	if err := l.resume(c.ctx(), ""); err != nil {
		return nil, err
	}
	return done{OK: true}, nil
}

// A compaction says what matters in the summary.
type compaction struct {
	Instructions string `json:"instructions,omitempty"`
}

func compact(s *Server, c *call) (any, error) {
	var in compaction
	if err := c.read(&in); err != nil {
		return nil, err
	}
	l := s.live(c.place())
	defer l.leave()
	if open, run := l.running(); open != nil && run != "" {
		if err := open.Compact(c.ctx(), in.Instructions); err != nil {
			return nil, err
		}
		return done{OK: true}, nil
	}
	if _, err := session.Stat(c.ctx(), l.store, l.at.id); err != nil {
		return nil, err
	}
	if s.Workers != nil {
		return done{OK: true}, l.command(c.ctx(), durable.Compact{Instructions: in.Instructions})
	}
	if _, err := l.begin(c.ctx(), session.NewID(), "", func(ctx context.Context, open *agent.Session) error {
		return open.Compact(ctx, in.Instructions)
	}); err != nil {
		return nil, err
	}
	return done{OK: true}, nil
}
