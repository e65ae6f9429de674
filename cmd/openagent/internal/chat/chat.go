// Package chat is the conversation on a terminal: in the terminal UI or in plain mode. It connects a
// session with the model of the UI (package ui), its drawing (draw) and the terminal (term).
package chat

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/slash"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A Chat is a conversation on a terminal.
type Chat struct {
	h     *cli.IO
	s     *app.App
	rules *app.SessionRules
	slash *slash.Commands
	err   *redirect // stderr, which must not disturb the screen
	files fileNames

	front       front
	screen      *screen // the front of the terminal UI; nil in plain mode
	plain       bool    // plain mode
	typed       func() *tui.LineReader
	theme       draw.Theme         // of the goroutine of the loop
	themed      bool               // the person chose the theme
	stopChanges context.CancelFunc // ends the look at what rewinding changes; of the goroutine of the loop
	unsuggest   context.CancelFunc // ends the call for a suggestion; of the goroutine of the loop
	note        string             // for which a place is asked; of the goroutine of the loop
	list        *sessionlist.List  // of the picker of sessions
	over        chan struct{}      // closed when the conversation is over
	nobody      chan struct{}      // closed when nobody answers questions any more

	opened        chan struct{} // closed when the session is open, or cannot be opened
	failed        error         // why it cannot; read it when opened is closed
	endBackground func()        // likewise
	shown         int64         // number of the first fact of an existing session that is shown

	noneLeft sync.Once  // closes nobody
	commands sync.Mutex // commands run one after the other
	running  atomic.Bool
	runs     workers

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

// A workers is a group of goroutines. If one panics, it gives the terminal back first.
type workers struct {
	sync.WaitGroup
	front func() front
}

// Go starts a goroutine of the group.
func (w *workers) Go(work func()) {
	w.WaitGroup.Go(func() {
		defer w.front().terminal().Rescue()
		work()
	})
}

// New returns a chat, in plain mode or in the terminal UI. typed is that of LinesOf. Run starts it.
// Until then it keeps what is written to stderr there.
func New(h *cli.IO, plain bool, typed func() *tui.LineReader) *Chat {
	c := &Chat{h: h, plain: plain, typed: typed, over: make(chan struct{}), nobody: make(chan struct{}), opened: make(chan struct{}), questions: map[int]chan any{}, sent: map[string]int{}, onTheWay: map[int]chan struct{}{}, stopChanges: func() {}, unsuggest: func() {}}
	c.runs.front = func() front { return c.front }
	c.err = &redirect{to: h.Err}
	h.Err = c.err
	return c
}

// post gives an input to the model.
func (c *Chat) post(data any) { c.front.Tell(data) }

// say shows lines to the person.
func (c *Chat) say(kind ui.LineKind, said string) {
	c.post(ui.Output{Lines: lines(kind, said)})
}

// Run runs the conversation until the person leaves, or until a signal.
func (c *Chat) Run(ctx context.Context, s *app.App, args []string, blocks []llm.Block) error {
	c.s, c.rules, c.blocks = s, app.NewSessionRules(s), blocks
	mode := cmp.Or(permission.Mode(s.Options.Mode), permission.Default)
	c.slash = &slash.Commands{H: c.h, App: s, Rules: c.rules, Screen: &term.Screen{Show: c.showLines}, Running: c.running.Load, Turn: c.start,
		Leave: func() { c.post(ui.Quit{}) }, Model: s.Provider.Model.Value}
	c.slash.PrepareLive(c.watched)
	c.slash.Mode.Store(mode)
	for _, own := range c.ownCommands() {
		c.slash.Own = append(c.slash.Own, own.Name)
	}
	c.theme = draw.Theme{Colours: settings.Colours(c.h)}
	if err := c.takeTerminal(ctx); err != nil {
		return err
	}
	defer c.h.Interrupted.Store(nil)
	c.err.set(&output{c})
	err := c.converse(ctx, mode, args)
	c.err.set(nil)
	if err := c.front.close(); err != nil {
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

// takeTerminal begins to show the conversation.
func (c *Chat) takeTerminal(ctx context.Context) error {
	if !c.plain {
		s, err := c.openScreen(ctx)
		c.front = s
		return err
	}
	l, err := c.openLines(ctx)
	c.front = l
	return err
}

// converse runs the conversation on a terminal.
func (c *Chat) converse(ctx context.Context, mode permission.Mode, args []string) error {
	if t := c.front.terminal(); t != nil {
		defer t.Rescue()
	}
	c.list = &sessionlist.List{H: c.h, Here: c.s.Store, Dir: c.s.Project, Given: sessionstore.OfAllFolders(c.s.Store, c.s.Options.Place()), Current: c.s.Session.ID, Tell: c.post}
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
	err := c.front.Run(ctx)
	c.unsuggest()
	c.hangUp()
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
	return cmp.Or(c.failed, err)
}

// hangUp means that nobody answers questions any more.
func (c *Chat) hangUp() { c.noneLeft.Do(func() { close(c.nobody) }) }

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
