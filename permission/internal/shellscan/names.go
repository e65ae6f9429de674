package shellscan

import (
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/paths"
	"github.com/openagent-go/agent/permission/internal/shellword"
)

// FirstWord is text up to the first space.
func FirstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// findHeads returns the words by which the commands of the list may be called.
func (c *Commands) findHeads() []string {
	var all []string
	many := map[string]bool(nil)
	note := func(head string) {
		switch {
		case many != nil:
			if many[head] {
				return
			}
			many[head] = true
		case slices.Contains(all, head):
			return
		case len(all) == 16:
			many = map[string]bool{head: true}
			for _, h := range all {
				many[h] = true
			}
		}
		all = append(all, head)
	}
	for i := range c.List {
		x := &c.List[i]
		note(FirstWord(x.Raw))
		note(x.Path)
		note(strings.TrimSuffix(x.Name, ".exe"))
		if strings.Contains(x.Path, " ") {
			note(FirstWord(x.Path))
		}
		base := x.baseName()
		note(FirstWord(base))
		if paths.FoldCase {
			note(FirstWord(strings.ToLower(base)))
		}
		if len(x.Env) > 0 {
			note(FirstWord(x.Env[0]))
		}
	}
	return all
}

// baseName is the name of the program without its folder, [shellword.Unknown] if not known.
func (c *Command) baseName() string {
	if c.Name == shellword.Unknown {
		return shellword.Unknown
	}
	return strings.TrimSuffix(path.Base(c.Path), ".exe")
}

// Forms returns the texts of a command that rules which forbid are matched
// against. Loose forms let an expansion become several words or none.
func (c *Command) Forms(loose bool) []string {
	names := []string{c.Path}
	base := strings.TrimSuffix(path.Base(c.Path), ".exe")
	if c.Name == shellword.Unknown {
		base = shellword.Unknown
	}
	names = append(names, base)
	if paths.FoldCase {
		names = append(names, strings.ToLower(base))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var out []string
	for _, n := range names {
		out = append(out, c.join(n, loose))
	}
	if len(c.Env) > 0 {
		out = append(out, c.Text())
	}
	return out
}

// Loose reports whether parts of the command are not known.
func (c *Command) Loose() bool {
	unknown := func(text string) bool { return strings.Contains(text, shellword.Unknown) }
	return c.Name == shellword.Unknown || len(c.Spell) > 0 || unknown(c.Path) || slices.ContainsFunc(c.Env, unknown) ||
		slices.ContainsFunc(c.Words, func(w shellword.Word) bool { return w.Glob != "" || unknown(w.Text) })
}

// RunsByOption reports whether an option of the command runs a program.
func (c *Command) RunsByOption() bool {
	return slices.ContainsFunc(c.Spell, func(o string) bool { return o != "-delete" })
}

// join returns the command without its assignments and under another name.
func (c *Command) join(name string, loose bool) string {
	var b strings.Builder
	b.WriteString(name)
	for _, w := range c.Words {
		switch {
		case loose && (w.Split || w.Glob != "") && w.Text == shellword.Unknown:
			b.WriteString(shellword.Unknown)
		case loose && w.Glob != "":
			b.WriteString(" " + shellword.Unknown)
		default:
			b.WriteString(" " + w.Text)
		}
	}
	return b.String()
}

// First is the first word of the command, with its assignments; false for none.
func (c *Command) First() (string, bool) {
	switch {
	case len(c.Env) > 0:
		return c.Env[0], true
	case c.Path != "":
		return c.Path, true
	case len(c.Args) > 0:
		return c.Args[0], true
	}
	return "", false
}
