package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

// trial runs one trial. Everything that goes wrong is its Error. The error says that the trial
// has no result.
func (r *run) trial(ctx context.Context, j job) (t Trial, err error) {
	t = Trial{Case: j.c.Name, Variant: j.v.Name, Repetition: j.repetition, Tags: j.c.Tags, Started: time.Now().UTC(), CostKnown: true}
	p := &Place{Case: j.c, Repetition: j.repetition, settings: r.settings, judge: r.e.Judge, account: r.account}
	failure := r.make(p)
	if failure == nil {
		failure = guarded("preparing the trial", func() error { return p.fill(ctx) })
	}
	if failure == nil {
		failure = r.agentRuns(ctx, p, j.v, &t)
	}
	if failure == nil {
		failure = grade(ctx, p, &t)
	}
	if closing := p.close(r.e.Keep); failure == nil {
		failure = closing
	}
	if r.e.Keep {
		t.Workspace = p.Dir
	}
	switch {
	case failure == nil:
	case errors.Is(failure, errExhausted):
		return t, failure
	case ctx.Err() != nil:
		return t, context.Cause(ctx)
	}
	if failure != nil {
		t.Error, t.Grades = text.Bytes(failure.Error(), maxDetail), nil
	}
	t.Passed = failure == nil
	for _, g := range t.Grades {
		t.Passed = t.Passed && g.Passed
	}
	hideSecrets(&t)
	return t, nil
}

// hideSecrets replaces secrets of the environment in the texts of a trial, which results keep. The
// graders have seen the texts as they were.
func hideSecrets(t *Trial) {
	hide := redact.New(environ.Secrets())
	t.Answer, t.Error = hide.Text(t.Answer), hide.Text(t.Error)
	for i := range t.Grades {
		t.Grades[i].Detail = hide.Text(t.Grades[i].Detail)
	}
}

// make makes the folder of a trial.
func (r *run) make(p *Place) error {
	r.mu.Lock()
	r.number++
	n := r.number
	r.mu.Unlock()
	p.base = filepath.Join(r.work, strconv.Itoa(n))
	p.Dir = filepath.Join(p.base, p.Case.Name)
	return os.MkdirAll(p.Dir, 0o700)
}

// agentRuns opens the agent and sends it the prompts.
func (r *run) agentRuns(ctx context.Context, p *Place, v *Variant, t *Trial) error {
	var a *agent.Agent
	err := guarded("opening the agent", func() (err error) {
		if p.Case.Model != nil {
			if p.Model, err = p.Case.Model(); err != nil {
				return err
			}
		}
		a, err = v.Open(ctx, p)
		if err == nil && a == nil {
			err = errors.New("there is none")
		}
		return err
	})
	if err != nil {
		return err
	}
	r.adjust(a, p)
	return guarded("running the agent", func() (err error) {
		s := a.Session("")
		defer func() { err = errors.Join(err, s.Close()) }()
		if r.sessions != nil {
			t.Session = s.ID
		}
		return prompts(ctx, p, s, t)
	})
}

// adjust gives an agent the limits of the case and of the evaluation.
func (r *run) adjust(a *agent.Agent, p *Place) {
	if mode := p.Case.Permissions.Mode; mode != "" {
		a.Permissions.Mode = mode
	}
	a.Permissions.Allow = append(a.Permissions.Allow[:len(a.Permissions.Allow):len(a.Permissions.Allow)], p.Case.Permissions.Allow...)
	a.Permissions.Ask = append(a.Permissions.Ask[:len(a.Permissions.Ask):len(a.Permissions.Ask)], p.Case.Permissions.Ask...)
	a.Permissions.Deny = append(a.Permissions.Deny[:len(a.Permissions.Deny):len(a.Permissions.Deny)], p.Case.Permissions.Deny...)
	a.AwaitAgents = true
	if a.Sessions == nil {
		a.Sessions = r.sessions
	}
	if r.account != nil {
		if a.Quota != nil {
			a.Quota = both{a.Quota, r.account}
		} else {
			a.Quota = r.account
		}
	}
}

