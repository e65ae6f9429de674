package term

import (
	"encoding/base64"
	"strings"

	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

const (
	bell      = "\a"
	st        = "\x1b\\"
	titleSave = "\x1b[22;2t"
	titleBack = "\x1b[23;2t"
)

// Title sets the title of the window. Close sets the one from before.
func (t *Terminal) Title(title string) error {
	begin := ""
	if !t.titled {
		begin, t.titled = titleSave, true
	}
	_, err := t.out.WriteString(begin + "\x1b]2;" + text.OneLine(terminal.Text(title)) + st)
	return err
}

// Bell rings the bell. Any goroutine may call it, also while another program has the terminal: the
// bell changes nothing on the screen.
func (t *Terminal) Bell() error {
	_, err := t.out.WriteString(bell)
	return err
}

// Notify tells a person who looks elsewhere: by a notification if the terminal is known to
// have some, else by the bell.
func (t *Terminal) Notify(title, body string) error {
	_, err := t.out.WriteString(notification(t.About().Name, text.OneLine(terminal.Text(title)), text.OneLine(terminal.Text(body))))
	return err
}

// withOSC9 and withOSC777 are terminals that show notifications, by the beginnings of their
// names.
var (
	withOSC9   = []string{"kitty", "WezTerm", "iTerm2", "ghostty", "contour", "Konsole", "rio"}
	withOSC777 = []string{"foot", "VTE", "rxvt"}
)

func notification(name, title, body string) string {
	has := func(list []string) bool {
		for _, n := range list {
			if strings.HasPrefix(strings.ToLower(name), strings.ToLower(n)) {
				return true
			}
		}
		return false
	}
	switch {
	case has(withOSC9):
		return "\x1b]9;" + title + ": " + body + st
	case has(withOSC777):
		return "\x1b]777;notify;" + strings.ReplaceAll(title, ";", ",") + ";" + body + st
	}
	return bell
}

// Copy asks the terminal to put a text into the clipboard (OSC 52). Terminals may refuse, and
// do not say so.
func (t *Terminal) Copy(s string) error {
	_, err := t.out.WriteString("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(s)) + st)
	return err
}
