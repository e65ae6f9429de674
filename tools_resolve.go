package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// ResolveTools returns the tools that the model would see in a prompt started now, in
// order: first Tools, then those of the Toolsets. A later tool replaces an earlier one of
// the same name.
func (a *Agent) ResolveTools(ctx context.Context) ([]tool.Tool, error) {
	var info llm.Info
	if a.Model != nil {
		info = llm.InfoOf(a.Model)
	}
	return a.toolsFor(ctx, info)
}

func (a *Agent) toolsFor(ctx context.Context, model llm.Info) ([]tool.Tool, error) {
	resolved, err := a.collect(ctx)
	if err != nil {
		return nil, err
	}
	return a.choose(resolved, model)
}

// choose returns the tools that the model may see.
func (a *Agent) choose(resolved []tool.Tool, model llm.Info) ([]tool.Tool, error) {
	if err := a.checkPromptTools(resolved); err != nil {
		return nil, err
	}
	resolved = slices.DeleteFunc(resolved, func(t tool.Tool) bool {
		s := t.Spec()
		return !a.advertises(s) || s.NeedsPerson && a.AskUser == nil
	})
	var hidden []string
	for _, t := range resolved {
		switch s := t.Spec(); {
		case len(s.Replaces) == 0:
		case model.Patches:
			hidden = append(hidden, s.Replaces...)
		case slices.ContainsFunc(resolved, func(t tool.Tool) bool { return slices.Contains(s.Replaces, t.Spec().Name) }):
			hidden = append(hidden, s.Name)
		}
	}
	if hidden == nil {
		return resolved, nil
	}
	return slices.DeleteFunc(resolved, func(t tool.Tool) bool { return slices.Contains(hidden, t.Spec().Name) }), nil
}

