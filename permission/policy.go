package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// ParseMode reads the name of a mode; "" is [Default].
func ParseMode(s string) (Mode, error) {
	m := Mode(s)
	if m == "" {
		return Default, nil
	}
	if !slices.Contains(Modes, m) {
		return "", fmt.Errorf("unknown permission mode %q, want one of %s", clip(s), modeNames())
	}
	return m, nil
}

func modeNames() string {
	names := make([]string, len(Modes))
	for i, m := range Modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// Check reports the first thing that is wrong with the policy. [Policy.Decide]
// works without it, on the safe side: a malformed deny rule denies every call,
// a malformed ask rule asks for every call, a malformed allow rule does nothing,
// and an unknown mode is [Default].
func (p Policy) Check() error {
	if _, err := ParseMode(string(p.Mode)); err != nil {
		return err
	}
	for _, r := range slices.Concat(p.Deny, p.Ask, p.Allow) {
		if err := r.Check(); err != nil {
			return err
		}
	}
	for _, dir := range p.Private {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("checking the private path %q: it is not absolute", clip(dir))
		}
	}
	return nil
}

// Hides reports whether a deny rule without a pattern names the tool or one of
// its aliases, so that the model need not see it.
func (p Policy) Hides(tool string, aliases ...string) bool {
	return slices.ContainsFunc(p.Deny, func(r Rule) bool {
		x, err := r.parse()
		return err == nil && x.pattern == "" && (x.names(tool) || slices.ContainsFunc(aliases, x.names))
	})
}

// Unreadable returns the path patterns of the deny rules for reading. With
// roots, each pattern is returned once for every root and starts from there
// whatever the directory of a call; without, it starts from that directory.
// Private paths in the roots are among them.
func (p Policy) Unreadable(roots ...string) []string {
	out := p.unreadable(roots)
	g := newGround(Request{Roots: roots})
	for _, path := range g.keptInside(p.Private) {
		pattern := anchor("/", path)
		out = append(out, pattern, pattern+".*")
	}
	return out
}

func (p Policy) unreadable(roots []string) []string {
	var out []string
	for _, r := range p.Deny {
		x, err := r.parse()
		if err != nil || x.tool != "Read" {
			continue
		}
		pattern := x.pattern
		if pattern == "" {
			pattern = "//**"
		}
		if len(roots) == 0 || strings.HasPrefix(pattern, "//") || strings.HasPrefix(pattern, "~") {
			out = append(out, pattern)
			continue
		}
		for _, root := range roots {
			out = append(out, anchor(pattern, root))
		}
	}
	return out
}

// Decide judges a call by rules and mode. Deny rules come first, then [Plan],
// ask rules, allow rules and the mode, whatever the order of the rules. The
// decision is Allowed, Denied or Asked and says why.
//
// A deny or ask rule holds if it matches anything that the call touches, an
// allow rule if the rules together cover all of it. Deny and ask rules start
// from every root and from the directory of the call, allow rules from the
// first root. A command line is covered if each simple command is, or is
// read-only, and each file that it redirects into is covered by an Edit rule; a
// rule for all calls of the tool covers any line. Where a deny or ask rule cannot
// be checked, because parts of a line are only known when it runs or because the
// tool does not say what it touches, no rule allows the call; a deny rule then
// makes [Bypass] deny it. Read(…) and Edit(…) rules that deny or ask also hold
// for the arguments of commands that open files: for all that file patterns,
// braces and the working folder in them may stand for, and for what is in
// folders given to programs that copy, search or change whole folders. What else
// is not known of the arguments makes such a rule one that cannot be checked.
// What programs open without being told on the line is not seen.
//
// [Plan] runs what is read-only, and addresses that a rule allows; no rule makes
// it run anything else. [AcceptEdits] and [Auto] leave files that decide what
// runs later (.git, settings of agents, editors and shells) to a person. [Bypass] ignores ask rules.
func (p Policy) Decide(r Request) Decision {
	c := newCase(r)
	if d, ok := p.denies(&c); ok {
		return d
	}
	mode := p.Mode
	if mode == Bypass {
		return decide(Allowed, FromMode, "", "the mode %s asks nothing", mode)
	}
	why := c.whyChanges(p)
	if mode == Plan && why != "" && !(c.onlyFetches() && c.req.ReadOnly) {
		return decide(Asked, FromMode, "", "%s has to wait in mode plan because %s; it can run once the plan is approved", c.String(), why)
	}
	if x, a, ok := c.match(p.Ask); ok {
		return p.unasked(decide(Asked, FromRule, x.source, "%s needs permission because of the rule %s", c.on(a), x.source))
	}
	if path, doubt := c.privateDoubt(p.Private); doubt != "" {
		return p.unasked(decide(Asked, FromRule, readRule(path), "%s needs permission because it may touch %s, which the program keeps for itself: %s", c.String(), show(path), doubt))
	}
	if x, doubt := c.doubt(slices.Concat(p.Deny, p.Ask)); doubt != "" {
		return p.unasked(decide(Asked, FromRule, x.source, "%s needs permission because the rule %s cannot be checked: %s", c.String(), x.source, doubt))
	}
	if x, ok := c.allowedBy(p.Allow); ok {
		return decide(Allowed, FromRule, x.source, "%s is allowed by the rule %s", c.String(), x.source)
	}
	if why == "" {
		return decide(Allowed, FromMode, "", "%s only reads", c.String())
	}
	return p.unasked(c.byMode(mode, why))
}

