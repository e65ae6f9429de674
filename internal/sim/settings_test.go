package sim

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Settings that change while a session works: rules, model, thinking, fallbacks, tools, the
// callback, and approvals that end.

// added are the words at the beginning of targets that only rules of ChangeRules know.
var added = map[string]permission.Behavior{"ruledeny": permission.Denied, "ruleask": permission.Asked, "ruleallow": permission.Allowed}

// ChangeRules adds the rule for a word to a session, or takes it away.
type ChangeRules struct {
	Session int
	Word    string
	Remove  bool
}

func (o ChangeRules) run(w *world) {
	u := hook.Update{Type: "addRules", Behavior: added[o.Word]}
	if u.Behavior == "" {
		return
	}
	if o.Remove {
		u.Type = "removeRules"
	}
	for _, name := range w.toolNames(w.life.agent) {
		u.Rules = append(u.Rules, permission.Rule(name+"("+o.Word+"-*)"))
	}
	w.note("rules changed", w.session(o.Session).open.ChangePermissions(w.life.ctx, u))
}

// A ruling says whether a rule was added to a session, and since when.
type ruling struct {
	on    bool
	since time.Duration
}

// foldRules takes in a change of rules.
func (j *journal) foldRules(d event.PermissionsChanged, now time.Duration) {
	for _, u := range d.Updates {
		for word, b := range added {
			if b == u.Behavior {
				j.rules[word] = ruling{u.Type == "addRules", now}
			}
		}
	}
}

// ruled reports whether the session of a call, or one that it works for, has had the rule for
// the word of the call at a time, and whether that is sure: it was long so. The ledger's mutex is
// held.
func (w *world) ruled(p, word string, at time.Duration) (on, sure bool) {
	sure = true
	for ; p != "."; p = path.Dir(p) {
		j := w.facts.of[p]
		if j == nil {
			continue
		}
		r, known := j.rules[word]
		if known && r.since > at-late {
			sure = false
		}
		on = on || r.on
	}
	return on, sure
}

// rulingFor returns what added rules say of a call when it was judged, NoOpinion if none does,
// and whether that is sure.
func (w *world) rulingFor(r ran) (b permission.Behavior, sure bool) {
	word, _, _ := strings.Cut(r.in.Target, "-")
	if added[word] == "" {
		return permission.NoOpinion, true
	}
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if !w.isJournal(p, r) {
			continue
		}
		at, known := j.judged[r.call]
		if added[word] == permission.Denied {
			at, known = r.at, true // it is judged again before it runs
		}
		on, sure := w.ruled(p, word, at)
		if on {
			b = added[word]
		}
		return b, sure && known
	}
	return permission.NoOpinion, false
}

// checkModel checks that the model that is called is the one that the facts name.
func (j *journal) checkModel(e event.Event, wrong func(invariant, format string, args ...any)) {
	switch d := e.Data.(type) {
	case fact.Configured:
		j.model, j.fallbacks, j.failed = d.Model, d.Fallbacks, false
	case event.ModelChanged:
		j.model, j.failed = d.Model, false
	case fact.FallbacksChanged:
		j.fallbacks = d.Fallbacks
	case event.ModelFailed:
		j.failed = true
	case fact.ModelStart:
		if d.Model != j.model && !j.ofSkills[d.Model] && !(j.failed && slices.Contains(j.fallbacks, d.Model)) {
			wrong("settings", "fact %d starts model %s, the session has %s and falls back to %q", e.Seq, d.Model, j.model, j.fallbacks)
		}
	}
}

// SetModel changes the model of a session: to the first, the second or the third.
type SetModel struct{ Session, Model int }

func (o SetModel) run(w *world) {
	w.note("model changed", w.session(o.Session).open.SetModel(w.life.ctx, w.models(w.life)[o.Model%3]))
}

// SetFallback changes the models that are tried if a session's model stays unavailable.
type SetFallback struct {
	Session int
	None    bool
}

func (o SetFallback) run(w *world) {
	var models []llm.Model
	if !o.None {
		models = w.models(w.life)[1:]
	}
	w.note("fallbacks changed", w.session(o.Session).open.SetFallback(w.life.ctx, models...))
}

// SetThinking changes how much the model of a session thinks.
type SetThinking struct{ Session, Budget int }

func (o SetThinking) run(w *world) {
	w.note("thinking changed", w.session(o.Session).open.SetThinking(w.life.ctx, llm.Thought{Budget: o.Budget}))
}

// models returns the models that sessions of a life can have. The last two are the same model of
// the provider.
func (w *world) models(l *life) []llm.Model {
	m := w.newModel(l)
	return []llm.Model{m, llm.Named(m, "second"), llm.Named(m, "third")}
}

func settings(w *world, l *life, a *agent.Agent) {
	a.Fallbacks = w.models(l)[1:]
	a.Models = func(name string) (llm.Model, error) {
		for _, m := range w.models(l) {
			if m.Name() == name {
				return m, nil
			}
		}
		return nil, errors.New("there is no such model")
	}
}

