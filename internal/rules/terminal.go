package rules

import (
	"path"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Terminals. Commands have no terminal of their own, but as the same user they may open
// the one that a person is asked on: its device, or a descriptor of another process.
// What they write there looks like the program's own words.

var (
	// processFiles match descriptors of another process, whatever names it.
	processFiles = regexp.MustCompile(`/proc/([^/\s;|&<>()]+)/(?:task/[^/\s]+/)?(?:fd|cwd|root)\b`)
	// devices match what follows /dev/ in a line.
	devices = regexp.MustCompile("/dev/(`|[^\\s;|&<>()/`]+)")
)

// terminals are names in /dev. /dev/tty itself leads nowhere: a command has none.
var terminals = []string{"pts", "console", "vcs", "vcsa", "tty0", "tty1", "ttyS0", "ttys000", "ttys001"}

// toTerminal returns the part of a text that leads to a terminal, "" for none. Quotes
// are left out of it; what is only known at run time may be a terminal.
func toTerminal(text string) string {
	text = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
	for _, m := range devices.FindAllStringSubmatch(text, -1) {
		if strings.ContainsAny(m[1], "$`"+shellword.Unknown) || strings.HasPrefix(m[1], "tty") && m[1] != "tty" {
			return m[0]
		}
		for _, name := range terminals {
			if ok, err := path.Match(m[1], name); ok || err != nil {
				return m[0]
			}
		}
	}
	for _, m := range processFiles.FindAllStringSubmatch(text, -1) {
		if m[1] != "self" && m[1] != "thread-self" {
			return m[0]
		}
	}
	return ""
}

// terminal returns the access of a call that leads to a terminal, and the part of it that
// does, "" for none.
func (c *call) terminal() (where string, by *Access) {
	for i := range c.req.Access {
		switch a := &c.req.Access[i]; a.Kind {
		case RunCommand, ReadFile, EditFile:
			if where := toTerminal(a.Target); where != "" {
				return where, a
			}
		}
	}
	return "", nil
}

// terminalRule is the rule that is named for a terminal.
var terminalRule = &rule{source: "Edit(//dev/pts/**)"}
