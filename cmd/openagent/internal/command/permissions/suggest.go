package permissions

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A proposal is a set of rules that would have allowed calls the user approved.
type proposal struct {
	Times       int                     `json:"times"`
	Example     string                  `json:"example"`
	Suggestions []permission.Suggestion `json:"suggestions"`
}

// suggestRules searches the journals for calls that the user approved. It proposes rules for those
// that no rule allows yet.
func suggestRules(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	c, err := ruled(ctx, h, o)
	if err != nil {
		return err
	}
	found := map[string]*proposal{}
	policy := app.Policy(h, c)
	add := func(r permission.Request) {
		if d := policy.Decide(r); d.Behavior != permission.Asked || d.Source != policies.FromMode {
			return // a rule already allows it, or a rule always asks
		}
		list := policies.Suggestions(r)
		if len(list) == 0 {
			return
		}
		key := app.JoinRules(policies.Suggest(r))
		if found[key] == nil {
			found[key] = &proposal{Example: example(r), Suggestions: list}
		}
		found[key].Times++
	}
	if o.Session != "" {
		store, id, err := sessionstore.Locate(ctx, h, o.Place(), o.Session)
		if err != nil {
			return err
		}
		info, err := session.Stat(ctx, store, id)
		if err != nil {
			return sessionstore.NotFound(id, err)
		}
		err = allowedCalls(ctx, store, info, add)
		if err != nil {
			return err
		}
		return showProposals(h, o.Output, found)
	}
	stores, err := sessionstore.Stores(ctx, h, o.Place(), o.All)
	if err != nil {
		return err
	}
	for _, store := range stores {
		infos, err := store.List(ctx)
		if err != nil {
			return err
		}
		for _, info := range infos {
			if err := allowedCalls(ctx, store, info, add); err != nil {
				h.Warn("session %s: %v", info.Session, err)
			}
		}
	}
	return showProposals(h, o.Output, found)
}

func showProposals(h *cli.IO, format string, found map[string]*proposal) error {
	keys := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(found[b].Times, found[a].Times), cmp.Compare(a, b))
	})
	list := []*proposal{}
	var rows [][]string
	for _, k := range keys {
		p := found[k]
		list = append(list, p)
		for _, s := range p.Suggestions {
			rows = append(rows, []string{strconv.Itoa(p.Times), string(s.Width), app.JoinRules(s.Rules), text.Runes(p.Example, 60)})
		}
	}
	if len(list) == 0 && format != cli.FormatJSON {
		return h.Show("no approved call was found that a new rule could allow\n")
	}
	return h.WriteList(format, list, "TIMES WIDTH RULES EXAMPLE", rows)
}

func example(r permission.Request) string {
	if len(r.Access) > 0 {
		return r.Access[0].Target
	}
	return r.Tool
}

// allowedCalls yields the calls of a session that the user approved.
func allowedCalls(ctx context.Context, store session.Store, info session.Info, add func(permission.Request)) error {
	var state engine.State
	var transcript engine.Transcript
	asked := map[string]permission.Request{}
	for e, err := range store.Read(ctx, info.Session, 0) {
		if err != nil {
			return err
		}
		if state.Apply(e) {
			transcript.Apply(e)
		}
		switch d := e.Data.(type) {
		case fact.Authorized:
			if d.Decision.Behavior == permission.Asked && d.Class.ConfirmReason == "" {
				dir := cmp.Or(state.Dir(), info.Dir)
				asked[d.Call] = permission.Request{Tool: transcript.Call(d.Call).Name, Access: d.Class.Access, ReadOnly: d.Class.ReadOnly || d.Class.Internal,
					Dir: dir, Roots: []string{info.Dir}}
			}
		case fact.Answered:
			if r, ok := asked[d.Call]; ok && d.Decision.Behavior == permission.Allowed && d.Decision.Source == policies.FromPerson && d.Class == nil {
				add(r)
			}
		}
	}
	return nil
}
