package rules

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/effects"
)

// Rules are found through indexes. Here each rule is looked at, one by one, and has
// to lead to the same decision.

// plainly is what a policy without ceilings and private paths says, found by trying
// each rule of each list.
func plainly(p Policy, r Request) *Decision {
	c, about := p.Compile(), newCase(&r)
	asked := func(d *Decision) *Decision {
		if p.Mode == DontAsk {
			d.unasked()
		}
		return d
	}
	if x := c.deny.broken(); x != nil {
		return decide(Denied, FromRule, x, fmt.Sprintf("%s is denied because a deny rule cannot be read: %v", about.String(), x.err))
	}
	if x, a := about.anyHolds(c.deny); x != nil {
		return decide(Denied, FromRule, x, fmt.Sprintf("%s is denied by the rule %s", about.on(a), x.name()))
	}
	if x, why := about.anyDoubt(c.deny); x != nil && p.Mode == Bypass {
		return decide(Denied, FromRule, x, fmt.Sprintf("%s is denied because the rule %s cannot be checked: %s", about.String(), x.name(), why))
	}
	if p.Mode == Bypass {
		return decide(Allowed, FromMode, nil, fmt.Sprintf("the mode %s asks nothing", p.Mode))
	}
	why := about.whyChanges(c)
	if p.Mode == Plan && why != "" && !(about.onlyFetches() && r.ReadOnly) {
		return decide(Asked, FromMode, nil, fmt.Sprintf("%s has to wait in mode plan because %s; it can run once the plan is approved", about.String(), why))
	}
	if x := c.ask.broken(); x != nil {
		return asked(decide(Asked, FromRule, x, fmt.Sprintf("%s needs permission because of the rule %s", about.on(nil), x.name())))
	}
	if x, a := about.anyHolds(c.ask); x != nil {
		return asked(decide(Asked, FromRule, x, fmt.Sprintf("%s needs permission because of the rule %s", about.on(a), x.name())))
	}
	for _, s := range []*ruleSet{c.deny, c.ask} {
		if x, why := about.anyDoubt(s); x != nil {
			return asked(decide(Asked, FromRule, x, fmt.Sprintf("%s needs permission because the rule %s cannot be checked: %s", about.String(), x.name(), why)))
		}
	}
	if x := about.allCovered(c.allow); x != nil {
		return decide(Allowed, FromRule, x, fmt.Sprintf("%s is allowed by the rule %s", about.String(), x.name()))
	}
	if why == "" {
		return decide(Allowed, FromMode, nil, fmt.Sprintf("%s only reads", about.String()))
	}
	return asked(about.byMode(p.Mode, why))
}

