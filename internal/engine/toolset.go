package engine

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
)

// A toolset is the tools of a prompt, as they were configured. There are tens of
// them, so that looking through them beats an index that every run has to make.
type toolset []fact.Tool

// find returns the tool of a name, an empty one if there is none. It must not be
// changed.
//
//go:noinline // called from many places: every program stays smaller
func (ts toolset) find(name string) *fact.Tool {
	for i := range ts {
		if ts[i].Name == name {
			return &ts[i]
		}
	}
	return &noTool
}

var noTool fact.Tool

// resolve returns the name of the tool that a model meant: the one of that name,
// else the one with that alias, else the only one whose name or alias differs in
// nothing but case.
func (ts toolset) resolve(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	if t := ts.find(name); t.Name != "" {
		return t.Name, true
	}
	for i := range ts {
		if slices.Contains(ts[i].Aliases, name) {
			return ts[i].Name, true
		}
	}
	found := ""
	for i := range ts {
		t := &ts[i]
		same := func(known string) bool { return strings.EqualFold(known, name) }
		if !same(t.Name) && !slices.ContainsFunc(t.Aliases, same) {
			continue
		}
		if found != "" {
			return name, false
		}
		found = t.Name
	}
	if found == "" {
		return name, false
	}
	return found, true
}

// replace returns the tools with t in the place of the one of its name, which it
// returns too. The old one says whether it is deferred.
func (ts toolset) replace(t fact.Tool) (changed []fact.Tool, old fact.Tool, ok bool) {
	i := order.Find(len(ts), func(i int) bool { return ts[i].Name == t.Name })
	if i < 0 {
		return nil, fact.Tool{}, false
	}
	old = ts[i]
	t.Deferred = old.Deferred
	changed = append([]fact.Tool(nil), ts...)
	changed[i] = t
	return changed, old, true
}