// both counts calls in two quotas.
type both struct{ inner, outer agent.Quota }

// Meter implements [agent.Quota].
func (q both) Meter(m llm.Model) llm.Model { return q.outer.Meter(q.inner.Meter(m)) }

// prompts sends the prompts and notes what they do. A limit ends them; graders see what is there.
func prompts(ctx context.Context, p *Place, s *agent.Session, t *Trial) error {
	begun := time.Now()
	defer func() { t.Duration = time.Since(begun) }()
	limit := p.Case.Budget
	for _, prompt := range p.Case.Prompts {
		in := agent.Input{Text: prompt, Budget: left(limit, t, time.Since(begun))}
		t.Prompts++
		var failure error
		for e, err := range s.StreamInput(ctx, in) {
			if err != nil {
				failure = err
				break
			}
			note(e, s.ID, p, t)
		}
		p.agentUSD = t.CostUSD
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case exhausted(failure, p.account):
			return errExhausted
		case errors.Is(failure, agent.ErrLimit), errors.Is(failure, agent.ErrRefused), errors.Is(failure, agent.ErrStopped):
			return nil
		case failure != nil:
			return failure
		}
		if spent(limit, t, time.Since(begun)) && t.Prompts < len(p.Case.Prompts) {
			t.End = cmp.Or(t.End, string(event.MaxBudget))
			return nil
		}
	}
	return nil
}

// left returns what is left of the limits of a trial for its next prompt.
func left(b agent.Budget, t *Trial, used time.Duration) agent.Budget {
	if b.Turns > 0 {
		b.Turns = max(b.Turns-t.Turns, 1)
	}
	if b.USD > 0 {
		b.USD = max(b.USD-t.CostUSD, 1e-9)
	}
	if b.Time > 0 {
		b.Time = max(b.Time-used, time.Millisecond)
	}
	return b
}

// spent reports whether a limit of a trial leaves nothing for another prompt.
func spent(b agent.Budget, t *Trial, used time.Duration) bool {
	return b.Turns > 0 && t.Turns >= b.Turns || b.USD > 0 && t.CostUSD >= b.USD || b.Time > 0 && used >= b.Time
}

// note keeps what an event says about the trial.
func note(e event.Event, session string, p *Place, t *Trial) {
	if _, fact := e.Data.(event.Fact); !fact || e.Session != session {
		return
	}
	p.Events = append(p.Events, e)
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		for _, b := range d.Response.Message.Content {
			if use, ok := b.(llm.ToolUse); ok {
				t.ToolCalls++
				t.Tools = append(t.Tools, use.Name)
			}
		}
	case event.RunEnd:
		t.Answer, t.End = d.Text, string(d.Reason)
		t.Turns += d.Turns
		t.Usage = t.Usage.Add(d.Usage)
		if d.CostUSD == nil {
			t.CostKnown = false
		} else {
			t.CostUSD += *d.CostUSD
		}
	}
}

// grade lets the graders look at the trial.
func grade(ctx context.Context, p *Place, t *Trial) error {
	for _, g := range p.Case.Graders {
		name, kind := g.Name, cmp.Or(g.Kind, "go")
		name = cmp.Or(name, kind)
		limit := cmp.Or(g.Timeout, commandTime)
		limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took more than %v", limit))
		var got Grade
		err := guarded("grader "+strconv.Quote(name), func() (err error) {
			got, err = g.Grade(limited, p, t)
			return err
		})
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if !(got.Score >= 0 && got.Score <= 1) { // also no number
			return fmt.Errorf("grader %q: its score is %v, not from 0 to 1", name, got.Score)
		}
		got.Grader, got.Kind = name, kind
		if got.Passed && got.Score == 0 {
			got.Score = 1
		}
		t.Grades = append(t.Grades, got)
	}
	return nil
}
