package permission

import (
	"path"
	"slices"
	"strings"
)

// Rules and command lines.

// commandPatterns returns the plain patterns of a rule: "git diff:*" and
// "git diff *" are the command with arguments or without.
func commandPatterns(p string) []string {
	if s, ok := strings.CutSuffix(p, ":*"); ok {
		p = s + " *"
	}
	if s, ok := strings.CutSuffix(p, " *"); ok && s != "" {
		return []string{p, s}
	}
	return []string{p}
}

// forms returns the texts of a command that rules which forbid are matched
// against. Loose forms let an expansion become several words or none.
func (c *Command) forms(loose bool) []string {
	names := []string{c.path}
	base := strings.TrimSuffix(path.Base(c.path), ".exe")
	if c.Name == Unknown {
		base = Unknown
	}
	names = append(names, base)
	if foldCase {
		names = append(names, strings.ToLower(base))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var out []string
	for _, n := range names {
		out = append(out, c.join(n, loose))
	}
	if len(c.Env) > 0 {
		out = append(out, c.text())
	}
	return out
}

// join returns the command without its assignments and under another name.
func (c *Command) join(name string, loose bool) string {
	var b strings.Builder
	b.WriteString(name)
	for _, w := range c.words {
		switch {
		case loose && (w.split || w.glob != "") && w.text == Unknown:
			b.WriteString(Unknown)
		case loose && w.glob != "":
			b.WriteString(" " + Unknown)
		default:
			b.WriteString(" " + w.text)
		}
	}
	return b.String()
}

// runs reports whether the line, as written or in part, matches a pattern.
func (s *site) runs(pattern string) bool {
	patterns := commandPatterns(pattern)
	match := func(text string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matchText(p, text) })
	}
	if match(strings.TrimSpace(s.line)) {
		return true
	}
	for i := range s.List {
		if match(s.List[i].Raw) || slices.ContainsFunc(s.List[i].forms(false), match) {
			return true
		}
	}
	return false
}

// mayRun reports whether the line may run what matches a pattern, as far as it
// is known.
func (s *site) mayRun(pattern string) bool {
	if s.Unclear != "" {
		return true
	}
	patterns := commandPatterns(pattern)
	for i := range s.List {
		for _, text := range s.List[i].forms(true) {
			if strings.Contains(text, Unknown) && slices.ContainsFunc(patterns, func(p string) bool { return mayMatch(p, text) }) {
				return true
			}
		}
	}
	return false
}

// doubt says why a rule with a pattern may hold for the line without being seen
// to, "" if it cannot.
func (s *site) doubt(x rule, tool string) string {
	if x.tool == "Read" || x.tool == "Edit" {
		return s.mayTouch(x)
	}
	switch {
	case !x.names(tool) || !s.mayRun(x.pattern):
		return ""
	case s.Unclear != "":
		return s.Unclear
	}
	return "parts of it are only known when it runs"
}

// allowedBy returns a rule of those that together cover the line.
func (s *site) allowedBy(rules []rule, tool string) (rule, bool) {
	if s.Unclear != "" {
		return rule{}, false
	}
	var by rule
	covered := make([]bool, len(s.List))
	for i := range s.List {
		c := &s.List[i]
		if c.outer > 0 && covered[c.outer-1] {
			covered[i] = true
			continue
		}
		x, ok := c.allowedBy(rules, tool)
		if ok {
			by, covered[i] = x, true
			continue
		}
		if s.commandReads(c, false) != "" && !c.passes() {
			return rule{}, false
		}
	}
	for _, r := range s.Redirects {
		if !r.Write {
			continue
		}
		x, ok := s.editable(rules, r)
		if !ok {
			return rule{}, false
		}
		if by.source == "" {
			by = x
		}
	}
	return by, by.source != ""
}

// passes reports whether the command only runs the next one in the list.
func (c *Command) passes() bool {
	w := wrappers[c.Name]
	return c.wraps && !w.grants && c.ownName()
}

// allowedBy returns the rule that covers a command. Variables that may change
// what it does have to be in the rule.
func (c *Command) allowedBy(rules []rule, tool string) (rule, bool) {
	texts := []string{c.text()}
	if !slices.ContainsFunc(c.set, func(n string) bool { return !harmless(n) }) && c.path != "" {
		texts = append(texts, c.join(c.path, false))
		if c.ownName() {
			texts = append(texts, c.join(c.Name, false))
		}
	}
	for _, x := range rules {
		if x.pattern == "" || !x.names(tool) {
			continue
		}
		for _, p := range commandPatterns(x.pattern) {
			if slices.ContainsFunc(texts, func(t string) bool { return matchText(p, t) }) {
				return x, true
			}
		}
	}
	return rule{}, false
}

// editable returns the Edit rule that covers a redirection.
func (s *site) editable(rules []rule, r Redirect) (rule, bool) {
	files, ok := s.files(r.in, r.word)
	if !ok {
		return rule{}, false
	}
	var by rule
	for _, f := range files {
		i := slices.IndexFunc(rules, func(x rule) bool {
			return x.tool == "Edit" && (x.pattern == "" || s.ground.allowedBy(x.pattern, f))
		})
		if i < 0 {
			return rule{}, false
		}
		by = rules[i]
	}
	return by, by.source != ""
}
