package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellscan"
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

// spelledOut returns a command with its long options spelled out as a rule names them:
// each that is the beginning of one, unless the program has an option of just that name.
// It is nil if there is none.
func spelledOut(c *shellscan.Command, options []string) (full *shellscan.Command) {
	if len(options) == 0 {
		return nil
	}
	for i, w := range c.Words {
		name, value, has := strings.Cut(w.Text, "=")
		if len(name) < 3 || !strings.HasPrefix(name, "--") || slices.Contains(options, name) {
			continue
		}
		at := slices.IndexFunc(options, func(o string) bool { return strings.HasPrefix(o, name) })
		if at < 0 || effects.HasOption(c.Name, c.Words, name[2:]) {
			continue
		}
		if full == nil {
			full = c.Clone()
		}
		text := options[at]
		if has {
			text += "=" + value
		}
		full.Words[i].Text, full.Args[i] = text, text
	}
	return full
}
