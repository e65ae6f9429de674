package rules

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// Which rules of a set a call has to be matched against. All lists are in the order
// of the rules.

// buckets calls f for the rules of a set of each tool that the call is about.
func (c *call) buckets(s *ruleSet, f func(*bucket)) {
	for i, name := range c.tools() {
		if !slices.Contains(c.names[:i], name) {
			if b := s.of(name); b != nil {
				f(b)
			}
		}
	}
}

// wild appends the rules for more than one tool that are for the call's.
//
//go:noinline // called from many places: every program stays smaller
func (c *call) wild(found []int, s *ruleSet) []int {
	for _, i := range s.wild {
		if c.named(&s.all[i]) {
			found = append(found, i)
		}
	}
	return found
}

// concerning returns the rules of a set that are for the call's tools.
func (c *call) concerning(s *ruleSet) []int {
	if len(s.all) == 0 {
		return nil
	}
	found := c.wild(nil, s)
	c.buckets(s, func(b *bucket) { found = append(append(found, b.plain...), b.scoped...) })
	return sorted(found)
}

// plain returns the rules without a pattern.
func (c *call) plain(s *ruleSet) []int {
	if len(s.all) == 0 {
		return nil
	}
	found := c.wild(c.found[:0], s)
	c.buckets(s, func(b *bucket) { found = append(found, b.plain...) })
	c.found = found
	return sorted(found)
}

// matching returns the rules of a set that may match the call or one of its accesses.
// What it returns lasts until the next look.
func (c *call) matching(s *ruleSet) []int {
	if len(s.all) == 0 {
		return nil
	}
	found := c.wild(c.found[:0], s)
	for i, name := range c.tools() {
		b := s.of(name)
		if b == nil || slices.Contains(c.names[:i], name) {
			continue
		}
		found = append(append(found, b.plain...), b.any...)
		for at := range c.req.Access {
			found = c.about(found, s, b, name, at)
		}
	}
	c.found = found
	return sorted(found)
}

// about appends the rules with a pattern, for a tool, that may match an access.
func (c *call) about(found []int, s *ruleSet, b *bucket, tool string, at int) []int {
	if len(b.scoped) == 0 {
		return found
	}
	a := &c.req.Access[at]
	switch {
	case a.Kind == RunCommand && (tool == "Read" || tool == "Edit"):
		return c.lines[at].opening(found, b)
	case a.Kind == RunCommand:
		found = append(found, b.commands.free...)
		if len(b.commands.by) > 0 {
			found = append(found, b.commands.by[shellscan.FirstWord(strings.TrimSpace(a.Target))]...)
			for _, h := range c.lines[at].Heads {
				found = append(found, b.commands.by[h]...)
			}
		}
		return found
	case a.Kind == ReadFile || a.Kind == EditFile:
		return b.paths.about(found, c.ground, s.allows, a.Target)
	case a.Kind == FetchURL:
		if host := c.address(a).host; host != "" {
			return b.domains.host(found, host)
		}
	}
	return append(found, b.scoped...)
}

// about appends the rules for paths that may match a file.
func (x *pathIndex) about(found []int, g *paths.Context, allows bool, file string) []int {
	if allows {
		if form, tops, ok := g.AllowedForm(file); ok {
			found = x.find(found, form, tops)
		}
		return found
	}
	forms, tops := g.DeniedForms(file)
	for _, f := range forms {
		found = x.find(found, f, tops)
	}
	return found
}

// opening appends the rules for paths that the line may open.
func (s *shellLine) opening(found []int, b *bucket) []int {
	files, ok := s.Opens()
	if !ok {
		return append(found, b.scoped...)
	}
	for _, f := range files {
		found = b.paths.about(found, s.Context, false, f)
	}
	return found
}
