package rules

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/rules/cmdline"
	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// Rules and command lines.

// A shellLine is a command line, judged by rules.
type shellLine struct{ cmdline.Line }

// A commandPattern is a pattern for command lines.
type commandPattern struct {
	text string
	want []string // the words in front of the first "*"
	part string   // of the word in which the "*" stands
	tail string   // what follows it
	open bool     // there is a "*"
}

func newCommandPattern(text string) commandPattern {
	front, tail, open := strings.Cut(text, "*")
	p := commandPattern{text: text, want: splitWords(front), tail: tail, open: open}
	if n := len(p.want); open && n > 0 && !strings.HasSuffix(front, " ") && !strings.HasSuffix(front, "\t") {
		p.part, p.want = p.want[n-1], p.want[:n-1]
	}
	return p
}

// commandPatterns returns the plain patterns of a rule: "git diff:*" and
// "git diff *" are the command with arguments or without.
func commandPatterns(p string) []commandPattern {
	if s, ok := strings.CutSuffix(p, ":*"); ok {
		p = s + " *"
	}
	if s, ok := strings.CutSuffix(p, " *"); ok && s != "" {
		return []commandPattern{newCommandPattern(p), newCommandPattern(s)}
	}
	return []commandPattern{newCommandPattern(p)}
}

// anyCommand reports whether is returns true for a pattern of the rule.
func (x *rule) anyCommand(is func(*commandPattern) bool) bool {
	return order.Any(len(x.commands), func(i int) bool { return is(&x.commands[i]) })
}

func (x *rule) matchesText(text string) bool {
	return x.anyCommand(func(p *commandPattern) bool { return matchText(p.text, text) })
}

// runs reports whether the line, as written or in part, matches a pattern.
func (s *shellLine) runs(x *rule) bool {
	match := x.matchesText
	if match(strings.TrimSpace(s.Source)) || s.Form.Line != s.Source && match(s.Form.Line) {
		return true
	}
	for i := range s.List {
		c := &s.List[i]
		if match(c.Raw) || slices.ContainsFunc(c.Forms(false), match) || x.anyCommand(func(p *commandPattern) bool { return p.skips(c, false) }) {
			return true
		}
		if full := spelledOut(c, x.options); full != nil && (slices.ContainsFunc(full.Forms(false), match) || x.anyCommand(func(p *commandPattern) bool { return p.skips(full, false) })) {
			return true
		}
	}
	return false
}

// mayRun reports whether the line may run what matches a pattern, as far as it
// is known.
func (s *shellLine) mayRun(x *rule) bool {
	if s.Unclear != "" {
		return true
	}
	for i := range s.List {
		if !s.List[i].Loose() {
			continue
		}
		if s.List[i].RunsByOption() {
			return true
		}
		if x.anyCommand(func(p *commandPattern) bool { return p.skips(&s.List[i], true) }) {
			return true
		}
		for _, text := range s.List[i].Forms(true) {
			if strings.Contains(text, shellword.Unknown) && x.anyCommand(func(p *commandPattern) bool { return mayMatch(p.text, text) }) {
				return true
			}
		}
	}
	return false
}

// touches reports whether the line opens, or for an Edit rule changes, a file that a rule
// with a path is about.
func (s *shellLine) touches(x *rule) bool {
	if x.tool == "Edit" {
		return s.Changes(x.path)
	}
	return s.Touches(x.path)
}

// uncertain says why a rule with a pattern may hold for the line without being seen
// to, "" if it cannot.
func (s *shellLine) uncertain(x *rule, tool string) string {
	if x.tool == "Read" || x.tool == "Edit" {
		return s.MayTouch(x.path, x.tool == "Edit")
	}
	switch {
	case !x.names(tool) && !x.forbidsCommands(RunCommand) || !s.mayRun(x):
		return ""
	case s.Unclear != "":
		return s.Unclear
	}
	return "parts of it are only known when it runs"
}

// allowedBy returns a rule of those that together cover the line. Commands that only
// read need none.
func (s *shellLine) allowedBy(set *ruleSet, tool string) (*rule, bool) {
	return s.coveredBy(set, tool, false)
}

// coveredBy is allowedBy; with all, commands that only read need a rule as well.
func (s *shellLine) coveredBy(set *ruleSet, tool string, all bool) (*rule, bool) {
	if s.Unclear != "" {
		return nil, false
	}
	var by *rule
	covered := make([]bool, len(s.List))
	for i := range s.List {
		c := &s.List[i]
		if c.Outer > 0 && covered[c.Outer-1] {
			covered[i] = true
			continue
		}
		x, ok := s.ruleFor(c, set, tool)
		if ok {
			by, covered[i] = x, true
			continue
		}
		if !c.Passes() && (all || s.CommandReads(c, false) != "") {
			return nil, false
		}
	}
	for _, r := range s.Redirects {
		if !r.Write {
			continue
		}
		x, ok := s.editable(set, r.In, r.Word)
		if !ok {
			return nil, false
		}
		if by == nil {
			by = x
		}
	}
	return by, by != nil
}

// means reports whether a pattern that allows is meant for a command that it matches.
// One for any arguments is not meant for options by which the command runs programs or
// deletes, nor for those by which a build writes elsewhere than in the folders, unless it
// spells them out; nor for arguments that may turn out to be options.
func (s *shellLine) means(p *commandPattern, c *shellscan.Command) bool {
	if !p.open || len(p.want) == 0 {
		return true
	}
	if slices.ContainsFunc(c.Spell, func(o string) bool { return !slices.Contains(p.want, o) }) || s.OptionsUnknown(c) {
		return false
	}
	return !shellword.Any(c.Outputs, func(w shellword.Word) bool { return !s.Within(c.In, w) || s.GuardedWord(c.In, w) })
}

