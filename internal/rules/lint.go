package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/text"
)

// A Finding is a rule that does not do what it seems to be for.
type Finding struct {
	Behavior Behavior `json:"behavior"`
	Rule     Rule     `json:"rule"`
	Origin   string   `json:"origin,omitempty"` // where the rule was written
	Kind     string   `json:"kind"`             // malformed, unknown, dead, shadowed or wide
	Text     string   `json:"text"`
	By       Rule     `json:"by,omitempty"` // the rule that covers it
}

// Kinds of findings.
const (
	Malformed   = "malformed" // it cannot be read
	UnknownTool = "unknown"   // there is no such tool
	Dead        = "dead"      // it never decides: a stricter rule covers all that it is about
	Shadowed    = "shadowed"  // another rule of its kind covers all that it is about
	Wide        = "wide"      // it allows what no person could judge beforehand
)

// Lint looks for rules that are malformed, about tools that do not exist, covered
// by others, or too wide. tools are the names, and other names, of the tools that
// there are; nil leaves them out. External tools (mcp__…) may come later and are
// not missed. A rule that is covered in a way that cannot be told from the
// patterns alone is not found.
func (p Policy) Lint(tools []string) []Finding {
	c := p.Compile()
	var out []Finding
	for _, list := range []struct {
		behavior Behavior
		rules    *ruleSet
		stricter []*ruleSet
	}{{Denied, c.deny, nil}, {Asked, c.ask, []*ruleSet{c.deny}}, {Allowed, c.allow, []*ruleSet{c.deny, c.ask}}} {
		for i := range list.rules.all {
			x := &list.rules.all[i]
			f := Finding{Behavior: list.behavior, Rule: x.source, Origin: x.origin}
			if f.Kind, f.Text, f.By = x.lint(i, list.rules, list.stricter, tools); f.Kind == "" && list.behavior == Allowed {
				f.Kind, f.Text = x.tooWide()
			}
			if f.Kind != "" {
				out = append(out, f)
			}
		}
	}
	return out
}

func (x *rule) lint(at int, own *ruleSet, stricter []*ruleSet, tools []string) (kind, why string, by Rule) {
	if x.err != nil {
		return Malformed, x.err.Error(), ""
	}
	if tools != nil && !strings.HasPrefix(x.tool, "mcp__") && !slices.ContainsFunc(tools, x.names) && !NamesTool(tools, x.tool) {
		missing := fmt.Sprintf("there is no tool %s", x.tool)
		if near := text.Nearest(x.tool, tools); near != "" {
			missing += "; did you mean " + near + "?"
		}
		return UnknownTool, missing, ""
	}
	for _, s := range stricter {
		for i := range s.all {
			if y := &s.all[i]; y.err == nil && y.coversRule(x) {
				return Dead, fmt.Sprintf("it never counts: the rule %s is stricter and covers it", y.name()), y.source
			}
		}
	}
	for i := range own.all {
		y := &own.all[i]
		if i != at && y.err == nil && y.coversRule(x) && (i < at || !x.coversRule(y)) {
			return Shadowed, fmt.Sprintf("it says nothing more: the rule %s covers it", y.name()), y.source
		}
	}
	return "", "", ""
}

// coversRule reports whether a rule is about all calls that another is about. Where
// the patterns alone do not tell, it is not.
func (x *rule) coversRule(y *rule) bool {
	if !x.names(y.tool) && x.tool != "*" {
		return false
	}
	if x.pattern == "" || x.pattern == "*" {
		return true
	}
	switch {
	case y.pattern == "" || x.tool != y.tool:
		return false
	case x.pattern == y.pattern:
		return true
	case x.tool == "Edit" || x.tool == "Read":
		return x.path.From == y.path.From && x.path.SameDrive(y.path) && x.path.Ups == y.path.Ups && paths.MatchSegments(x.path.Pats, y.path.Pats)
	case strings.HasPrefix(x.pattern, "domain:") && strings.HasPrefix(y.pattern, "domain:"):
		return newAddress(strings.TrimPrefix(y.pattern, "domain:")).matches(x, true)
	case strings.HasPrefix(x.pattern, "domain:") || strings.HasPrefix(y.pattern, "domain:"):
		return false
	}
	return !y.anyCommand(func(one *commandPattern) bool {
		return !x.anyCommand(func(p *commandPattern) bool { return matchText(p.text, one.text) })
	})
}

// tooWide says what a rule that allows lets through, "" for what can be judged.
func (x *rule) tooWide() (kind, text string) {
	all := x.pattern == "" || strings.Trim(x.pattern, "*: ") == ""
	switch {
	case x.tool == "*":
		return Wide, "it allows every tool"
	case x.tool == "Bash" && all:
		return Wide, "it allows every command"
	case x.tool == "Edit" && (all || x.path.From == '/' && len(x.path.Pats) <= 1 || x.path.From == '~' && len(x.path.Pats) <= 1):
		return Wide, "it allows changing files anywhere"
	case x.tool == "WebFetch" && all:
		return Wide, "it allows every address"
	case x.tool == "mcp__*":
		return Wide, "it allows every external tool"
	case x.tool != "Bash":
		return "", ""
	}
	p := x.commands[0]
	if len(p.want) == 0 {
		return Wide, "it does not say which program runs"
	}
	name := p.want[0]
	if !p.open || len(p.want) > 1 {
		return "", ""
	}
	switch {
	case effects.IsShell(name) || name == "eval" || effects.IsWrapper(name) || effects.IsOpaque(name) || name == "ssh" || name == "find":
		return Wide, fmt.Sprintf("%s runs any command", name)
	case effects.Interpreter(name) != "" || strings.HasSuffix(name, "awk"):
		return Wide, fmt.Sprintf("%s runs any program", name)
	}
	return "", ""
}
