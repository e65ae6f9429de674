package sim

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// The word at the beginning of a target says what is to become of a call. The oracle judges
// by these words alone, and never asks the rules of the library.
//
//   - deny: a rule denies it, in every mode and at every depth
//   - ask: a rule asks about it
//   - allow: a rule allows it
//   - decider: a decider denies it
//   - hookdeny, hookallow, hookdefer, hookhang: a hook denies or allows it, leaves it for
//     later, or does not return
//   - change: a hook takes the word off, and the rest is judged again
var words = []string{"deny-", "ask-", "allow-", "decider-", "hookdeny-", "hookallow-", "hookdefer-", "hookhang-", "change-", "change-deny-", "change-ask-", "change-decider-", "change-allow-", "ruledeny-", "ruleask-", "ruleallow-"}

// people are those who decide about calls, in the program and elsewhere.
type people struct {
	allowed map[string]string    // the target that was allowed last, by call; "": denied
	until   map[string]time.Time // when that ends; zero: never
}

// callKey names a call of a session in a tree of agents.
func callKey(root, session, call string) string {
	if root == "" {
		root = session
	}
	return root + "/" + session + "/" + call
}

// decided notes a person's decision before the library gets it.
func (w *world) decided(key, target string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.people.allowed == nil {
		w.people.allowed, w.people.until = map[string]string{}, map[string]time.Time{}
	}
	w.people.allowed[key], w.people.until[key] = target, until
}

// canUseTool is a person who is there: they allow, deny, change the input, or leave the
// question for later.
func (w *world) canUseTool(l *life) agent.CanUseToolFunc {
	return func(ctx context.Context, call tool.Call, verdict permission.Decision) (d permission.Decision, err error) {
		w.steps.Add(1)
		if verdict.Behavior != permission.Asked {
			return d, nil
		}
		select {
		case <-time.After(w.pause(20*time.Millisecond, "person", call.Session, call.ID, l.n)):
		case <-ctx.Done():
			return d, w.cancelled(ctx, call.Session, call.ID)
		}
		if l.dead.Load() {
			return d, errDead
		}
		key := callKey(call.Root, call.Session, call.ID)
		var in work
		_ = json.Unmarshal(call.Input, &in)
		w.trace("asked about %s %s", call.Name, in.Target)
		switch n := w.number("verdict", call.ID, in.Tag, l.n) % 8; n {
		case 0:
			w.decided(key, "", time.Time{})
			w.meet("person denies")
			return permission.Deny("the person says no"), nil
		case 1, 2:
			w.meet("question for later")
			return w.expiring(permission.Defer(), key), nil
		case 3:
			if in.Tag == "" || strings.HasPrefix(call.Name, "mcp__") { // no rule with a pattern is about it
				break
			}
			in.Target = "deny-" + in.Target
			changed, _ := json.Marshal(in)
			d = w.expiring(permission.AllowWith(changed), key)
			w.decided(key, in.Target, d.Expires)
			w.meet("person changes")
			return d, nil
		}
		d = w.expiring(permission.Allow(), key)
		w.decided(key, in.Target, d.Expires)
		w.meet("person allows")
		return d, nil
	}
}

// answerAll answers the open questions of a session, from elsewhere.
func (w *world) answerAll(h *handle, allow bool) {
	open, err := h.open.Pending(w.life.ctx)
	w.expect(err, "listing questions")
	for _, q := range open {
		path, id, root := h.id, q.Call.ID, h.id
		if i := strings.LastIndex(id, "/"); i >= 0 {
			path, id = id[:i], id[i+1:]
			path = path[strings.LastIndex(path, "/")+1:]
		}
		var in work
		_ = json.Unmarshal(q.Call.Input, &in)
		d := permission.Deny("no, says somebody elsewhere")
		if allow {
			d = permission.Allow()
		}
		d.By = "somebody elsewhere"
		key := callKey(root, path, id)
		if len(q.Questions) > 0 {
			w.note("answered later", h.open.Answer(w.life.ctx, q.Call.ID, red(len(q.Questions))))
			continue
		}
		if allow {
			d = w.expiring(d, key)
			w.decided(key, in.Target, d.Expires)
		}
		w.trace("decide %v about %s", allow, q.Call.ID)
		err := h.open.Decide(w.life.ctx, q.Call.ID, d)
		if !w.life.dead.Load() {
			w.expect(err, "deciding")
		}
		if !allow && err == nil {
			w.decided(key, "", time.Time{})
		}
		if err == nil {
			w.meet("answered later")
		}
	}
}

