package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/llm"
)

// ContextUsage says how much of the model's context each category takes. All numbers are
// tokens. Its JSON has more: the number of texts in each category, the heaviest tools and the
// tools that are not sent until they are found.
type ContextUsage struct {
	Window int // of the model; 0: unknown
	Tokens int // of the next request
	Free   int // the rest of the window, without the room for the answer
	// Counted says who counted Tokens: "provider", "usage" for the count of the last answer
	// with an estimate of everything after it, or "estimate".
	Counted string
	// Categories are the parts of Tokens: system, tools, mcp, skills, agents, instructions,
	// files, results, thinking and messages.
	Categories map[string]int

	all engine.ContextUsage
}

// MarshalJSON returns everything that is known of the context.
func (u ContextUsage) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // that is for the encoder that calls it
	err := e.Encode(u.all)
	return b.Bytes(), err
}

func contextUsage(all engine.ContextUsage) ContextUsage {
	u := ContextUsage{Window: all.Window, Tokens: all.Tokens, Free: all.Free, Counted: string(all.Counted), all: all}
	for _, c := range all.Categories {
		if u.Categories == nil {
			u.Categories = make(map[string]int)
		}
		u.Categories[c.Name] = c.Tokens
	}
	return u
}

// ContextUsage returns the size of the next request by category. You may call it during a
// run. If the model is an [llm.Counter], it counts the tokens. Otherwise, or if counting
// fails, the result is the provider's count of the last request and an estimate of later
// content. The result is empty for a session without a prompt.
func (s *Session) ContextUsage(ctx context.Context) (ContextUsage, error) {
	var req *llm.Request
	var note func(string) bool
	var usage engine.ContextUsage
	weigh := func(f *conversation.Conversation, total, fixed int) {
		usage = f.State.ContextUsage(&f.Transcript, note, total, fixed)
		c := f.State.Config()
		n := len(f.Transcript.Messages)
		req = &llm.Request{System: f.Transcript.System, Tools: f.Transcript.Tools, Messages: f.Transcript.Messages[:n:n], Thinking: c.Thinking}
	}
	if err := s.look(ctx, func(f *conversation.Conversation) { weigh(f, 0, 0) }); err != nil {
		return ContextUsage{}, err
	}
	facts := s.store().Read(ctx, s.ID, 0)
	note = engine.IsNote(func(yield func(event.Event) bool) {
		for e, err := range facts {
			if err != nil || !yield(e) {
				return
			}
		}
	})
	total, fixed := s.count(ctx, usage.Model, req)
	err := s.look(ctx, func(f *conversation.Conversation) {
		if len(f.Transcript.Messages) != len(req.Messages) {
			total, fixed = 0, 0 // the run has continued: the counts are of an older request
		}
		weigh(f, total, fixed)
	})
	return contextUsage(usage), err
}

// count returns the tokens of a request, and those of its tools and system prompt alone. It
// returns 0 if the model cannot count them.
func (s *Session) count(ctx context.Context, model string, req *llm.Request) (total, fixed int) {
	m := s.agent.Load().Model
	counter, ok := m.(llm.Counter)
	if !ok || m.Name() != model || len(req.Messages) == 0 {
		return 0, 0
	}
	total, err := counter.CountTokens(ctx, req)
	if err != nil {
		s.agent.Load().logger().Debug("asking the provider to count tokens", "error", err)
		return 0, 0
	}
	alone := *req
	alone.Messages, alone.Memo = []llm.Message{llm.UserText("x")}, nil
	if fixed, err = counter.CountTokens(ctx, &alone); err != nil {
		return total, 0
	}
	return total, fixed
}

// look calls at with the state of the session, during a run or without one.
func (s *Session) look(ctx context.Context, at func(*conversation.Conversation)) error {
	err := s.withRun(ctx, func(l *activeRun) error {
		at(l.conv)
		return nil
	})
	if !errors.Is(err, ErrNotRunning) {
		return err
	}
	if err := s.lockIdle(ctx); err != nil { // a prompt has just begun
		return err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	at(&s.state.Conversation)
	return nil
}
