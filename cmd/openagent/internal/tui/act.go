package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/plainfile"
)

// act carries out an action, or passes it on.
func (l *Loop) act(a ui.Action) {
	switch a := a.(type) {
	case ui.Leave:
		l.over = true
	case ui.Suspend:
		l.complain("suspending the program", l.Terminal.Suspend(l.signals))
		l.complain("asking for the size of the terminal", l.resized())
		l.urgent = true
	case ui.Repaint:
		l.Terminal.Repaint()
	case ui.ShowWhole:
		l.showWhole(nil)
	case ui.ShowTimes:
		l.showTimes()
	case ui.SaveDraft:
		if l.Memory != nil {
			l.remember(l.Memory.SaveDraft(a.Text))
		}
	case ui.Remember:
		if l.Memory != nil {
			l.remember(l.Memory.Remember(a.Text))
		}
	case ui.EditOutside:
		l.away.Store(true)
		text, err := edit(l.ctx, l.Terminal, l.signals, l.Editor, a.Text)
		l.away.Store(false)
		l.update(ui.Uncovered{}) // a question that came meanwhile has to be seen first
		if err == nil {
			l.update(ui.Edited{Text: text})
		}
		l.complain("editing the text", err)
		l.complain("asking for the size of the terminal", l.resized())
		l.urgent = true
	case ui.Notify:
		l.complain("notifying you", l.Terminal.Notify("openagent", a.Text))
	default:
		l.Act(a)
	}
}

// complain tells the person about an error.
func (l *Loop) complain(what string, err error) {
	if err != nil {
		l.Tell(ui.Output{Lines: []ui.Line{{Kind: ui.WarnLine, Text: fmt.Sprintf("%s: %v", what, err)}}})
	}
}

// remember tells the person that texts are not kept, once.
func (l *Loop) remember(err error) {
	if err != nil {
		l.Memory = nil
		l.complain("keeping what you type, for the next start", err)
	}
}

const maxEdited = 8 << 20 // bytes of a text from an editor

// edit lets the person change a text in their editor.
func edit(ctx context.Context, t *term.Terminal, signals *term.Signals, editorLine, text string) (edited string, err error) {
	f, err := os.CreateTemp("", "openagent-*.md") // for its owner alone
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	cmd := editor(ctx, editorLine, f.Name())
	err = t.Outside(func(in, out *os.File) error {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
		return signals.With(cmd.Run)
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w; set VISUAL or EDITOR to another editor", editorLine, err)
	}
	data, err := plainfile.ReadFile(f.Name(), maxEdited)
	return strings.TrimSuffix(strings.ToValidUTF8(string(data), "\ufffd"), "\n"), err
}

// EditorCommand returns the command line of the person's editor.
func EditorCommand(getenv func(string) string) string {
	usual := "vi"
	if runtime.GOOS == "windows" {
		usual = "notepad"
	}
	return cmp.Or(getenv("VISUAL"), getenv("EDITOR"), usual)
}

// editor returns the command that opens a file. The person's command line may have words
// and quotes, which a shell splits as other programs let it.
func editor(ctx context.Context, line, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := strings.Fields(line)
		return exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	}
	return exec.CommandContext(ctx, "sh", "-c", line+` "$1"`, "sh", file)
}
