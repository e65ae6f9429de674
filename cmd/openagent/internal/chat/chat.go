// Package chat is the conversation in the terminal UI. It connects a session with the model of
// the UI (package ui), its drawing (draw) and the terminal (term).
package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/slash"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	terminal "github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A Chat is a conversation in the terminal UI.
type Chat struct {
	h     *cli.IO
	s     *app.App
	rules *app.SessionRules
	slash *slash.Commands
	err   *redirect // stderr, which must not disturb the screen
	files fileNames

	loop        tui.Loop
	theme       draw.Theme         // of the goroutine of the loop
	themed      bool               // the person chose the theme
	stopChanges context.CancelFunc // ends the look at what rewinding changes; of the goroutine of the loop
	note        string             // for which a place is asked; of the goroutine of the loop
	list        *sessionlist.List  // of the picker of sessions
	over        chan struct{}      // closed when nobody answers questions any more

	opened        chan struct{} // closed when the session is open, or cannot be opened
	failed        error         // why it cannot; read it when opened is closed
	endBackground func()        // likewise
	shown         int64         // number of the first fact of an existing session that is shown

	commands sync.Mutex // commands run one after the other
	running  atomic.Bool
	runs     sync.WaitGroup

	mu        sync.Mutex // guards what follows
	questions map[int]chan any
	asked     int
	sent      map[string]int        // numbers of messages, by id
	onTheWay  map[int]chan struct{} // messages to the running prompt, by number; closed once they are on record, or refused
	blocks    []llm.Block           // of the first prompt
	last      int64                 // number of the last fact that was shown
	next      sessionlist.Chosen
	more      bool // the person goes to the session next
}

// New returns a chat. Run starts it. Until then it keeps what is written to stderr there.
func New(h *cli.IO) *Chat {
	c := &Chat{h: h, over: make(chan struct{}), opened: make(chan struct{}), questions: map[int]chan any{}, sent: map[string]int{}, onTheWay: map[int]chan struct{}{}, stopChanges: func() {}}
	c.err = &redirect{to: h.Err}
	h.Err = c.err
	return c
}

// post gives an input to the model.
func (c *Chat) post(data any) { c.loop.Tell(data) }

// say shows lines to the person.
func (c *Chat) say(kind ui.LineKind, said string) {
	c.post(ui.Output{Lines: lines(kind, said)})
}

// Run runs the conversation until the person leaves, or until a signal.
func (c *Chat) Run(ctx context.Context, s *app.App, args []string, blocks []llm.Block) error {
	c.s, c.rules, c.blocks = s, app.NewSessionRules(s), blocks
	mode := cmp.Or(permission.Mode(s.Options.Mode), permission.Default)
	c.slash = &slash.Commands{H: c.h, App: s, Rules: c.rules, Screen: &term.Screen{W: &output{c}}, Running: c.running.Load, Turn: c.start,
		Leave: func() { c.post(ui.Quit{}) }, Model: s.Provider.Model.Value}
	c.slash.PrepareLive(c.watched)
	c.slash.Mode.Store(mode)
	for _, own := range ownCommands {
		c.slash.Own = append(c.slash.Own, own.Name)
	}

	in, out, ok := terminalFiles(c.h)
	if !ok {
		return terminal.ErrNotTerminal
	}
	t, err := terminal.Open(in, out)
	if err != nil {
		return err
	}
	c.err.set(&output{c})
	err = c.converse(ctx, t, mode, args)
	c.err.set(nil)
	if err := t.Close(); err != nil {
		c.h.Warn("%v", err)
	}
	switch {
	case ctx.Err() != nil:
		return cli.ExitCode(cli.SignalCode(ctx))
	case err != nil && !errors.Is(err, tui.ErrEnded):
		return err
	}
	if text := c.farewell(); text != "" {
		return c.h.Show(text + "\n")
	}
	return nil
}

