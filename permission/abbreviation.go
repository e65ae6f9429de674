package permission

import (
	"regexp"
	"slices"
	"strings"
)

// Long options that are cut short, for rules that forbid: "git reset --har" falls under
// "Bash(git reset --hard*)".

var longOption = regexp.MustCompile(`(^|[ \t])--[a-zA-Z0-9][a-zA-Z0-9-]*`)

// optionsIn returns the long options that a pattern names.
func optionsIn(pattern string) []string {
	if !strings.Contains(pattern, "--") {
		return nil
	}
	found := longOption.FindAllString(pattern, -1)
	for i := range found {
		found[i] = strings.TrimLeft(found[i], " \t")
	}
	return found
}

// spelledOut returns the command with its long options spelled out as a rule names
// them: each that is the beginning of one, unless the program has an option of just
// that name. It is nil if there is none.
func (c *Command) spelledOut(options []string) (full *Command) {
	if len(options) == 0 {
		return nil
	}
	var known *effect
	looked := false
	for i, w := range c.words {
		name, value, has := strings.Cut(w.text, "=")
		if len(name) < 3 || !strings.HasPrefix(name, "--") || slices.Contains(options, name) {
			continue
		}
		at := slices.IndexFunc(options, func(o string) bool { return strings.HasPrefix(o, name) })
		if at < 0 {
			continue
		}
		if !looked {
			known, _, _, _ = effectOf(c.Name, c.words)
			looked = true
		}
		if known != nil {
			if _, exact := known.long[name[2:]]; exact {
				continue
			}
		}
		if full == nil {
			copied := *c
			full = &copied
			full.words, full.Args, full.all = slices.Clone(c.words), slices.Clone(c.Args), nil
		}
		text := options[at]
		if has {
			text += "=" + value
		}
		full.words[i].text, full.Args[i] = text, text
	}
	return full
}
