package rules

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/rules/cmdline"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// A call is a request with what is known of it.
type call struct {
	req    Request
	names  []string // see tools
	ground *paths.Context
	lines  []*shellLine // by access
	visits []*address   // of what is fetched
	found  []int        // room for what is found in a set
}

// address reads the target of a fetch once.
func (c *call) address(a *Access) *address {
	for _, at := range c.visits {
		if at.text == a.Target {
			return at
		}
	}
	at := newAddress(a.Target)
	c.visits = append(c.visits, at)
	return at
}

// elsewhere says why a command line is not judged by the files that it names.
const elsewhere = "it runs elsewhere, where symlinks cannot be followed"

// nowhere is the place of calls that touch no path: nobody looks at it.
var nowhere paths.Context

// newCase returns the case of a request.
func newCase(r *Request) *call {
	c := new(call)
	c.init(r)
	return c
}

// init makes c the case of a request.
func (c *call) init(r *Request) {
	c.req, c.ground = *r, &nowhere
	if len(r.Access) == 0 {
		return
	}
	c.ground = paths.NewContext(r.Dir, r.Roots)
	for i := range r.Access {
		if a := &r.Access[i]; a.Kind == RunCommand {
			if c.lines == nil {
				c.lines = make([]*shellLine, len(r.Access))
			}
			c.lines[i] = &shellLine{cmdline.NewLine(c.ground.At(a.Dir), a.Target)}
		}
	}
}

// String names the call for people.
func (r Request) String() string {
	return newCase(&r).String()
}

// WhyWrites says why the call is not known to change nothing, "" if it is.
func (r Request) WhyWrites() string {
	return newCase(&r).whyWrites(new(Compiled))
}

// tools are the names of the tools whose rules may be about the call. Where there are
// no rules nobody asks.
//
//go:noinline // called from many places: every program stays smaller
func (c *call) tools() []string {
	if c.names != nil {
		return c.names
	}
	c.names = make([]string, 0, 4+len(c.req.Aliases))
	c.names = append(append(c.names, c.req.Tool), c.req.Aliases...)
	for _, a := range c.req.Access {
		switch a.Kind {
		case ReadFile:
			c.names = append(c.names, "Read")
		case EditFile:
			c.names = append(c.names, "Edit")
		case RunCommand:
			c.names = append(c.names, "Bash", "Read", "Edit")
		}
	}
	return c.names
}

//go:noinline // called from many places: every program stays smaller
func (c *call) String() string {
	return c.on(c.first())
}

