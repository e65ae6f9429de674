package shellscan

import (
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// FirstWord is text up to the first space.
func FirstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// findHeads returns the words by which the commands of the list may be called.
func (c *Commands) findHeads() []string {
	var all heads
	for i := range c.List {
		x := &c.List[i]
		all.add(FirstWord(x.Raw))
		all.add(x.Path)
		all.add(strings.TrimSuffix(x.Name, ".exe"))
		if strings.Contains(x.Path, " ") {
			all.add(FirstWord(x.Path))
		}
		base := x.baseName()
		all.add(FirstWord(base))
		if paths.FoldCase {
			all.add(FirstWord(strings.ToLower(base)))
		}
		if len(x.Env) > 0 {
			all.add(FirstWord(x.Env[0]))
		}
	}
	return all.list
}

// heads are different words, in order.
type heads struct {
	list []string
	seen map[string]bool // nil while the list is short
}

//go:noinline // called from many places: every program stays smaller
func (h *heads) add(word string) {
	switch {
	case h.seen != nil:
		if h.seen[word] {
			return
		}
		h.seen[word] = true
	case slices.Contains(h.list, word):
		return
	case len(h.list) == 16:
		h.seen = map[string]bool{word: true}
		for _, w := range h.list {
			h.seen[w] = true
		}
	}
	h.list = append(h.list, word)
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
		shellword.Any(c.Words, func(w shellword.Word) bool { return w.Glob != "" || unknown(w.Text) })
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