// ruleFor returns the rule that covers a command. Variables that may change
// what it does have to be in the rule.
func (s *shellLine) ruleFor(c *shellscan.Command, set *ruleSet, tool string) (*rule, bool) {
	b := set.of(tool)
	if b == nil || len(b.scoped) == 0 {
		return nil, false
	}
	named := c.Path != "" && !slices.ContainsFunc(c.Set, func(n string) bool { return !effects.IsInert(n) })
	own := named && c.Name != c.Path && c.OwnName()
	found := append([]int(nil), b.commands.free...)
	if first, ok := c.First(); ok {
		found = append(found, b.commands.by[first]...)
	}
	if named && len(c.Env) > 0 {
		found = append(found, b.commands.by[c.Path]...)
	}
	if own {
		found = append(found, b.commands.by[c.Name]...)
	}
	if len(found) == 0 {
		return nil, false
	}
	forms := [][]string{c.List(c.Path)}
	if named && len(c.Env) > 0 {
		forms = append(forms, slices.Concat([]string{c.Path}, c.Args))
	}
	if own {
		forms = append(forms, slices.Concat([]string{c.Name}, c.Args))
	}
	for _, i := range sorted(found) {
		x := &set.all[i]
		for i := range x.commands {
			if slices.ContainsFunc(forms, x.commands[i].matches) && s.means(&x.commands[i], c) {
				return x, true
			}
		}
	}
	return nil, false
}

// matches reports whether a pattern that allows matches the words of a command:
// word by word up to the first "*", as text from there on. The words of the
// pattern may be quoted.
func (p *commandPattern) matches(words []string) bool {
	if !p.open {
		return slices.Equal(p.want, words)
	}
	if len(words) < len(p.want) || !slices.Equal(p.want, words[:len(p.want)]) {
		return false
	}
	rest := words[len(p.want):]
	if p.part != "" && (len(rest) == 0 || !strings.HasPrefix(rest[0], p.part)) {
		return false
	}
	return p.tail == "" || matchText("*"+p.tail, strings.TrimPrefix(strings.Join(rest, " "), p.part))
}

// skips reports whether a pattern that forbids matches the words of a command when
// flags, and the words after them that may be their values, are left out between
// the words of the pattern: "git -C x push" for "git push *". With may, words that
// are not known stand for any.
func (p *commandPattern) skips(c *shellscan.Command, may bool) bool {
	if len(p.want) < 2 || p.want[0] != c.Path && p.want[0] != strings.TrimSuffix(c.Name, ".exe") && !(paths.FoldCase && strings.EqualFold(p.want[0], c.Name)) {
		return false
	}
	words, want := c.Words, p.want[1:]
	if !shellword.Any(words, func(w shellword.Word) bool { return strings.HasPrefix(w.Text, "-") }) {
		return false
	}
	is := func(w shellword.Word, text string) bool {
		return w.Text == text || may && (w.Glob != "" || strings.Contains(w.Text, shellword.Unknown) && mayMatch(text, w.Text))
	}
	// at[n]: n words of the pattern were met in those that were read so far, the
	// last of which may be a flag's value.
	at, next := make([]bool, len(want)+1), make([]bool, len(want)+1)
	at[0] = true
	for i, w := range words {
		if at[len(want)] && p.meetsRest(words[i:]) {
			return true
		}
		clear(next)
		flag := strings.HasPrefix(w.Text, "-") || may && (w.Split || w.Glob != "")
		value := i > 0 && strings.HasPrefix(words[i-1].Text, "-")
		for n := range at {
			if !at[n] {
				continue
			}
			next[n] = next[n] || flag || value
			for m := n; m < len(want) && is(w, want[m]); m++ {
				next[m+1] = true
				if !may || !w.Split {
					break
				}
			}
		}
		at, next = next, at
	}
	return at[len(want)] && p.meetsRest(nil)
}

// meetsRest reports whether the words after those of the pattern in front of its
// first "*" match the rest of it, or nothing but flags is left.
func (p *commandPattern) meetsRest(words []shellword.Word) bool {
	if !p.open {
		return !shellword.Any(words, func(w shellword.Word) bool { return !strings.HasPrefix(w.Text, "-") })
	}
	if p.part == "" && p.tail == "" {
		return true
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return mayMatch(p.part+"*"+p.tail, strings.Join(texts, " "))
}

// splitWords splits a text into words and removes their quoting, as a shell
// does; where a quote is not closed it is a character like any other.
func splitWords(s string) []string {
	var words []string
	var b strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				words = append(words, b.String())
			}
			inWord = false
			b.Reset()
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 < len(s) && (quote == 0 || quote == '"' && strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			b.WriteByte(s[i])
			inWord = true
		default:
			b.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return strings.Fields(s)
	}
	if inWord {
		words = append(words, b.String())
	}
	return words
}

// joinWords is the reverse of splitWords.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\") {
			quoted[i] = text.QuoteShell(w)
		}
	}
	return strings.Join(quoted, " ")
}

// editable returns the Edit rule that covers a file that is written.
func (s *shellLine) editable(set *ruleSet, in []shellscan.Workdir, w shellword.Word) (*rule, bool) {
	files, ok := s.Files(in, w)
	if !ok {
		return nil, false
	}
	b := set.of("Edit")
	if b == nil {
		return nil, false
	}
	var by *rule
	for _, f := range files {
		list := sorted(b.paths.about(slices.Clone(b.plain), s.Context, true, f))
		i := slices.IndexFunc(list, func(i int) bool {
			x := &set.all[i]
			return x.pattern == "" || s.Context.AllowedBy(x.path, f)
		})
		if i < 0 {
			return nil, false
		}
		by = &set.all[list[i]]
	}
	return by, by != nil
}