func (c *call) anyHolds(s *ruleSet) (*rule, *Access) {
	for i := range s.all {
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

func (c *call) anyDoubt(s *ruleSet) (*rule, string) {
	for i := range s.all {
		x := &s.all[i]
		if x.pattern == "" {
			continue
		}
		if len(c.req.Access) == 0 && c.named(x) {
			return x, "the tool does not say what it touches"
		}
		for at, a := range c.req.Access {
			if a.Kind == RunCommand {
				if why := c.lines[at].uncertain(x, c.req.Tool); why != "" {
					return x, why
				}
			}
		}
	}
	for i := range s.all {
		if x := &s.all[i]; x.tool == "Edit" && x.pattern != "" && x.err == nil {
			if name := c.changer(x); name != "" {
				return x, name + " is told to open the file, and may still write there; no sandbox holds it"
			}
		}
	}
	return nil, ""
}

func (c *call) allCovered(s *ruleSet) *rule {
	var good []*rule
	for i := range s.all {
		if x := &s.all[i]; x.err == nil {
			good = append(good, x)
		}
	}
	for _, x := range good {
		if x.pattern == "" && c.named(x) {
			return x
		}
	}
	var by *rule
	for at, a := range c.req.Access {
		switch a.Kind {
		case ReadFile:
			continue
		case RunCommand:
			if by = c.lines[at].lineCovered(good, c.req.Tool); by == nil {
				return nil
			}
			continue
		}
		i := slices.IndexFunc(good, func(x *rule) bool {
			return c.concerned(x, a.Kind) && (x.pattern == "" || a.Kind == FetchURL && c.address(&a).matches(x, true) ||
				a.Kind == UseName && matchText(x.pattern, a.Target) || a.Kind == EditFile && c.ground.AllowedBy(x.path, a.Target))
		})
		if i < 0 {
			return nil
		}
		by = good[i]
	}
	return by
}

func (s *shellLine) lineCovered(rules []*rule, tool string) (by *rule) {
	if s.Unclear != "" {
		return nil
	}
	covered := make([]bool, len(s.List))
	for i := range s.List {
		c := &s.List[i]
		if c.Outer > 0 && covered[c.Outer-1] {
			covered[i] = true
			continue
		}
		forms := [][]string{c.List(c.Path)}
		if c.Path != "" && !slices.ContainsFunc(c.Set, func(n string) bool { return !effects.IsInert(n) }) {
			forms = append(forms, slices.Concat([]string{c.Path}, c.Args))
			if c.OwnName() {
				forms = append(forms, slices.Concat([]string{c.Name}, c.Args))
			}
		}
		at := slices.IndexFunc(rules, func(x *rule) bool {
			return x.pattern != "" && x.names(tool) && slices.ContainsFunc(x.commands, func(p commandPattern) bool { return slices.ContainsFunc(forms, p.matches) && s.means(&p, c) })
		})
		if at >= 0 {
			by, covered[i] = rules[at], true
		} else if s.CommandReads(c, false) != "" && !c.Passes() {
			return nil
		}
	}
	for _, r := range s.Redirects {
		if !r.Write {
			continue
		}
		var last *rule
		files, ok := s.Files(r.In, r.Word)
		for _, f := range files {
			at := slices.IndexFunc(rules, func(x *rule) bool { return x.tool == "Edit" && (x.pattern == "" || s.allowedByPath(x, f)) })
			if at < 0 {
				return nil
			}
			last = rules[at]
		}
		if !ok || last == nil {
			return nil
		}
		if by == nil {
			by = last
		}
	}
	return by
}

func (s *shellLine) allowedByPath(x *rule, file string) bool {
	return s.Context.AllowedBy(x.path, file)
}

// requests makes policies and calls that have much to do with one another, in folders
// with links.
type requests struct {
	*grammar
	dir string
}

func newRequests(t *testing.T, random *rand.Rand) *requests {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"src/a/b", "docs", ".git", "other/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{".env", "src/a/.env", "src/a/b/x.go", "docs/x.md", "x.txt", "other/deep/y", "src/_"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "src/a", "secret": ".env", "src/up": "..", "loop": "loop", "away": "/etc", "docs/l": "../link/b"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here")
		}
	}
	return &requests{grammar: &grammar{choose: random.IntN}, dir: dir}
}

func (q *requests) path() string {
	p := q.pick("", "/", "./", "src/", "src/a/", "src/a/b/", "docs/", "link/", "docs/l/", "src/up/", "../", "other/", "away/", "_/", "src/../") +
		q.pick("", "x.txt", ".env", "x.go", "a", "b", "secret", "_", "x.md", "loop", "new", "new/deep", "passwd", "deep/y", "*.go", "src", "link")
	return p
}

func (q *requests) pattern() string {
	front := q.pick("", "/", "/", "//", "~/", "../", "/src/", "/src/a/", "/link/", "//etc/", "src/", "docs/", "/"+q.dir+"/", "/"+q.dir+"/src/", "/other/", "/_/", "/**/", "/docs/l/")
	return front + q.pick("*", "**", "*.go", ".env", "x.txt", "a", "a/**", "b/*", "_", "_/a", "src", "x.[gm]*", "?nv", `\.env`, "new/**", "**/x.go", "passwd", "deep", "b/")
}

func (q *requests) command() string {
	name := q.pick("rm", "git", "ls", "cat", "go", "foo", "npm run", "git push", "git -C", "echo", "touch", "'git'", "sort", "env", "./a", "/bin/ls")
	return q.pick(name, name, name+" *", name+" *", name+":*", name+" a", name+" -n *", name+"*", name+" * b", name+" push *", "*", "* "+name, name+" x*", "r*", "A=1 "+name+" *")
}

func (q *requests) rule() Rule {
	switch q.choose(12) {
	case 0:
		return Rule(q.pick("Bash", "Edit", "Read", "WebFetch", "Write", "Skill", "mcp__a", "mcp__a__b", "mcp__a__*", "mcp__*", "*", "Web*", "mcp__a_", "Edit(", "Fetch", "Bash(*)", "Edit(*)", "Read(*)"))
	case 1, 2:
		return Rule("Edit(" + q.pattern() + ")")
	case 3, 4:
		return Rule("Read(" + q.pattern() + ")")
	case 5:
		return Rule(q.pick("WebFetch", "Fetch", "Bash") + "(" + q.pick("domain:example.com", "domain:*.example.com", "domain:com", "domain:Docs.Example.com", "https://*", "https://example.com/*", "domain:evil.org", "*example*") + ")")
	case 6:
		return Rule(q.pick("Skill", "Task") + "(" + q.pick("a", "A", "a*", "*b", "*") + ")")
	}
	return Rule(q.pick("Bash", "Bash", "Bash", "Bash", "Shell", "PowerShell") + "(" + q.command() + ")")
}