// collect returns Tools and the tools of the Toolsets.
func (a *Agent) collect(ctx context.Context) ([]tool.Tool, error) {
	resolved := make([]tool.Tool, 0, len(a.Tools))
	place := make(map[string]int, len(a.Tools))
	add := func(ts []tool.Tool) error {
		for _, t := range ts {
			spec := t.Spec()
			if err := toolrun.Check(t); err != nil {
				return fmt.Errorf("agent: %w: %w", ErrConfig, err)
			}
			if i, ok := place[spec.Name]; ok {
				resolved[i] = t
				continue
			}
			place[spec.Name] = len(resolved)
			resolved = append(resolved, t)
		}
		return nil
	}
	if err := add(a.Tools); err != nil {
		return nil, err
	}
	for _, set := range a.Toolsets {
		ts, err := set.Tools(ctx)
		if err != nil {
			return nil, fmt.Errorf("agent: asking a tool set for its tools: %w", err)
		}
		if err := add(ts); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

// advertises reports whether the model may see a tool in the prompt.
func (a *Agent) advertises(s tool.Spec) bool {
	return a.offers(s) && listed(a.promptTools(), s)
}

// listed reports whether a tool is in each list of names.
func listed(lists [][]string, s tool.Spec) bool {
	return !slices.ContainsFunc(lists, func(names []string) bool { return !rules.NamesTool(names, s.Name, s.Aliases...) })
}

// offers reports whether the model may see a tool in prompts without options.
func (a *Agent) offers(s tool.Spec) bool {
	if a.parentLink != nil && !listed(a.parentLink.only, s) {
		return false
	}
	return (len(a.AllowedTools) == 0 || rules.NamesTool(a.AllowedTools, s.Name, s.Aliases...)) &&
		!rules.NamesTool(a.DisallowedTools, s.Name, s.Aliases...) && !policies.Hides(a.Permissions, s.Name, s.Aliases...)
}

// A searcher is a tool that finds deferred tools. Over returns a copy of it for the given
// deferred tools.
type searcher interface {
	Over(deferred []tool.Spec) tool.Tool
}

// advertise decides which tools are deferred, and gives them to the tool that
// finds them. Without such a tool nothing is deferred, because the model could never find
// it.
func (a *Agent) advertise(resolved []tool.Tool, window int) ([]tool.Tool, []fact.Tool) {
	out := specs(resolved)
	at := slices.IndexFunc(resolved, func(t tool.Tool) bool { _, ok := t.(searcher); return ok })
	if at < 0 {
		for i := range out {
			out[i].Deferred = false
		}
		return resolved, out
	}
	for i := range out {
		out[i].Deferred = out[i].Deferred || slices.Contains(a.DeferredTools, out[i].Name)
	}
	own := a.ownNames()
	if a.tooLarge(out, own, window) {
		for i := range out {
			out[i].Deferred = out[i].Deferred || !own[out[i].Name] && !resolved[i].Spec().AlwaysLoad
		}
	}
	var deferred []tool.Spec
	for i, t := range resolved {
		if out[i].Deferred {
			deferred = append(deferred, t.Spec())
		}
	}
	if deferred == nil { // nothing is deferred: remove the search
		return slices.Delete(slices.Clone(resolved), at, at+1), slices.Delete(out, at, at+1)
	}
	resolved = slices.Clone(resolved)
	resolved[at] = resolved[at].(searcher).Over(deferred)
	out[at].Description = resolved[at].Spec().Description
	return resolved, out
}

// instructions returns the system prompt: the agent's own, and the instructions of its
// Toolsets.
func (a *Agent) instructions() string {
	parts := []string{a.System}
	for _, set := range a.Toolsets {
		if in, ok := set.(toolrun.Instructor); ok {
			parts = append(parts, in.Instructions())
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n\n")
}

// versions returns the version of each Toolset, 0 for a Toolset without versions.
func (a *Agent) versions() []uint64 {
	var out []uint64
	for _, set := range a.Toolsets {
		n := uint64(0)
		if c, ok := set.(toolrun.Versioned); ok {
			n = c.Version()
		}
		out = append(out, n)
	}
	return out
}

const (
	// countedWindow is the largest window for the share of tools, in tokens. Tools that
	// exceed a tenth of it cost as much in a larger window. An unknown window counts as
	// this size.
	countedWindow = 200_000
	// seenTools is the number of Toolset tools from which a model can still choose well.
	seenTools = 100
)

// ownNames returns the names of the agent's Tools. They are not deferred for their size or
// number.
func (a *Agent) ownNames() map[string]bool {
	own := make(map[string]bool, len(a.Tools))
	for _, t := range a.Tools {
		own[t.Spec().Name] = true
	}
	return own
}

// tooLarge reports whether the Toolsets' tools are too many, or take too much of the
// context window. It counts four bytes as a token.
func (a *Agent) tooLarge(out []fact.Tool, own map[string]bool, window int) bool {
	share := a.DeferAbove
	if share == 0 {
		share = 0.1
	}
	if window = min(window, countedWindow); window <= 0 {
		window = countedWindow
	}
	size, count := 0, 0
	for _, t := range out {
		if !own[t.Name] {
			count++
			size += len(t.Name) + len(t.Description) + len(t.Input)
		}
	}
	return share > 0 && (count > seenTools || float64(size)/4 > share*float64(window))
}

func specs(resolved []tool.Tool) []fact.Tool {
	out := make([]fact.Tool, 0, len(resolved))
	for _, t := range resolved {
		out = append(out, describe(t))
	}
	return out
}

// describe returns the description of a tool for the engine.
func describe(t tool.Tool) fact.Tool {
	s := t.Spec()
	input := s.Input
	if input == nil {
		input = []byte(`{"type":"object","properties":{}}`)
	}
	aliases := s.Aliases
	if a, ok := t.(toolrun.Aliased); ok {
		aliases = append(slices.Clip(aliases), a.CallNames()...)
	}
	return fact.Tool{Tool: llm.Tool{Name: s.Name, Description: s.Description, Input: input},
		Aliases: aliases, Replaces: s.Replaces, Deferred: s.Deferred, ReadOnly: s.ReadOnly, Idempotent: s.Idempotent, Barrier: s.Barrier, Batch: s.Batch, State: s.State}
}
