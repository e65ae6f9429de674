package rules

import (
	"slices"

	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A Part is what the rules say to one part of a call: a simple command of a
// command line, or a file that it writes.
type Part struct {
	Text string `json:"text"`
	Decision
}

// Parts says what the policy makes of each simple command of the call's command
// lines, and of each file that they write: for people who want to know why a line
// is not allowed. Parents are ignored. [Policy.Decide] may be stricter: it
// also sees what the parts do together.
func (p Policy) Parts(r Request) []Part {
	c, about := p.Compile(), newCase(&r)
	deny, ask := about.concerning(c.deny), about.concerning(c.ask)
	var out []Part
	for _, s := range about.lines {
		if s == nil {
			continue
		}
		out = append(out, s.parts(r.Tool, about.held(), c, deny, ask)...)
	}
	return out
}

func (s *shellLine) parts(tool string, held []string, p *Compiled, deny, ask []int) []Part {
	var out []Part
	for i := range s.List {
		d := s.judgeCommand(i, tool, held, p, deny, ask)
		out = append(out, Part{s.List[i].Raw, *d})
	}
	for _, f := range s.Redirects {
		if !f.Write {
			continue
		}
		d := decide(Asked, FromMode, nil, "no rule lets it write there")
		if x, ok := s.editable(p.allow, f.In, f.Word); ok {
			d = decide(Allowed, FromRule, x, "allowed by the rule "+x.name())
		}
		out = append(out, Part{"> " + shellword.Show(f.Path), *d})
	}
	return out
}

// judgeCommand judges one simple command of a line by itself.
func (s *shellLine) judgeCommand(i int, tool string, held []string, p *Compiled, deny, ask []int) *Decision {
	c := &s.List[i]
	alone := &shellLine{s.Alone(i)}
	forbids := func(set *ruleSet, list []int) *rule {
		at := slices.IndexFunc(list, func(i int) bool {
			x := &set.all[i]
			switch {
			case x.pattern == "":
				return x.names(tool)
			case x.tool == "Read" || x.tool == "Edit":
				return alone.touches(x)
			}
			return (x.names(tool) || x.forbidsCommands(RunCommand)) && alone.runs(x)
		})
		if at < 0 {
			return nil
		}
		return &set.all[list[at]]
	}
	if x := forbids(p.deny, deny); x != nil {
		return decide(Denied, FromRule, x, "denied by the rule "+x.name())
	}
	if x := alone.mayChange(held, p.deny, deny); x != nil {
		return decide(Asked, FromRule, x, "the rule "+x.name()+" cannot be checked: it may still write there, and no sandbox holds it")
	}
	if x := forbids(p.ask, ask); x != nil {
		return decide(Asked, FromRule, x, "asked about because of the rule "+x.name())
	}
	for i := range p.allow.all {
		if x := &p.allow.all[i]; x.err == nil && x.pattern == "" && x.names(tool) {
			return decide(Allowed, FromRule, x, "allowed by the rule "+x.name())
		}
	}
	if x, ok := s.ruleFor(c, p.allow, tool); ok {
		return decide(Allowed, FromRule, x, "allowed by the rule "+x.name())
	}
	if c.Passes() {
		return decide(Allowed, FromMode, nil, "it only runs the next one")
	}
	why := s.CommandReads(c, false)
	if why == "" {
		return decide(Allowed, FromMode, nil, "it only reads")
	}
	return decide(Asked, FromMode, nil, "no rule allows it, and "+why)
}

// mayChange returns the first rule of those listed that is about a file which the line may
// change, nil for none.
func (s *shellLine) mayChange(held []string, set *ruleSet, list []int) *rule {
	for _, i := range list {
		if x := &set.all[i]; x.tool == "Edit" && x.pattern != "" && s.MayChange(x.path, held) != "" {
			return x
		}
	}
	return nil
}

// Unclear says why the command lines of a call are not understood in full, "" if
// they are. No rule with a pattern allows what is not understood.
func (r Request) Unclear() string {
	for _, a := range r.Access {
		if a.Kind != RunCommand {
			continue
		}
		if c, _ := shellscan.Scan(a.Target); c.Unclear != "" {
			return c.Unclear
		}
	}
	return ""
}