// Denies judges a call by the deny rules alone, for input that was changed after
// a decision, and for the last look before the call runs.
func (p Policy) Denies(r Request) (Decision, bool) {
	c := newCase(r)
	return p.denies(&c)
}

func (p Policy) denies(c *call) (Decision, bool) {
	for _, r := range p.Deny {
		if err := r.Check(); err != nil {
			return decide(Denied, FromRule, r, "%s is denied because a deny rule cannot be read: %v", c.String(), err), true
		}
	}
	if x, a, ok := c.match(p.Deny); ok {
		return decide(Denied, FromRule, x.source, "%s is denied by the rule %s", c.on(a), x.source), true
	}
	if path, a, ok := c.private(p.Private); ok {
		return decide(Denied, FromRule, readRule(path), "%s is denied because the program keeps %s for itself", c.on(a), show(path)), true
	}
	if p.Mode == Bypass {
		if x, doubt := c.doubt(p.Deny); doubt != "" {
			return decide(Denied, FromRule, x.source, "%s is denied because the rule %s cannot be checked: %s", c.String(), x.source, doubt), true
		}
	}
	return Decision{}, false
}

// unasked turns a question into a refusal where nothing may be asked.
func (p Policy) unasked(d Decision) Decision {
	if p.Mode == DontAsk && d.Behavior == Asked {
		d.Behavior = Denied
		d.Reason = "denied in mode dontAsk: " + d.Reason
	}
	return d
}

func decide(b Behavior, from Source, r Rule, format string, args ...any) Decision {
	return Decision{Behavior: b, Source: from, Rule: string(r), Reason: fmt.Sprintf(format, args...)}
}

// A call is a request with what is known of it.
type call struct {
	req    Request
	ground *ground
	sites  map[Access]*site
}

// nowhere is the ground of calls that touch no path: nobody looks at it.
var nowhere ground

func newCase(r Request) call {
	if len(r.Access) == 0 {
		return call{req: r, ground: &nowhere}
	}
	c := call{req: r, ground: newGround(r)}
	for _, a := range r.Access {
		if a.Kind == RunCommand {
			if c.sites == nil {
				c.sites = map[Access]*site{}
			}
			c.sites[a] = newSite(c.ground.at(a.Dir), a.Target)
		}
	}
	return c
}

func (c *call) String() string {
	if len(c.req.Access) == 0 {
		return c.req.Tool
	}
	return c.on(c.req.Access[0])
}

// on names the call by one of its accesses.
func (c *call) on(a Access) string {
	if a.Target == "" {
		return c.req.Tool
	}
	return fmt.Sprintf("%s %q", c.req.Tool, clip(a.Target))
}

