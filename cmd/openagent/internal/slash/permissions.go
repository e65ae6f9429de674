package slash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/permission"
)

// permissions lists the rules in force, or removes one of the session.
func (c *Commands) permissions(ctx context.Context, arg string) error {
	if arg == "" {
		return c.listRules(ctx)
	}
	verb, rule, _ := strings.Cut(arg, " ")
	if rule = strings.TrimSpace(rule); verb != "remove" || rule == "" {
		return errors.New("write /permissions, or /permissions remove RULE")
	}
	return c.removeRule(ctx, permission.Rule(rule))
}

// listRules shows the mode and all rules, with where they come from.
func (c *Commands) listRules(ctx context.Context) error {
	c.Screen.Line(term.Plain, "mode %s", c.Mode.Load())
	n := 0
	if s := c.App.Options.Settings; s != nil {
		for _, r := range s.Rules() {
			n++
			colour, note := term.Plain, ""
			if !r.Counts {
				colour, note = term.Dim, "  ("+r.Why+")"
			}
			c.Screen.Line(colour, "%-5s %s  %s%s", word(r.Behavior), c.H.OneLine(string(r.Rule)), c.H.OneLine(c.App.ShortPath(r.Source.String())), c.H.OneLine(note))
		}
	}
	recorded, err := c.recordedRules(ctx)
	if err != nil {
		return err
	}
	mine := c.Rules.List()
	for _, r := range mine {
		c.Screen.Line(term.Plain, "%-5s %s  you, in this session", word(permission.Allowed), c.H.OneLine(string(r)))
	}
	for _, of := range ofSession(recorded) {
		for _, r := range of.rules {
			n++
			c.Screen.Line(term.Plain, "%-5s %s  a hook or the host, in this session", word(of.behavior), c.H.OneLine(string(r)))
		}
	}
	switch {
	case n+len(mine) == 0:
		c.Screen.Line(term.Dim, "no rules; only the mode decides. A rule can be given as --allow, or in a file: openagent help settings")
	case len(mine) > 0 || len(recorded.Allow)+len(recorded.Ask)+len(recorded.Deny) > 0:
		c.Screen.Line(term.Dim, "/permissions remove RULE removes a rule of this session. Change the others where they come from")
	default:
		c.Screen.Line(term.Dim, "change the rules where they come from")
	}
	return nil
}

// word is a behaviour as settings have it.
func word(b permission.Behavior) string {
	return map[permission.Behavior]string{permission.Allowed: "allow", permission.Asked: "ask", permission.Denied: "deny"}[b]
}

// rulesOf are rules of one behaviour.
type rulesOf struct {
	behavior permission.Behavior
	rules    []permission.Rule
}

func ofSession(p permission.Policy) []rulesOf {
	return []rulesOf{{permission.Denied, p.Deny}, {permission.Asked, p.Ask}, {permission.Allowed, p.Allow}}
}

// recordedRules are the rules that hooks and the host have added to the session.
func (c *Commands) recordedRules(ctx context.Context) (permission.Policy, error) {
	store, id := c.App.Store, c.App.Session.ID
	if store == nil || c.App.Session.Result() == nil && !c.App.Existing && !c.Running() {
		return permission.Policy{}, nil
	}
	counts, err := fact.OnPath(store.Read(ctx, id, 0))
	if err != nil {
		return permission.Policy{}, err
	}
	var state engine.State
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return permission.Policy{}, err
		}
		switch e.Data.(type) {
		case event.PermissionsChanged, fact.Configured:
			if int(e.Seq) <= len(counts) && counts[e.Seq-1] {
				state.Apply(e)
			}
		}
	}
	return state.Rules(), nil
}

// removeRule takes a rule of the session away.
func (c *Commands) removeRule(ctx context.Context, rule permission.Rule) error {
	missing := c.Rules.Change(hook.Update{Type: hookconst.RemoveRules, Behavior: permission.Allowed, Rules: []permission.Rule{rule}})
	removed := len(missing) == 0
	recorded, err := c.recordedRules(ctx)
	if err != nil {
		return err
	}
	for _, of := range ofSession(recorded) {
		if !slices.Contains(of.rules, rule) {
			continue
		}
		if of.behavior != permission.Allowed {
			return fmt.Errorf("%s was added by a hook or the host to guard this session: it cannot be removed here", cli.Clip(string(rule)))
		}
		if err := c.App.Session.ChangePermissions(ctx, hook.Update{Type: hookconst.RemoveRules, Behavior: of.behavior, Rules: []permission.Rule{rule}}); err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return fmt.Errorf("this session has no rule %s of its own; /permissions lists the rules and their files", cli.Clip(string(rule)))
	}
	c.Screen.Line(term.Dim, "removed %s", c.H.OneLine(string(rule)))
	return nil
}