// checkPermitted holds a call that runs against what its target says: nothing denied runs,
// at any depth, also with changed input.
func (w *world) checkPermitted(r ran) {
	target := r.in.Target
	is := func(word string) bool { return strings.HasPrefix(target, word+"-") }
	hooked := w.has("hook")
	never := ""
	rule, sure := w.rulingFor(r)
	switch {
	case rule == permission.Denied && sure:
		never = "a rule that was added denies it"
	case is("deny"):
		never = "a rule denies it"
	case is("decider") && w.has("decider"):
		never = "a decider denies it"
	case is("hookdeny") && hooked:
		never = "a hook denies it"
	case is("hookhang") && hooked:
		never = "its hook never returned"
	case is("change") && hooked:
		never = "a hook has changed its input"
	case r.mode == permission.Plan && !r.changesNothing():
		never = "the session is in plan mode"
	}
	if never != "" {
		w.wrong("permission", "%s %s of %s/%s ran although %s", r.tool.Name, target, r.session, r.call, never)
		return
	}
	if want := w.modeAt(r); want != "" && want != r.mode {
		w.wrong("permission", "%s/%s ran in mode %s, the session is in %s", r.session, r.call, r.mode, want)
	}
	if needed := w.needsPerson(r); needed != "" {
		w.mu.Lock()
		key := callKey(r.root, r.session, r.call)
		allowed, until := w.people.allowed[key], w.people.until[key]
		w.mu.Unlock()
		w.checkExpiry(r, until)
		if allowed != target && !w.startedInOriginal(r) {
			w.wrong("permission", "%s %s of %s/%s ran in mode %s without a person's consent, although %s", r.tool.Name, target, r.session, r.call, r.mode, needed)
		}
	}
}

// changesNothing reports whether modes let a call run without a question.
func (r ran) changesNothing() bool { return r.tool.ReadOnly || r.delegates }

// needsPerson says why a person must allow a call, "" if nobody needs to.
func (w *world) needsPerson(r ran) string {
	is := func(word string) bool { return strings.HasPrefix(r.in.Target, word+"-") }
	hooked := w.has("hook")
	modes := !w.modesChange() || w.modeSettled(r)
	rule, sure := w.rulingFor(r)
	switch {
	case r.tool.NeedsApproval != nil && !is("allow") && rule != permission.Allowed && sure:
		return "its tool needs approval"
	case is("ask") && modes && r.mode != permission.Bypass:
		return "a rule asks about it"
	case rule == permission.Asked && sure && modes && r.mode != permission.Bypass:
		return "a rule that was added asks about it"
	case is("hookdefer") && hooked:
		return "a hook defers it"
	case rule == permission.Allowed || !sure:
		return ""
	case !modes:
		return ""
	case (r.mode == permission.Default || r.mode == permission.AcceptEdits) && !r.changesNothing() && !is("allow") && !(is("hookallow") && hooked):
		return "the mode asks about it"
	case r.mode == permission.DontAsk && !r.changesNothing() && !is("allow") && !(is("hookallow") && hooked):
		return "the mode denies what it would ask about"
	}
	return ""
}

// startedInOriginal reports whether a call was started in the session that its own was forked
// from. A call that may be repeated is repeated in the fork then, with the same consent.
func (w *world) startedInOriginal(r ran) bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	for p, j := range w.facts.of {
		if w.isJournal(p, r) {
			life, started := j.starts[r.call]
			return started && life == 0
		}
	}
	return false
}

// modeAt returns the mode that a call must run in, "" if that is not known.
func (w *world) modeAt(r ran) permission.Mode {
	if w.modesChange() {
		return ""
	}
	return w.Mode
}

// modesChange reports whether something in the program may change a mode.
func (w *world) modesChange() bool {
	for _, o := range w.Ops {
		if _, ok := o.(interface{ changesMode() }); ok {
			return true
		}
	}
	return w.has("plan mode") // its tools change the mode
}