// A paced model waits before each request for a time that depends on the session: two
// sessions may try the same again in one instant.
type paced struct {
	llm.Model
	w *world
}

func (m paced) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	time.Sleep(m.w.pause(time.Millisecond, "session", r.Session))
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range m.Model.Stream(ctx, r) {
			if err != nil && ctx.Err() != nil {
				_ = m.w.cancelled(ctx, "model", r.Session)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

func (m paced) Info() llm.Info { return llm.InfoOf(m.Model) }

func (m paced) Secrets() []string {
	return m.Model.(interface{ Secrets() []string }).Secrets()
}

// SetTools takes a tool away from a session, or gives it all.
type SetTools struct {
	Session int
	Without string
}

func (o SetTools) run(w *world) {
	h := w.session(o.Session)
	var some []tool.Tool
	for _, t := range w.life.agent.Tools {
		if t.Spec().Name != o.Without {
			some = append(some, t)
		}
	}
	err := h.open.SetTools(w.life.ctx, some)
	w.note("tools changed", err)
	if err == nil {
		h.own = ownTools{without: o.Without, since: time.Since(w.began)}
		w.showTools()
	}
}

// ReplaceTool gives a session another tool of the same name.
type ReplaceTool struct {
	Session int
	Tool    string
}

func (o ReplaceTool) run(w *world) {
	h := w.session(o.Session)
	for _, c := range classes() {
		if c.spec.Name != o.Tool || h.own.without == o.Tool {
			continue
		}
		c.replaces = true
		err := h.open.ReplaceTool(w.life.ctx, w.newTool(w.life, c))
		w.note("tool replaced", err)
		if err == nil {
			h.own.replaced, h.own.since = o.Tool, time.Since(w.began)
			w.showTools()
		}
	}
}

// ownTools are the tools of a session that are not those of its agent.
type ownTools struct {
	without, replaced string
	since             time.Duration
}

// checkTool checks that a call runs with the tool that its session has.
func (w *world) checkTool(r ran) {
	w.mu.Lock()
	own, open := w.tools[r.session]
	w.mu.Unlock()
	switch {
	case !open || w.elsewhere.Load() || r.at < own.since+late:
	case own.without == r.tool.Name:
		w.wrong("settings", "%s/%s ran %s, which its session no longer has", r.session, r.call, r.tool.Name)
	case own.replaced == r.tool.Name && !r.replaces:
		w.wrong("settings", "%s/%s ran the %s that was replaced", r.session, r.call, r.tool.Name)
	}
}

// showTools tells the tools, which run in goroutines of their own, which sessions are open with which
// tools.
func (w *world) showTools() {
	tools := map[string]ownTools{}
	for _, h := range w.handles {
		if h.open != nil {
			tools[h.id] = h.own
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools = tools
}

// SetCanUseTool takes the person away who decides about calls of a session, or brings them back.
type SetCanUseTool struct {
	Session int
	None    bool
}

func (o SetCanUseTool) run(w *world) {
	fn := w.canUseTool(w.life)
	if o.None {
		fn = nil
	}
	w.note("callback changed", w.session(o.Session).open.SetCanUseTool(w.life.ctx, fn))
}

// expiring returns a decision that ends soon, for some calls.
func (w *world) expiring(d permission.Decision, key string) permission.Decision {
	if !w.has("expiry") {
		return d
	}
	switch w.number("expiry", key, d.Behavior) % 3 {
	case 0:
		d.Expires = time.Now().Add(w.pause(20*time.Millisecond, "expiry", key))
	case 1:
		d.Expires = time.Now().Add(w.pause(300*time.Millisecond, "expiry", key))
	}
	if !d.Expires.IsZero() {
		w.meet("approval expires")
	}
	return d
}

// checkExpiry checks that a call with an approval that has ended does not run. A background agent may
// continue.
func (w *world) checkExpiry(r ran, until time.Time) {
	if r.delegates && w.hasResult(r) {
		return
	}
	const slack = 5 * time.Millisecond // between the last look at the clock and the tool
	over := w.began.Add(r.at).Sub(until)
	if !until.IsZero() && over > slack && !w.startedInOriginal(r) {
		w.wrong("permission", "%s %s of %s/%s ran %v after its approval had ended", r.tool.Name, r.in.Target, r.session, r.call, over)
	}
}

func settingsOp(g *gen) Op {
	tools := classes()
	name := tools[g.IntN(len(tools))].spec.Name
	if g.one(3) {
		name = ""
	}
	return pick[Op](g, SetModel{g.IntN(3), g.IntN(3)}, SetModel{g.IntN(3), g.IntN(3)}, SetThinking{g.IntN(3), g.IntN(2) * 2048}, SetFallback{g.IntN(3), g.one(3)},
		SetTools{g.IntN(3), name}, ReplaceTool{g.IntN(3), cmp.Or(name, "act")}, SetCanUseTool{g.IntN(3), g.one(2)})
}