// converse runs the conversation on a terminal.
func (c *Chat) converse(ctx context.Context, t *terminal.Terminal, mode permission.Mode, args []string) error {
	defer t.Rescue()
	width, height, err := t.Size()
	if err != nil {
		return err
	}
	l := &c.loop
	c.theme = draw.Theme{Colours: settings.Colours(c.h)}
	l.Terminal, l.Model, l.Act = t, ui.New(width, height), func(a ui.Action) { c.do(ctx, a) }
	l.Draw = func(m ui.Model, width, height int) (frame.Frame, ui.Painted) {
		if a := t.About(); a.Known && c.theme.Colours && !c.themed {
			c.theme.Light, c.theme.Shaded = !a.Background.Dark(), true
		}
		return draw.Frame(m, width, height, c.theme)
	}
	l.Title, l.Settle = draw.Title, tui.SettleTime(c.h.Getenv)
	l.Row = func(r styled.Row) string { return draw.Row(c.theme, r) }
	l.Recorded = func() (session.Store, string) { return c.s.Store, c.s.Session.ID }
	l.Editor = tui.EditorCommand(c.h.Getenv)
	c.list = &sessionlist.List{H: c.h, Here: c.s.Store, Dir: c.s.Project, Given: c.s.Options.SessionDir != "", Current: c.s.Session.ID, Tell: c.post}
	if dir, err := c.folder(); err == nil {
		l.Memory = tui.NewMemory(dir)
	}
	c.post(c.facts(mode))
	c.post(ui.Commands{List: c.commandList()})
	c.runs.Go(func() { c.followServers(ctx) })
	opening, stopOpening := context.WithCancel(ctx)
	defer stopOpening()
	if err := c.recall(ctx); err != nil {
		return cli.StartError(ctx, err)
	}
	if c.s.Existing {
		go c.openPast(opening)
	} else {
		if err := c.open(ctx); err != nil {
			return err
		}
		close(c.opened)
	}
	if c.s.Options.Live {
		c.runs.Go(func() {
			if c.wait(ctx) {
				c.slash.StartLive(ctx)
			}
		})
	}
	if prompt, _ := cli.PromptArg(args); prompt != "" {
		c.post(ui.Submit{Text: prompt})
	}
	err = l.Run(ctx)
	close(c.over)
	if failed := c.slash.Live.Close(); failed != nil {
		c.h.Warn("%v", failed)
	}
	c.list.Close()
	c.stop(ctx)
	stopOpening()
	<-c.opened
	if c.endBackground != nil {
		c.endBackground()
	}
	err = cmp.Or(c.failed, err)
	width, _, size := t.Size()
	if size == nil {
		err = errors.Join(err, t.Paint(draw.Close(l.Model, width, c.theme)))
	}
	return err
}

// Next returns the session that the person goes to: a new one has no ID. It reports false if
// they have left.
func (c *Chat) Next() (next sessionlist.Chosen, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next, c.more
}

// goTo ends this conversation and goes to another session.
func (c *Chat) goTo(next sessionlist.Chosen) {
	if c.running.Load() {
		c.say(ui.WarnLine, "! the agent is working; esc stops it")
		return
	}
	c.mu.Lock()
	c.next, c.more = next, true
	c.mu.Unlock()
	c.post(ui.Quit{})
}

// farewell says how the conversation continues later.
func (c *Chat) farewell() string {
	if _, more := c.Next(); c.s.Session.Result() == nil || c.s.Options.Ephemeral || more {
		return ""
	}
	where := ""
	if c.s.Options.Dir != "" { // the shell is elsewhere
		where = " --cwd " + text.QuoteShell(c.s.Project)
	}
	return c.h.OneLine("openagent" + where + " --resume " + c.s.Session.ID + " continues this conversation")
}

// terminalFiles returns the terminal of the program.
func terminalFiles(h *cli.IO) (in, out *os.File, ok bool) {
	in, ok = h.In.(*os.File)
	out, ok2 := h.ColourOut().(*os.File)
	return in, out, ok && ok2
}
