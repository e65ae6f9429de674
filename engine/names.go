package engine

import (
	"strings"

	"github.com/openagent-go/agent/event"
)

// names are what a model may call tools by: names and aliases, each with the
// name of its tool.
type names map[string]string

func namesOf(tools []event.Tool) names {
	n := make(names, len(tools))
	for _, t := range tools {
		n[t.Name] = t.Name
	}
	for _, t := range tools {
		for _, alias := range t.Aliases {
			if _, taken := n[alias]; !taken {
				n[alias] = t.Name
			}
		}
	}
	return n
}

// resolve returns the tool that a model meant: the one of that name, or the only
// one whose name differs in nothing but case.
func (n names) resolve(name string) (string, bool) {
	if t, ok := n[name]; ok {
		return t, true
	}
	found := ""
	for known, t := range n {
		if strings.EqualFold(known, name) && t != found {
			if found != "" {
				return name, false
			}
			found = t
		}
	}
	if found == "" {
		return name, false
	}
	return found, true
}