// on names the call by one of its accesses, nil for none.
func (c *call) on(a *Access) string {
	if a == nil || a.Target == "" {
		return c.req.Tool
	}
	return c.req.Tool + " " + strconv.Quote(text.Bytes(a.Target, shellword.MaxShown))
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
func (c *call) whyChanges(p *Compiled) string {
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
func (c *call) whyWrites(p *Compiled) string {
	readOnly := c.req.ReadOnly
	for i, a := range c.req.Access {
		switch a.Kind {
		case EditFile:
			return "it edits files"
		case RunCommand:
			if a.Later {
				return "it keeps a command that runs later"
			}
			if a.Elsewhere {
				return elsewhere
			}
			secrets := p.secret || len(c.ground.KeptInside(p.private)) > 0
			if why := c.lines[i].WhyNotRead(secrets); why != "" {
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

// match returns the first rule of a set, meant to forbid, that holds for the call, nil for
// none, and the access that it is about, if any. A malformed rule holds.
func (c *call) match(s *ruleSet) (*rule, *Access) {
	if x := s.broken(); x != nil {
		return x, nil
	}
	for _, i := range c.matching(s) {
		x := &s.all[i]
		if (x.pattern == "" || x.pattern == "*") && c.named(x) {
			return x, c.first()
		}
		for at := range c.req.Access {
			if c.holds(x, at) {
				return x, &c.req.Access[at]
			}
		}
	}
	return nil, nil
}

// named reports whether a rule is for the tool.
func (c *call) named(x *rule) bool {
	return x.names(c.req.Tool) || slices.ContainsFunc(c.req.Aliases, x.names)
}

// concerned reports whether a rule is to be matched against an access of the call.
func (c *call) concerned(x *rule, kind AccessKind) bool {
	return c.named(x) || x.tool == "Edit" && kind == EditFile || x.tool == "Read" && kind == ReadFile
}

// first returns the first access of the call, nil for none.
func (c *call) first() *Access {
	if len(c.req.Access) == 0 {
		return nil
	}
	return &c.req.Access[0]
}

// holds reports whether a rule that forbids is about an access.
func (c *call) holds(x *rule, at int) bool {
	a := &c.req.Access[at]
	if a.Kind == RunCommand && x.tool == "Edit" && x.pattern == "" {
		return c.lines[at].Writes()
	}
	if a.Kind == RunCommand && (x.tool == "Read" || x.tool == "Edit") && x.pattern != "" {
		return c.lines[at].touches(x)
	}
	if !c.concerned(x, a.Kind) && !x.forbidsCommands(a.Kind) {
		return false
	}
	if x.pattern == "" {
		return c.concerned(x, a.Kind)
	}
	switch a.Kind {
	case ReadFile, EditFile:
		return c.ground.DeniedBy(x.path, a.Target)
	case RunCommand:
		return c.lines[at].runs(x)
	case FetchURL:
		return c.address(a).matches(x, false)
	case UseName:
		return matchText(strings.ToLower(x.pattern), strings.ToLower(a.Target))
	}
	return false
}

// uncertain returns a rule with a pattern that the call may fall under, and why: a
// command line not known in full, or a tool that does not say what it touches.
func (c *call) uncertain(s *ruleSet) (*rule, string) {
	if x, why := c.unchecked(s); why != "" {
		return x, why
	}
	return c.mayChange(s)
}

// mayChange returns an Edit rule about a file that a command names and may change, and why
// nothing keeps it from that. A command that is known to change the file falls under the
// rule itself.
func (c *call) mayChange(s *ruleSet) (*rule, string) {
	if b := s.of("Edit"); b == nil || len(b.scoped) == 0 || c.lines == nil {
		return nil, ""
	}
	for _, i := range c.matching(s) {
		if x := &s.all[i]; x.tool == "Edit" && x.pattern != "" {
			if name := c.changer(x); name != "" {
				return x, shellword.Show(name) + " is told to open the file, and may still write there; no sandbox holds it"
			}
		}
	}
	return nil, ""
}

// changer returns the name of a command that may change a file which an Edit rule with a
// pattern is about, "" for none.
func (c *call) changer(x *rule) string {
	for at, a := range c.req.Access {
		if a.Kind != RunCommand {
			continue
		}
		if name := c.lines[at].MayChange(x.path, c.held()); name != "" {
			return name
		}
	}
	return ""
}

// held are the paths that the operating system keeps the call from writing.
func (c *call) held() []string {
	if c.req.Confined {
		return c.req.WriteProtected
	}
	return nil
}

// enforced reports whether the operating system keeps the call from writing all files that an
// Edit rule is about, so that the rule holds for every command.
func (c *call) enforced(x *rule) bool {
	held := c.held()
	if len(held) == 0 || x.tool != "Edit" {
		return false
	}
	path, ok := x.path.Plain()
	if !ok {
		return false
	}
	from := append([]string{c.req.Dir}, c.req.Roots...)
	if home, below := strings.CutPrefix(path, "~/"); below {
		path, from = home, []string{paths.Home()}
	} else if filepath.IsAbs(path) {
		from = []string{""}
	}
	return !slices.ContainsFunc(from, func(dir string) bool { return !cmdline.Held(filepath.Join(dir, path), held) })
}

// unchecked returns a rule with a pattern that cannot be checked for the call, and why.
func (c *call) unchecked(s *ruleSet) (*rule, string) {
	if !c.doubtful(s) {
		return nil, ""
	}
	for _, i := range c.concerning(s) {
		x := &s.all[i]
		if x.pattern == "" || c.enforced(x) {
			continue
		}
		if len(c.req.Access) == 0 && c.named(x) {
			return x, "the tool does not say what it touches"
		}
		for at, a := range c.req.Access {
			if a.Kind != RunCommand {
				continue
			}
			if a.Elsewhere && (x.tool == "Read" || x.tool == "Edit") {
				return x, elsewhere
			}
			if why := c.lines[at].uncertain(x, c.req.Tool); why != "" {
				return x, why
			}
		}
	}
	return nil, ""
}

// doubtful reports whether a rule of the set may hold for the call without being
// seen to.
func (c *call) doubtful(s *ruleSet) bool {
	if len(s.all) == 0 || len(c.req.Access) > 0 && c.lines == nil {
		return false
	}
	files := false // rules for what lines open
	for _, tool := range []string{"Read", "Edit"} {
		b := s.of(tool)
		files = files || b != nil && len(b.scoped) > 0
	}
	if files && slices.ContainsFunc(c.req.Access, func(a Access) bool { return a.Elsewhere }) {
		return true
	}
	return c.lines == nil || slices.ContainsFunc(c.lines, func(x *shellLine) bool { return x != nil && x.Doubtful(files) })
}

// allowedBy returns a rule of those that together cover the call, nil if they do not.
func (c *call) allowedBy(s *ruleSet) *rule {
	if len(s.all) == 0 {
		return nil
	}
	for _, i := range c.plain(s) {
		if x := &s.all[i]; c.named(x) {
			return x
		}
	}
	var by *rule
	for at := range c.req.Access {
		if c.req.Access[at].Kind == ReadFile {
			continue // reading needs no rule, and a rule for reading allows nothing else
		}
		x, ok := c.covers(s, at)
		if !ok {
			return nil
		}
		by = x
	}
	return by
}

func (c *call) covers(s *ruleSet, at int) (*rule, bool) {
	a := &c.req.Access[at]
	switch {
	case a.Kind != RunCommand:
	case !a.Elsewhere:
		return c.lines[at].allowedBy(s, c.req.Tool)
	case c.lines[at].Writes():
		return nil, false
	default:
		return c.lines[at].coveredBy(s, c.req.Tool, true)
	}
	found := c.found[:0]
	for i, name := range c.tools() {
		if b := s.of(name); b != nil && !slices.Contains(c.names[:i], name) {
			found = c.about(append(found, b.plain...), s, b, name, at)
		}
	}
	c.found = found
	for _, i := range sorted(found) {
		x := &s.all[i]
		if !c.concerned(x, a.Kind) {
			continue
		}
		switch {
		case x.pattern == "",
			a.Kind == FetchURL && c.address(a).matches(x, true),
			a.Kind == UseName && matchText(x.pattern, a.Target),
			a.Kind == EditFile && c.ground.AllowedBy(x.path, a.Target):
			return x, true
		}
	}
	return nil, false
}

// byMode settles what no rule has settled and what is not read-only.
func (c *call) byMode(mode Mode, why string) *Decision {
	switch mode {
	case AcceptEdits:
		if trouble := c.whyNotEdit(); trouble == "" {
			return decide(Allowed, FromMode, nil, c.String()+" edits files in the working folders, which the mode "+string(mode)+" allows")
		} else if trouble != notAnEdit {
			why = trouble
		}
	case Auto:
		trouble := c.danger()
		if trouble == "" {
			return decide(Allowed, FromMode, nil, c.String()+" is not known to be dangerous, which the mode "+string(mode)+" allows")
		}
		why = trouble
	case Plan:
	case DontAsk: // the denial names the mode
		return decide(Asked, FromMode, nil, c.String()+" needs permission because "+why+c.remedy())
	default:
		mode = Default
	}
	return decide(Asked, FromMode, nil, c.String()+" needs permission in mode "+string(mode)+" because "+why+c.remedy())
}

// remedy says which rules would allow the call.
func (c *call) remedy() string {
	rules := c.suggest(Usual)
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
		case !c.ground.Inside(a.Target):
			return shellword.Show(a.Target) + " is outside of the working folders"
		case c.ground.Guards(a.Target):
			return shellword.Show(a.Target) + " decides what runs later"
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
	for i, a := range c.req.Access {
		switch a.Kind {
		case EditFile:
			if trouble := c.whyNotEdit(); trouble != "" && trouble != notAnEdit {
				return trouble
			}
		case RunCommand:
			if a.Elsewhere {
				return elsewhere
			}
			if why := c.lines[i].Danger(); why != "" {
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
