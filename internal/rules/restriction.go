package rules

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// within reports whether the rules of a restriction cover the call.
func (c *call) within(s *ruleSet) bool {
	var scoped []*rule
	for i := range s.all {
		switch x := &s.all[i]; {
		case x.err != nil || !c.named(x):
		case x.pattern == "" || x.pattern == "*":
			return true
		default:
			scoped = append(scoped, x)
		}
	}
	if len(scoped) == 0 || len(c.req.Access) == 0 {
		return false
	}
	for at := range c.req.Access {
		a := &c.req.Access[at]
		if a.Kind == RunCommand {
			if _, ok := c.lines[at].coveredBy(s, c.req.Tool, true); !ok {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(scoped, func(x *rule) bool {
			switch a.Kind {
			case ReadFile, EditFile:
				return c.ground.AllowedBy(x.path, a.Target)
			case FetchURL:
				return c.address(a).matches(x, true)
			case UseName:
				return matchText(x.pattern, a.Target)
			}
			return false
		}) {
			return false
		}
	}
	return true
}

// names lists the rules of a set as they were written.
func (s *ruleSet) names() string {
	var all []string
	for i := range s.all {
		all = append(all, string(s.all[i].source))
	}
	if all == nil {
		return "no tool"
	}
	return text.Bytes(strings.Join(all, ", "), shellword.MaxShown)
}

// Covers reports whether a list of rules lets pass all calls that another one would: it
// holds each of them, or a rule without a pattern for its tool.
func Covers(only, others []Rule) bool {
	return !slices.ContainsFunc(others, func(r Rule) bool {
		return !slices.ContainsFunc(only, func(own Rule) bool {
			return own == r || own.Tool() == r.Tool() && !strings.Contains(string(own), "(")
		})
	})
}

// Tool is the name of the tool that the rule is for, as it is written.
func (r Rule) Tool() string {
	name, _, _ := strings.Cut(string(r), "(")
	return strings.TrimSpace(name)
}
