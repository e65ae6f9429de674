package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A question is a call that waits for a person.
type question struct {
	Call      string                  `json:"call"` // for decision or answers
	Kind      string                  `json:"kind"` // permission or question
	Agent     string                  `json:"agent,omitempty"`
	Tool      string                  `json:"tool"`
	Input     json.RawMessage         `json:"input,omitempty"`
	Text      string                  `json:"text"` // why it is asked
	Preview   string                  `json:"preview,omitempty"`
	Rules     []string                `json:"rules,omitempty"`     // that would allow it
	Widths    []permission.Suggestion `json:"widths,omitempty"`    // the same, and rules that allow less or more, the narrowest first
	Risks     []rules.Risk            `json:"risks,omitempty"`     // what a person should look at first
	Questions []tool.Question         `json:"questions,omitempty"` // of kind question
	Since     time.Time               `json:"since,omitzero"`
	Expires   time.Time               `json:"expires,omitzero"` // when the call is denied if nobody answers
}

// A questionList has the questions of a session, the oldest first.
type questionList struct {
	Questions []question `json:"questions"`
}

func pending(s *Server, c *call) (any, error) {
	l := s.live(c.place())
	defer l.leave()
	list, err := l.pending(c.ctx())
	return questionList{list}, err
}

// pending returns the open questions: those on record, with what the run says about them.
func (l *live) pending(ctx context.Context) ([]question, error) {
	waiting, err := session.Waiting(ctx, l.store, l.at.id)
	if errors.Is(err, session.ErrNotFound) && l.hosted.get() != nil {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	list := []question{}
	for _, w := range waiting {
		q := question{Call: w.Call, Kind: "permission", Agent: w.Agent, Tool: w.Tool, Input: w.Input, Text: w.Text, Since: w.Since, Expires: w.Expires}
		if len(w.Questions) > 0 {
			q.Kind, q.Questions = "question", w.Questions
		}
		list = append(list, q)
	}
	if l.server.Workers != nil {
		l.offer(list)
		return list, nil
	}
	if open, run := l.running(); open != nil && (run != "" || l.lent()) {
		asked, err := open.Pending(ctx)
		if err != nil && !errors.Is(err, agent.ErrNotRunning) {
			return nil, err
		}
		for _, p := range asked {
			i := slices.IndexFunc(list, func(q question) bool { return q.Call == p.Call.ID })
			if i < 0 || len(p.Questions) > 0 {
				continue
			}
			list[i].Preview, list[i].Input = p.Preview, p.Call.Input
			list[i].Risks = risks(ctx, open, p.Call)
			for _, rule := range p.Suggestions {
				list[i].Rules = append(list[i].Rules, fmt.Sprint(rule))
			}
			list[i].Widths = p.Widths
		}
	}
	return list, nil
}

// offer adds what a worker has shown of questions since this server watches the session.
func (l *live) offer(list []question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list {
		for _, e := range l.inflight.questions {
			p, ok := e.Data.(event.PermissionRequest)
			if !ok || p.Call.ID != list[i].Call {
				continue
			}
			list[i].Preview, list[i].Widths = p.Preview, p.Widths
			for _, rule := range p.Suggestions {
				list[i].Rules = append(list[i].Rules, fmt.Sprint(rule))
			}
		}
	}
}

// risks returns what a person should look at first in a call.
func risks(ctx context.Context, open *agent.Session, call tool.Call) []rules.Risk {
	a := open.Agent()
	pool, err := a.ResolveTools(ctx)
	i := slices.IndexFunc(pool, func(t tool.Tool) bool { return t.Spec().Name == call.Name })
	if err != nil || i < 0 {
		return nil
	}
	spec, class := pool[i].Spec(), toolrun.Classify(pool[i], call)
	return policies.Risks(permission.Request{Tool: call.Name, Aliases: spec.Aliases, Access: class.Access, ReadOnly: class.ReadOnly,
		NonDestructive: spec.NonDestructive, Dir: call.Dir, Roots: append([]string{a.Dir}, a.AdditionalDirs...)})
}

// A decision about a call.
type decision struct {
	Behavior string          `json:"behavior"` // allow or deny
	Reason   string          `json:"reason,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"` // replaces the call's; rules judge it again
	// Keep, with allow, is rules of one of the question's widths: they hold for the rest of the session.
	Keep []permission.Rule `json:"keep,omitempty"`
}

func decide(s *Server, c *call) (any, error) {
	var in decision
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.decide(c, in)
}

// decide settles a permission question.
func (s *Server) decide(c *call, in decision) (any, error) {
	d := permission.Decision{Behavior: permission.Behavior(in.Behavior), Reason: in.Reason, Input: in.Input, By: c.by}
	if d.Behavior != permission.Allowed && d.Behavior != permission.Denied {
		return nil, bad("behavior must be allow or deny")
	}
	what := in.Behavior
	if len(in.Keep) > 0 {
		if d.Behavior != permission.Allowed {
			return nil, bad("rules can be kept with allow only")
		}
		what += " and keep " + strings.ReplaceAll(joinRules(in.Keep), "\n", ", ")
	}
	if s.Workers != nil {
		return s.settleWorker(c, what, durable.Decide{Call: c.r.PathValue("call"), Decision: d, Keep: in.Keep})
	}
	return s.settle(c, what, func(ctx context.Context, open *agent.Session, call string) error {
		kept, err := suggested(ctx, open, call, in.Keep)
		if err != nil {
			return err
		}
		if err := open.Decide(ctx, call, d); err != nil || len(kept) == 0 {
			return err
		}
		return open.ChangePermissions(ctx, hook.Update{Type: hookconst.AddRules, Behavior: permission.Allowed, Rules: kept})
	})
}

// suggested returns the rules to keep. It fails if the question does not suggest them, or if the agent
// may not be given them.
func suggested(ctx context.Context, open *agent.Session, call string, keep []permission.Rule) ([]permission.Rule, error) {
	if len(keep) == 0 {
		return nil, nil
	}
	asked, err := open.Pending(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(asked, func(p event.PermissionRequest) bool { return p.Call.ID == call })
	if i < 0 {
		return nil, agent.ErrNoQuestion
	}
	rules, ok := policies.Offered(asked[i].Widths, keep)
	if !ok {
		return nil, bad("keep must be the rules of one of the question's widths")
	}
	permits := open.Agent().AllowRuleGrant
	for _, r := range rules {
		if permits == nil {
			break
		}
		if err := permits(r); err != nil {
			return nil, &Error{http.StatusForbidden, "rule_not_permitted", err.Error(), "allow the call once"}
		}
	}
	return rules, nil
}

// answers are the answers to the questions of a call, in their order.
type answers struct {
	Answers []tool.Answer `json:"answers"`
}

func answer(s *Server, c *call) (any, error) {
	var in answers
	if err := c.read(&in); err != nil {
		return nil, err
	}
	return s.answer(c, in)
}

// answer settles the questions of a tool.
func (s *Server) answer(c *call, in answers) (any, error) {
	if s.Workers != nil {
		return s.settleWorker(c, "answer", durable.Answer{Call: c.r.PathValue("call"), Answers: in.Answers})
	}
	return s.settle(c, "answer", func(ctx context.Context, open *agent.Session, call string) error {
		return open.Answer(ctx, call, in.Answers)
	})
}

// maxDecided is how many decided calls a session remembers, for those who are late.
const maxDecided = 1000

// settle answers a question. The first answer counts. Without a run it is recorded, and the run
// continues if no other question waits.
func (s *Server) settle(c *call, what string, do func(context.Context, *agent.Session, string) error) (any, error) {
	l, call := s.live(c.place()), c.r.PathValue("call")
	defer l.leave()
	open, err := l.use(c.ctx())
	if err != nil {
		return nil, err
	}
	if _, run := l.running(); run == "" && !l.lent() {
		if err := s.mayRun(c.user); err != nil { // an answer is on record once: its run would not continue
			return nil, err
		}
	}
	if err := do(c.ctx(), open, call); err != nil {
		l.mu.Lock()
		by, late := l.decided[call]
		l.mu.Unlock()
		if late && (errors.Is(err, agent.ErrNoQuestion) || errors.Is(err, agent.ErrNotRunning)) {
			return nil, &Error{http.StatusConflict, "answered", "this question was answered already: " + by, "the first answer counts"}
		}
		return nil, err
	}
	l.mu.Lock()
	if len(l.decided) >= maxDecided {
		clear(l.decided)
	}
	l.decided[call] = what + " by " + c.by
	l.mu.Unlock()
	s.log().Info("question answered", "session", l.at.id, "call", call, "answer", what, "by", c.by)
	if s.Answered != nil {
		s.Answered(call, what, c.by)
	}
	if _, run := l.running(); run == "" && !l.lent() {
		if err := l.resume(c.ctx(), ""); err != nil && !errors.Is(err, agent.ErrSuspended) && !errors.Is(err, agent.ErrNotResumable) {
			return nil, err
		}
	}
	return done{OK: true}, nil
}
