package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/session"
)

// queueReviews notes sessions that end for a review, if the settings ask for reviews.
func (s *App) queueReviews(sessions session.Store) {
	if s.Memory == nil || sessions == nil || !s.Options.Reviews() {
		return
	}
	s.Agent.Hooks = append(slices.Clip(s.Agent.Hooks), (&memory.Reviewer{Memory: s.Memory}).Hook())
}

// Reviewer returns what reviews sessions of a store, for the memory and for skills. The small model
// makes the reviews.
func (s *App) Reviewer(h *cli.IO, stores *memory.Memory, sessions session.Store, limit agent.Budget) (*memory.Reviewer, error) {
	skills, err := s.Proposer(h)
	if err != nil {
		return nil, err
	}
	model := s.Agent.SmallModel
	if model == nil {
		model = s.Agent.Model
	}
	return &memory.Reviewer{Memory: stores, Model: model, Sessions: sessions, Budget: limit, Quota: s.Agent.Quota, Skills: skills,
		Skip: func(id string) bool { return s.Session != nil && s.Session.ID == id }}, nil
}

// StartReviews reviews the sessions that have ended, in the background. report gets a line for each
// outcome. The returned function ends that and waits for it.
func (s *App) StartReviews(ctx context.Context, h *cli.IO, report func(string)) (stop func()) {
	if s.Memory == nil || s.Store == nil || !s.Options.Reviews() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err := s.Reviewer(h, s.Memory, s.Store, agent.Budget{})
		if err == nil {
			err = r.ReviewQueued(ctx, func(r *memory.Review, err error) {
				if text := ReviewText(r, err); ctx.Err() == nil && text != "" {
					report(text)
				}
			})
		}
		if err != nil && ctx.Err() == nil {
			report("memory: reviewing sessions: " + err.Error())
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ReviewText says in a line what came of a review, and what it cost; "": nothing happened.
func ReviewText(r *memory.Review, err error) string {
	switch {
	case err != nil:
		return "memory: " + err.Error()
	case r == nil || r.Known:
		return ""
	}
	waiting := 0
	for _, p := range r.Proposals {
		if p.Refused == "" && p.State == memory.Candidate {
			waiting++
		}
	}
	text := fmt.Sprintf("memory: reviewed session %s, %s", r.Session, CostText(r.CostUSD))
	if waiting > 0 {
		text += fmt.Sprintf(": %s for your decision, see openagent memory pending", cli.Plural(waiting, "proposal"))
	}
	skills := 0
	for _, p := range r.Skills {
		if p.Refused == "" {
			skills++
		}
	}
	if skills > 0 {
		text += fmt.Sprintf("; %s about skills, see openagent skills pending", cli.Plural(skills, "proposal"))
	}
	return text
}

// OpenToReview builds the agent of a folder for reviews of sessions, and opens their store.
func OpenToReview(ctx context.Context, h *cli.IO, o *settings.Options, dir string) (_ *App, err error) {
	s, err := configured(ctx, h, o, dir, false)
	if err != nil {
		return nil, err
	}
	defer s.CloseOnError(&err)
	if s.Store, err = sessionstore.Open(ctx, h, s.Options.Place(), dir); err != nil {
		return nil, err
	}
	without := []coding.Part{coding.Hooks, coding.Servers, coding.Agents, coding.Tools, coding.Plugins, coding.Instructions, coding.Checkpoints, coding.Team}
	return s, s.build(ctx, h, Build{Without: without, Sessions: s.Store, Quiet: true})
}

const memoryQuestion = `openagent can keep what its agents learn, for later sessions: preferences, decisions, conventions, pitfalls and procedures.
They are notes in .openagent/memory of a project and in your own folder. None counts before you accept it: openagent memory pending.
`

const reviewQuestion = `The small model can also read sessions that have ended, and propose notes and changes of skills. That costs tokens, for each session about as many as it is long.
`

// offerMemory asks the person once whether to keep a memory, in a folder that has sessions. The answer
// goes to the user's settings.
func (s *App) offerMemory(ctx context.Context, h *cli.IO, sessions session.Store, dir string) error {
	o := s.Options
	if _, later := h.Distrusted.LoadOrStore([...]string{"memory", "", ""}, true); later { // not in the middle of a conversation
		return nil
	}
	if sessions == nil || !h.InTerminal || !h.OutTerminal || h.Getenv("CI") != "" || o.Settings == nil ||
		o.Layers != nil && !slices.Contains(o.Layers, string(config.User)) {
		return nil
	}
	if v := o.Setting(settings.MemoryKey); v.Value != nil {
		return nil
	}
	f, ok := settings.ConfigOptions(h, o, dir).File(config.User)
	if _, err := session.Latest(ctx, sessions); err != nil || !ok {
		return nil
	}
	answers := map[string]bool{}
	for _, q := range []struct{ text, confirm, key string }{
		{memoryQuestion, "Keep a memory? [y/N] ", settings.MemoryKey},
		{reviewQuestion, "Review sessions that have ended? [y/N] ", settings.ReviewKey},
	} {
		if _, err := fmt.Fprint(h.Err, q.text); err != nil {
			return err
		}
		yes, err := settings.Confirm(ctx, h, q.confirm)
		if err != nil {
			return err
		}
		if answers[q.key] = yes; !yes {
			break
		}
	}
	for _, key := range []string{settings.MemoryKey, settings.ReviewKey} {
		yes, asked := answers[key]
		if !asked {
			continue
		}
		if _, err := config.Set(ctx, f, key, settings.EncodeValue(yes)); err != nil {
			h.Warn("the answer is not kept, so you will be asked again: %v", err)
			return nil
		}
	}
	fmt.Fprintf(h.Err, "This is kept in %s. You change it with openagent config set %s.\n", h.Visible(f.Path), settings.MemoryKey)
	var err error
	s.Options, err = settings.Configure(ctx, h, o, dir, false)
	return err
}
