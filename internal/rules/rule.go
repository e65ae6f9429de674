package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// ParseRule reads one rule; see [Rule.Check].
func ParseRule(s string) (Rule, error) {
	r := Rule(strings.TrimSpace(s))
	return r, r.Check()
}

// ParseRules reads a list of rules separated by commas or white space. Commas
// and white space inside parentheses belong to the pattern. The error names the
// rule that is wrong.
func ParseRules(s string) ([]Rule, error) {
	var rules []Rule
	depth, start := 0, 0
	add := func(end int) error {
		if start < end {
			r, err := ParseRule(s[start:end])
			if err != nil {
				return err
			}
			rules = append(rules, r)
		}
		return nil
	}
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && (c == ',' || unicode.IsSpace(c)):
			if err := add(i); err != nil {
				return nil, err
			}
			start = i + len(string(c))
		}
	}
	if err := add(len(s)); err != nil {
		return nil, err
	}
	return rules, nil
}

// Check reports what is wrong with a rule.
func (r Rule) Check() error {
	_, err := r.parse()
	return err
}

// A rule is a [Rule] taken apart.
type rule struct {
	source   Rule
	tool     string
	pattern  string           // "" without parentheses
	path     *paths.Pattern   // the pattern as one for files
	commands []commandPattern // the pattern as one for command lines
	options  []string         // the long options that the pattern names
	domain   string           // the pattern as one for hosts, "" for one that is text
	origin   string           // where it was written
	err      error            // it cannot be read
}

// name is the rule as it was written, and where.
//
//go:noinline // called from many places: every program stays smaller
func (x *rule) name() string {
	if x.origin == "" {
		return string(x.source)
	}
	return string(x.source) + " of " + x.origin
}

func (r Rule) parse() (x rule, err error) {
	if err := x.read(r); err != nil {
		return rule{}, err
	}
	return x, nil
}

// read is parse. It fills in x.
func (x *rule) read(r Rule) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("parsing rule %q: %s", text.Bytes(string(r), shellword.MaxShown), fmt.Sprintf(format, args...))
	}
	tool, rest, scoped := strings.Cut(string(r), "(")
	x.source, x.tool = r, tool
	if strings.Contains(tool, ")") {
		return bad("unbalanced parentheses")
	}
	if tool == "" {
		return bad("the tool's name is missing")
	}
	if i := strings.IndexFunc(tool, func(c rune) bool { return !isNameRune(c) }); i >= 0 {
		return bad("%q cannot be in a tool's name", []rune(tool[i:])[0])
	}
	if !scoped {
		return nil
	}
	if !balanced(rest) {
		return bad("unbalanced parentheses")
	}
	pattern, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return bad("text after the closing parenthesis")
	}
	x.pattern = strings.TrimSpace(pattern)
	switch {
	case x.pattern == "":
		return bad("the pattern is empty; %s alone covers every call", tool)
	case strings.ContainsRune(x.pattern, 0):
		return bad("the pattern holds a NUL byte")
	case strings.Contains(tool, "*"):
		return bad("a pattern needs the name of one tool")
	case strings.HasPrefix(tool, "mcp__"):
		return bad("external tools take no pattern; %s alone covers every call", tool)
	}
	if tool == "Edit" || tool == "Read" {
		if err := paths.CheckPattern(x.pattern); err != nil {
			return bad("%q: %v", x.pattern, err)
		}
		if strings.HasPrefix(x.pattern, "!") {
			return bad("a pattern cannot be negated")
		}
	}
	if d, ok := strings.CutPrefix(x.pattern, "domain:"); ok {
		if x.domain = cleanHost(d); x.domain == "" {
			return bad("the domain is missing")
		}
	}
	x.path, x.commands = paths.NewPattern(x.pattern, paths.FoldCase), commandPatterns(x.pattern)
	x.options = optionsIn(x.pattern)
	return nil
}

func isNameRune(c rune) bool {
	return c == '_' || c == '-' || c == '*' || c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c))
}