func (q *requests) rules(most int) []Rule {
	var out []Rule
	for range q.choose(most + 1) {
		if r := q.rule(); r != "Edit(" || q.choose(40) == 0 {
			out = append(out, r)
		}
	}
	return out
}

func (q *requests) policy() Policy {
	most := []int{2, 6, 30}[q.choose(3)]
	return Policy{Mode: Modes[q.choose(len(Modes))], Allow: q.rules(most), Ask: q.rules(most / 2), Deny: q.rules(most / 2)}
}

func (q *requests) line() string {
	if q.choose(3) == 0 {
		return q.list()
	}
	var parts []string
	for range 1 + q.choose(3) {
		words := []string{q.pick("cat", "ls", "git", "git push", "rm", "touch", "cp -r", "grep -r a", "go", "npm run", "echo", "A=1 foo", "A=1 git", "./a", "/bin/ls", "env git", "sudo rm", "'git' -C a", "sort", "$x", "tar cf o")}
		for range q.choose(4) {
			words = append(words, q.pick(q.path(), q.path(), q.path(), "'"+q.path()+"'", "-n", "--file="+q.path(), "a:"+q.path(), "@"+q.path(), q.word(), "{"+q.path()+",b}"))
		}
		if q.choose(4) == 0 {
			words = append(words, q.pick(">", ">>", "<", "2>"), q.path())
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return strings.Join(parts, q.pick("; ", " && ", " | ", "\n", " || "))
}

func (q *requests) request() Request {
	r := Request{Dir: q.dir, ReadOnly: q.choose(3) == 0, NonDestructive: q.choose(3) == 0}
	switch q.choose(5) {
	case 0:
		r.Roots = []string{q.dir}
	case 1:
		r.Dir, r.Roots = q.dir+"/src", []string{q.dir, q.dir + "/other"}
	case 2:
		r.Dir = q.dir + "/link"
	}
	r.Tool = q.pick("Bash", "Bash", "Edit", "Write", "Read", "WebFetch", "Skill", "Task", "mcp__a__b", "mcp__a___b", "WebSearch", "Shell", "Glob")
	if q.choose(6) == 0 {
		r.Aliases = []string{q.pick("Bash", "Edit", "Fetch", "Read", "Shell", r.Tool)}
	}
	absolute := func() string { return q.dir + "/" + q.path() }
	for range q.choose(6) % 3 {
		a := Access{}
		switch q.choose(6) {
		case 0, 1, 2:
			a = Access{Kind: RunCommand, Target: q.line()}
			if q.choose(5) == 0 {
				a.Dir = q.dir + q.pick("/src", "/link", "/docs/l", "/none")
			}
		case 3:
			a = Access{Kind: EditFile, Target: q.pick(absolute(), absolute(), absolute(), "/etc/passwd", "/"+q.path(), q.path())}
		case 4:
			a = Access{Kind: ReadFile, Target: q.pick(absolute(), absolute(), "/etc/passwd", q.path())}
		case 5:
			if a = (Access{Kind: UseName, Target: q.pick("a", "A", "ab", "*")}); q.choose(2) == 0 {
				a = Access{Kind: FetchURL, Target: q.pick("https://example.com/x", "https://docs.example.com", "http://evil.org", "example.com/a", "https://a.com\\@b.com/", "%", "https://COM")}
			}
		}
		r.Access = append(r.Access, a)
	}
	return r
}

// Each rule is found that would be found by looking at all of them.
func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	q := newRequests(t, random)
	counts := map[string]int{}
	for range 600 {
		p := q.policy()
		c := p.Compile()
		for range 4 {
			r := q.request()
			got, want := c.Decide(&r), plainly(p, r)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("policy %+v\nrequest %+v\ngot  %+v\nwant %+v", p, r, got, want)
			}
			counts[string(got.Behavior)+" by "+string(got.Source)]++
		}
	}
	for _, kind := range []string{"deny by rule", "ask by rule", "allow by rule", "ask by mode", "allow by mode"} {
		if counts[kind] < 50 {
			t.Errorf("only %d decisions are %s: %v", counts[kind], kind, counts)
		}
	}
}