// network names the tools that reach out without saying where to.
const network = "WebSearch"

func (c *call) fetches() bool {
	return c.req.Tool == network || slices.ContainsFunc(c.req.Access, func(a Access) bool { return a.Kind == FetchURL })
}

func (c *call) onlyFetches() bool {
	return c.fetches() && !slices.ContainsFunc(c.req.Access, func(a Access) bool { return a.Kind == EditFile || a.Kind == RunCommand })
}

// whyChanges says why the call is not known to change nothing and to stay on this
// machine, "" if it is.
func (c *call) whyChanges(p Policy) string {
	if c.onlyFetches() {
		return "it uses the network"
	}
	why := c.whyWrites(p)
	if why == "" && c.fetches() {
		why = "it uses the network"
	}
	return why
}

// whyWrites says why the call is not known to change nothing, "" if it is.
func (c *call) whyWrites(p Policy) string {
	readOnly := c.req.ReadOnly
	for _, a := range c.req.Access {
		switch a.Kind {
		case EditFile:
			return "it edits files"
		case RunCommand:
			secrets := len(p.unreadable(nil)) > 0 || len(c.ground.keptInside(p.Private)) > 0
			if why := c.sites[a].whyNotRead(secrets); why != "" {
				return why
			}
			readOnly = true
		}
	}
	if !readOnly {
		return c.req.Tool + " is not known to be read-only"
	}
	return ""
}

// match returns the first rule, meant to forbid, that holds for the call, and
// the access that it is about. A malformed rule holds.
func (c *call) match(rules []Rule) (rule, Access, bool) {
	for _, r := range rules {
		x, err := r.parse()
		if err != nil {
			return rule{source: r}, Access{}, true
		}
		if (x.pattern == "" || x.pattern == "*") && c.named(x) {
			return x, c.first(), true
		}
		for _, a := range c.req.Access {
			if c.holds(x, a) {
				return x, a, true
			}
		}
	}
	return rule{}, Access{}, false
}

// named reports whether a rule is for the tool.
func (c *call) named(x rule) bool {
	return x.names(c.req.Tool) || slices.ContainsFunc(c.req.Aliases, x.names)
}

// concerned reports whether a rule is to be matched against an access of the call.
func (c *call) concerned(x rule, kind AccessKind) bool {
	return c.named(x) || x.tool == "Edit" && kind == EditFile || x.tool == "Read" && kind == ReadFile
}

func (c *call) first() Access {
	if len(c.req.Access) == 0 {
		return Access{}
	}
	return c.req.Access[0]
}

// holds reports whether a rule that forbids is about an access.
func (c *call) holds(x rule, a Access) bool {
	if a.Kind == RunCommand && x.tool == "Edit" && x.pattern == "" {
		return slices.ContainsFunc(c.sites[a].Redirects, func(r Redirect) bool { return r.Write })
	}
	if a.Kind == RunCommand && (x.tool == "Read" || x.tool == "Edit") && x.pattern != "" {
		return c.sites[a].touches(x)
	}
	if !c.concerned(x, a.Kind) && !x.forbidsCommands(a.Kind) {
		return false
	}
	if x.pattern == "" {
		return c.concerned(x, a.Kind)
	}
	switch a.Kind {
	case ReadFile, EditFile:
		return c.ground.deniedBy(x.pattern, a.Target)
	case RunCommand:
		return c.sites[a].runs(x.pattern)
	case FetchURL:
		return matchURL(x.pattern, a.Target, false)
	case UseName:
		return matchText(strings.ToLower(x.pattern), strings.ToLower(a.Target))
	}
	return false
}

// doubt returns a rule with a pattern that the call may fall under, and why: a
// command line not known in full, or a tool that does not say what it touches.
func (c *call) doubt(rules []Rule) (rule, string) {
	for _, r := range rules {
		x, err := r.parse()
		if err != nil || x.pattern == "" {
			continue
		}
		if len(c.req.Access) == 0 && c.named(x) {
			return x, "the tool does not say what it touches"
		}
		for _, a := range c.req.Access {
			if a.Kind != RunCommand {
				continue
			}
			if why := c.sites[a].doubt(x, c.req.Tool); why != "" {
				return x, why
			}
		}
	}
	return rule{}, ""
}

