package rules

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// arity is the number of words that say what a command does, where it is not one.
var arity = map[string]int{
	"git": 2, "go": 2, "npm": 2, "npm run": 3, "pnpm": 2, "pnpm run": 3, "yarn": 2, "yarn run": 3, "bun": 2, "bun run": 3, "cargo": 2, "docker": 2,
	"docker compose": 3, "docker container": 3, "docker image": 3, "kubectl": 2, "gh": 3, "pip": 2, "pip3": 2, "uv": 2, "poetry": 2, "apt": 2, "apt-get": 2,
	"pnpm exec": 3, "uv run": 3, "poetry run": 3, "bundle exec": 3, "deno run": 3,
	"brew": 2, "make": 2, "terraform": 2, "aws": 3, "gcloud": 3, "az": 3, "systemctl": 2, "dotnet": 2, "mvn": 2, "gradle": 2, "bundle": 2, "rails": 2,
	"git stash": 3, "git remote": 3, "git worktree": 3, "git submodule": 3, "go mod": 3, "go tool": 3, "deno": 2,
}

// Widths say how much rules allow beside the call that they were made for.
const (
	exact = "exact" // this command, this file
	Usual = "usual" // the command with any arguments, the folder
	broad = "broad" // all commands of the program, all files of the project
)

// A Suggestion is rules that would allow a call together.
type Suggestion struct {
	Width  string
	Rules  []Rule
	Scopes []string // where the rules make sense
}

// Scopes of a [Suggestion].
const (
	ForSession = "session"
	ForProject = "project"
	ForUser    = "user"
)

// Suggestions returns rules that would allow the call, those that allow least
// first; none if there are none that a person could judge. Commands that are
// dangerous are suggested word for word alone.
func (r Request) Suggestions() []Suggestion {
	c := newCase(&r)
	var out []Suggestion
	for _, width := range []string{exact, Usual, broad} {
		rules := c.suggest(width)
		if len(rules) == 0 || slices.ContainsFunc(out, func(s Suggestion) bool { return slices.Equal(s.Rules, rules) }) {
			continue
		}
		scopes := []string{ForSession, ForProject}
		if !slices.ContainsFunc(rules, func(r Rule) bool {
			return strings.HasPrefix(string(r), "Edit(") && !strings.HasPrefix(string(r), "Edit(//")
		}) {
			scopes = append(scopes, ForUser)
		}
		out = append(out, Suggestion{width, rules, scopes})
	}
	return out
}

// Suggest returns the rules of the usual width for "always" that would allow the
// call together, none if there are none that a person could judge. Commands that
// are dangerous are suggested word for word, others with any arguments.
func (r Request) Suggest() []Rule {
	c := newCase(&r)
	return c.suggest(Usual)
}

func (c *call) suggest(width string) []Rule {
	r, g := c.req, c.ground
	var rules []Rule
	if slices.ContainsFunc(r.Access, func(a Access) bool { return a.Once }) {
		return nil
	}
	for i, a := range r.Access {
		switch a.Kind {
		case RunCommand:
			more, ok := c.lines[i].suggest(r.Tool, width)
			if !ok {
				return nil
			}
			rules = append(rules, more...)
		case EditFile:
			rules = append(rules, suggestEdit(g, a.Target, width))
		case FetchURL:
			if host, err := hostOf(a.Target); err == nil && host != "" {
				rules = append(rules, Rule(r.Tool+"(domain:"+host+")"))
			}
		case UseName:
			if strings.Contains(a.Target, "*") { // as a rule it would allow other names too
				return nil
			}
			rules = append(rules, Rule(r.Tool+"("+a.Target+")"))
		}
	}
	if len(rules) == 0 {
		rules = append(rules, Rule(r.Tool))
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	if slices.ContainsFunc(rules, func(r Rule) bool { return r.Check() != nil }) {
		return nil
	}
	return rules
}

// suggest returns rules for the commands that need one.
func (s *shellLine) suggest(tool string, width string) (rules []Rule, ok bool) {
	if s.Unclear != "" {
		return nil, false
	}
	for i := range s.List {
		c := &s.List[i]
		if s.CommandReads(c, false) == "" || c.Passes() || c.Outer > 0 {
			continue
		}
		pattern := ""
		if prefix, ok := prefix(c); ok && width != exact && s.IsOrdinary(c) && len(c.Env) == 0 && takesAnything(c) {
			if width == broad && effects.Interpreter(c.Name) == "" {
				prefix = joinWords([]string{c.Path})
			}
			pattern = prefix + " *"
		} else if pattern = joinWords(c.List(c.Path)); strings.ContainsAny(pattern, "*\n"+shellword.Unknown) {
			return nil, false
		}
		if strings.ContainsAny(strings.TrimSuffix(pattern, " *"), "*\n"+shellword.Unknown) {
			return nil, false
		}
		rules = append(rules, Rule(tool+"("+pattern+")"))
	}
	for _, r := range s.Redirects {
		files, known := s.Files(r.In, r.Word)
		if !r.Write {
			continue
		}
		if !known {
			return nil, false
		}
		for _, f := range files {
			rules = append(rules, suggestEdit(s.Context, f, width))
		}
	}
	return rules, len(rules) > 0
}

// takesAnything reports whether a person can allow the command with any arguments: not
// one that runs its arguments, nor one that is known to read and is not reading.
func takesAnything(c *shellscan.Command) bool {
	if c.Name != "git" && effects.ReadsFiles(c.Name) || c.Name == "eval" || effects.IsShell(c.Name) {
		return false
	}
	if c.Name == "git" && len(c.Args) > 0 {
		return !effects.IsGitReader(c.Args[0])
	}
	return !effects.IsWrapper(c.Name) && !strings.HasSuffix(c.Name, "awk")
}

// prefix returns the words that say what a command does; false if a flag stands
// among them, so that what it does is open.
func prefix(c *shellscan.Command) (string, bool) {
	n := arity[c.Name]
	if effects.Interpreter(c.Name) != "" {
		n = max(n, 2) // the program that it runs
	}
	words := 1
	for i, a := range c.Args {
		if words >= n {
			break
		}
		if strings.HasPrefix(a, "-") {
			return "", false
		}
		if words++; i == 0 {
			n = max(n, arity[c.Name+" "+a])
		}
	}
	if words == 1 {
		return joinWords([]string{c.Path}), true
	}
	return joinWords(append([]string{c.Path}, c.Args[:words-1]...)), true
}

// suggestEdit covers the folder of a file, or just the file where the folder is a
// root or outside of the roots.
func suggestEdit(g *paths.Context, target string, width string) Rule {
	target = filepath.Clean(target)
	for _, root := range g.FirstRoots() {
		rest, ok := strings.CutPrefix(target, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
		if !ok || !g.Inside(target) || g.Guards(target) {
			continue
		}
		rest = paths.EscapeGlob(filepath.ToSlash(rest))
		if width == broad {
			return "Edit(/**)"
		}
		if i := strings.LastIndexByte(rest, '/'); i >= 0 && width == Usual {
			return Rule("Edit(/" + rest[:i] + "/**)")
		}
		return Rule("Edit(/" + rest + ")")
	}
	if forms := g.Forms(target); len(forms) > 0 {
		target = forms[len(forms)-1]
	}
	return Rule("Edit(" + paths.Rooted(target) + strings.Join(segmentsEscaped(target), "/") + ")")
}

func segmentsEscaped(p string) []string {
	segs := paths.Segments(p)
	for i, s := range segs {
		segs[i] = paths.EscapeGlob(s)
	}
	return segs
}
