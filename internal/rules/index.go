package rules

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// Rules are found by what they are about, so that a call is matched against few of
// many. What is found may match; what is not found does not. Lists of rules are
// indexes in a set, whose order is that of the rules.

// A ruleSet is a list of rules that do the same: allow, ask or deny.
type ruleSet struct {
	all    []rule
	allows bool
	byTool map[string]*bucket
	wild   []int // rules for more than one tool, none of which has a pattern
	bad    int   // index of the first that cannot be read, -1 for none
}

// A bucket is the rules for one tool.
type bucket struct {
	plain    []int // rules without a pattern
	scoped   []int // rules with one
	any      []int // rules with the pattern "*"
	commands wordIndex
	domains  wordIndex // of hosts
	paths    pathIndex
}

// noRules is the set of most lists of most agents.
var noRules = &ruleSet{bad: -1}

func newRuleSet(rules []Rule, allows bool, origin func(Rule) string) *ruleSet {
	if len(rules) == 0 {
		return noRules
	}
	s := &ruleSet{all: make([]rule, len(rules)), allows: allows, bad: -1, byTool: map[string]*bucket{}}
	for i, r := range rules {
		x, err := r.parse()
		x.source, x.origin, x.err = r, origin(r), err
		s.all[i] = x
		switch {
		case err != nil:
			if s.bad < 0 {
				s.bad = i
			}
		case strings.Contains(x.tool, "*") || strings.HasPrefix(x.tool, "mcp__"):
			s.wild = append(s.wild, i)
		default:
			s.file(i)
		}
	}
	return s
}

func (s *ruleSet) file(i int) {
	x := &s.all[i]
	b := s.byTool[x.tool]
	if b == nil {
		b = &bucket{}
		s.byTool[x.tool] = b
	}
	if x.pattern == "" {
		b.plain = append(b.plain, i)
		return
	}
	b.scoped = append(b.scoped, i)
	if x.pattern == "*" {
		b.any = append(b.any, i)
	}
	for _, p := range x.commands {
		if s.allows {
			b.commands.add(i, p.allowKeys())
		} else {
			b.commands.add(i, p.forbidKeys())
		}
	}
	if x.domain == "" {
		b.domains.add(i, nil)
	} else {
		b.domains.add(i, []string{x.domain})
	}
	if s.allows {
		b.paths.add(i, x.path.Exact())
	} else {
		b.paths.add(i, x.path)
	}
}

// broken returns the first rule that cannot be read, nil if there is none.
func (s *ruleSet) broken() *rule {
	if s.bad < 0 {
		return nil
	}
	return &s.all[s.bad]
}

// of returns the rules for a tool, nil for none.
func (s *ruleSet) of(tool string) *bucket { return s.byTool[tool] }

// sorted brings what was found into the order of the rules.
func sorted(found []int) []int {
	slices.Sort(found)
	return slices.Compact(found)
}

// A wordIndex finds rules by a word of their patterns.
type wordIndex struct {
	by   map[string][]int
	free []int // rules that may match whatever the word is
}

// add files a rule under each key, without any as one that may match everything.
//
//go:noinline // called from many places: every program stays smaller
func (x *wordIndex) add(i int, keys []string) {
	if len(keys) == 0 {
		x.free = append(x.free, i)
		return
	}
	if x.by == nil {
		x.by = map[string][]int{}
	}
	for _, k := range keys {
		x.by[k] = append(x.by[k], i)
	}
}

// forbidKeys returns the first words of what the pattern may match as one that
// forbids, and the name that it takes for a command's; none if that may be any.
func (p *commandPattern) forbidKeys() []string {
	front, _, open := strings.Cut(p.text, "*")
	if open && !strings.Contains(front, " ") {
		return nil
	}
	keys := []string{shellscan.FirstWord(front)}
	if len(p.want) < 2 {
		return keys
	}
	if paths.FoldCase { // names are compared without regard to case
		return nil
	}
	return append(keys, p.want[0])
}

// allowKeys returns the first word of what the pattern matches as one that allows.
func (p *commandPattern) allowKeys() []string {
	if len(p.want) == 0 {
		return nil
	}
	return p.want[:1]
}

// A pathIndex finds rules by the literal segments that their paths begin with.
type pathIndex struct {
	under  wordIndex // seen from a folder that is given
	rooted wordIndex // seen from the root of the file system
}

func (x *pathIndex) add(i int, p *paths.Pattern) {
	n := 0
	for n < len(p.Pats) && p.Pats[n] != paths.InFolder && !strings.ContainsAny(p.Pats[n], paths.Magic) {
		n++
	}
	key := strings.Join(p.Pats[:n], "/")
	switch {
	case n > 0 && p.From == '/':
		x.rooted.add(i, []string{key})
	case n > 0 && p.From == 0 && p.Ups == 0:
		x.under.add(i, []string{key})
	default:
		x.under.free = append(x.under.free, i)
	}
}

// find appends the rules whose paths may cover a file, seen from the folders, or the
// folder that it is in. File and folders are [paths.Joined] segments.
func (x *pathIndex) find(found []int, file string, from []string) []int {
	found = append(found, x.under.free...)
	found = x.rooted.above(found, file)
	if len(x.under.by) == 0 {
		return found
	}
	for _, dir := range from {
		rest := file
		if dir != "" {
			below, ok := strings.CutPrefix(file, dir)
			if !ok || below == "" || below[0] != '/' {
				continue
			}
			rest = below[1:]
		}
		found = x.under.above(found, rest)
	}
	return found
}

// above appends the rules for a file and all folders above it.
//
//go:noinline // called from many places: every program stays smaller
func (x *wordIndex) above(found []int, file string) []int {
	if len(x.by) == 0 {
		return found
	}
	for i := range len(file) {
		if file[i] == '/' {
			found = append(found, x.by[file[:i]]...)
		}
	}
	return append(found, x.by[file]...)
}

// host appends the rules for a host and the domains that it is in.
func (x *wordIndex) host(found []int, host string) []int {
	found = append(found, x.free...)
	if len(x.by) == 0 {
		return found
	}
	found = append(found, x.by[host]...)
	for i := range len(host) {
		if host[i] == '.' {
			found = append(found, x.by[host[i+1:]]...)
		}
	}
	return found
}