// allowedBy returns a rule of those that together cover the call.
func (c *call) allowedBy(rules []Rule) (rule, bool) {
	var parsed []rule
	for _, r := range rules {
		x, err := r.parse()
		if err != nil {
			continue
		}
		if x.pattern == "" && c.named(x) {
			return x, true
		}
		parsed = append(parsed, x)
	}
	var by rule
	covered := false
	for _, a := range c.req.Access {
		if a.Kind == ReadFile {
			continue // reading needs no rule, and a rule for reading allows nothing else
		}
		x, ok := c.covers(parsed, a)
		if !ok {
			return rule{}, false
		}
		by, covered = x, true
	}
	return by, covered
}

func (c *call) covers(rules []rule, a Access) (rule, bool) {
	if a.Kind == RunCommand {
		return c.sites[a].allowedBy(rules, c.req.Tool)
	}
	for _, x := range rules {
		if !c.concerned(x, a.Kind) {
			continue
		}
		switch {
		case x.pattern == "",
			a.Kind == FetchURL && matchURL(x.pattern, a.Target, true),
			a.Kind == UseName && matchText(x.pattern, a.Target),
			a.Kind == EditFile && c.ground.allowedBy(x.pattern, a.Target):
			return x, true
		}
	}
	return rule{}, false
}

// byMode settles what no rule has settled and what is not read-only.
func (c *call) byMode(mode Mode, why string) Decision {
	switch mode {
	case AcceptEdits:
		if trouble := c.whyNotEdit(); trouble == "" {
			return decide(Allowed, FromMode, "", "%s edits files in the working folders, which the mode %s allows", c.String(), mode)
		} else if trouble != notAnEdit {
			why = trouble
		}
	case Auto:
		trouble := c.danger()
		if trouble == "" {
			return decide(Allowed, FromMode, "", "%s is not known to be dangerous, which the mode %s allows", c.String(), mode)
		}
		why = trouble
	case Plan, DontAsk:
	default:
		mode = Default
	}
	return decide(Asked, FromMode, "", "%s needs permission in mode %s because %s%s", c.String(), mode, why, c.remedy())
}

// remedy says which rules would allow the call.
func (c *call) remedy() string {
	rules := c.req.Suggest()
	if len(rules) == 0 {
		return ""
	}
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = string(r)
	}
	verb := "rule " + names[0]
	if len(names) > 1 {
		verb = "rules " + strings.Join(names, ", ")
	}
	return "; the " + verb + " would allow it"
}

const notAnEdit = "it does not only edit files"

// whyNotEdit says why the call is more than an edit of files in the roots.
func (c *call) whyNotEdit() string {
	edits := 0
	for _, a := range c.req.Access {
		switch {
		case a.Kind == ReadFile:
		case a.Kind != EditFile:
			return notAnEdit
		case !c.ground.inside(a.Target):
			return show(a.Target) + " is outside of the working folders"
		case c.ground.guards(a.Target):
			return show(a.Target) + " decides what runs later"
		default:
			edits++
		}
	}
	if edits == 0 {
		return notAnEdit
	}
	return ""
}

// danger says what makes the call dangerous, "" if nothing is known to.
func (c *call) danger() string {
	for _, a := range c.req.Access {
		switch a.Kind {
		case EditFile:
			if trouble := c.whyNotEdit(); trouble != "" && trouble != notAnEdit {
				return trouble
			}
		case RunCommand:
			if why := c.sites[a].danger(); why != "" {
				return why
			}
		}
	}
	external := strings.HasPrefix(c.req.Tool, "mcp__") || len(c.req.Access) == 0
	if external && !c.req.ReadOnly && !c.req.NonDestructive {
		return c.req.Tool + " does not say that it destroys nothing"
	}
	return ""
}