// balanced reports whether s, the text after an opening parenthesis, closes it
// and any other, the first one last.
func balanced(s string) bool {
	depth := 1
	for _, c := range s {
		switch {
		case c == '(' && depth > 0:
			depth++
		case c == ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// ProtectedPath returns the file or folder that a rule for Edit is about, with all that is
// in it: absolute, beginning with "~/", or relative to the working folder. A sandbox can
// keep it from being written. It is false for a rule for another tool, and for a pattern
// that is about files of many places, such as Edit(*.lock).
func (r Rule) ProtectedPath() (string, bool) {
	x, err := r.parse()
	if err != nil || x.tool != "Edit" || x.pattern == "" {
		return "", false
	}
	return x.path.Plain()
}

// EscapesSandbox reports whether a rule that denies is about files that no sandbox keeps from
// programs: a rule for Edit without a ProtectedPath, or a rule for Read.
func (r Rule) EscapesSandbox() bool {
	x, err := r.parse()
	if err != nil || x.pattern == "" {
		return false
	}
	_, held := r.ProtectedPath()
	return !held && (x.tool == "Edit" || x.tool == "Read")
}

// names reports whether the rule is for the tool.
func (x *rule) names(tool string) bool {
	if x.tool == tool {
		return true
	}
	if server, ok := strings.CutPrefix(x.tool, "mcp__"); ok && !strings.Contains(server, "__") && !strings.Contains(server, "*") {
		return strings.HasPrefix(tool, x.tool+"__")
	}
	return matchText(x.tool, tool)
}

// NamesTool reports whether one of the names, which may hold "*" for any text, is the name
// of a tool or one of its other names.
//
//go:noinline // called from many places: every program stays smaller
func NamesTool(names []string, tool string, aliases ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		x := rule{tool: n}
		return x.names(tool) || slices.ContainsFunc(aliases, x.names)
	})
}

// forbidsCommands reports whether the rule, meant to forbid, is about the commands of
// whatever tool: a rule for Bash with a pattern that another tool's command escapes
// would be none.
func (x *rule) forbidsCommands(kind AccessKind) bool {
	return kind == RunCommand && x.tool == "Bash" && x.pattern != ""
}

// matchText reports whether text matches pattern, in which "*" stands for any text.
func matchText(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// mayMatch reports whether text can match pattern when each [Unknown] in it
// becomes some text.
func mayMatch(pattern, text string) bool {
	// reach[i]: pattern[:i] can match the text read so far.
	reach := make([]bool, len(pattern)+1)
	next := make([]bool, len(pattern)+1)
	stars := func(r []bool) {
		for i := range pattern {
			if r[i] && pattern[i] == '*' {
				r[i+1] = true
			}
		}
	}
	reach[0] = true
	stars(reach)
	for t := range len(text) {
		clear(next)
		if text[t] == shellword.Unknown[0] {
			seen := false
			for i := range reach {
				seen = seen || reach[i]
				next[i] = seen
			}
		} else {
			for i := range pattern {
				switch {
				case !reach[i]:
				case pattern[i] == '*':
					next[i] = true
				case pattern[i] == text[t]:
					next[i+1] = true
				}
			}
		}
		stars(next)
		reach, next = next, reach
	}
	return reach[len(pattern)]
}

// An address is where a call fetches something from.
type address struct{ text, host string }

func newAddress(target string) *address {
	host, err := hostOf(target)
	if err != nil {
		host = ""
	}
	return &address{target, host}
}

// matches matches a rule with a pattern for addresses. An address that cannot be
// read matches what forbids and nothing that allows.
func (a *address) matches(x *rule, allow bool) bool {
	if x.domain == "" {
		return matchText(x.pattern, a.text)
	}
	if a.host == "" {
		return !allow
	}
	above, ok := strings.CutSuffix(a.host, x.domain)
	return ok && (above == "" || strings.HasSuffix(above, "."))
}

func hostOf(target string) (string, error) {
	target = strings.TrimSpace(target)
	if !strings.Contains(target, "://") {
		target = "//" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	return cleanHost(u.Hostname()), nil
}

func cleanHost(h string) string {
	h = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(h)), "*.")
	return strings.Trim(h, ".")
}
