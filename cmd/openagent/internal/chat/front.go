package chat

import (
	"bufio"
	"context"
	"errors"
	"os"
	"sync"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/plain"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
	terminal "github.com/openagent-go/agent/cmd/openagent/internal/tui/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/session"
)

// A front shows the conversation and reads what the person types.
type front interface {
	// Tell gives an input to the model; any goroutine may call it.
	Tell(data any)
	Run(ctx context.Context) error
	// model is the model of what is shown, for the goroutine of the front.
	model() *ui.Model
	// close shows the end of the conversation and gives the terminal back.
	close() error
	// terminal returns the terminal that the front has taken; nil: none.
	terminal() *terminal.Terminal
}

// A screen is the terminal UI.
type screen struct {
	tui.Loop
	c *Chat
}

func (s *screen) terminal() *terminal.Terminal { return s.Terminal }

func (s *screen) model() *ui.Model { return &s.Model }

func (s *screen) close() error {
	width, _, err := s.Terminal.Size()
	if err == nil {
		err = s.Terminal.Paint(draw.Close(s.Model, width, s.c.theme))
	}
	return errors.Join(err, s.Terminal.Close())
}

// openScreen takes the terminal for the terminal UI.
func (c *Chat) openScreen(ctx context.Context) (*screen, error) {
	in, out, ok := terminalFiles(c)
	if !ok {
		return nil, terminal.ErrNotTerminal
	}
	t, err := terminal.Open(in, out)
	if err != nil {
		return nil, err
	}
	width, height, err := t.Size()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	s := &screen{c: c}
	c.screen = s
	s.Terminal, s.Model, s.Act = t, ui.New(width, height), func(a ui.Action) { c.do(ctx, a) }
	s.Draw = func(m ui.Model, width, height int) (frame.Frame, ui.Painted) {
		if a := t.About(); a.Known && c.theme.Colours && !c.themed {
			c.theme.Light, c.theme.Shaded = !a.Background.Dark(), true
		}
		return draw.Frame(m, width, height, c.theme)
	}
	s.Model.Still, s.Model.Suggests = c.s.Options.Still, c.s.Options.Suggest
	s.Title, s.Settle = draw.Title, tui.SettleTime(c.h.Getenv)
	s.Row = func(r styled.Row) string { return draw.Row(c.theme, r) }
	s.Recorded = func() (session.Store, string) { return c.s.Store, c.s.Session.ID }
	s.Editor = tui.EditorCommand(c.h.Getenv)
	s.Memory = c.memory()
	return s, nil
}

// plainLines is plain mode.
type plainLines struct{ tui.Lines }

func (l *plainLines) terminal() *terminal.Terminal { return l.Terminal }

func (l *plainLines) model() *ui.Model { return &l.Console.Model }

func (l *plainLines) close() error {
	if l.Terminal == nil {
		return nil
	}
	return l.Terminal.Close()
}

// openLines begins plain mode. On a terminal that can move the cursor it takes the keys itself: a
// terminal cuts long lines, and mixes what is typed with what is shown.
func (c *Chat) openLines(ctx context.Context) (*plainLines, error) {
	h := c.h
	l := &plainLines{}
	theme := c.theme
	theme.Bare = !theme.Colours
	l.Console = &plain.Console{Theme: theme, Echo: h.InTerminal && h.OutTerminal}
	l.Out = h.ColourOut()
	l.Act = func(a ui.Action) { c.do(ctx, a) }
	l.Columns = func() int {
		if h.Columns == nil {
			return 0
		}
		return h.Columns()
	}
	if l.Prompts = !h.InTerminal; l.Prompts {
		c.hangUp()
	}
	if in, out, ok := terminalFiles(c); ok && h.InTerminal && h.OutTerminal && !settings.Dumb(h) {
		t, err := terminal.OpenLines(in, out, c.theme.Colours)
		if err != nil {
			return nil, err
		}
		l.Terminal, l.Console.Edit, l.Console.Model = t, true, ui.NewPlain(false)
		l.Editor = tui.EditorCommand(h.Getenv)
		l.Memory = c.memory()
		return l, nil
	}
	l.Console.Model, l.Console.Asked = ui.NewPlain(true), h.DiscardInput
	l.Console.Model.Plain.Nobody = l.Prompts
	l.Reader = c.typed()
	stop := func() bool {
		l.Tell(input.Key{Code: 'c', Ctrl: true})
		return true
	}
	h.Interrupted.Store(&stop)
	return l, nil
}

const maxTyped = 1 << 20 // bytes of a line

// LinesOf returns what reads the lines of a program's input, for all its conversations. Nothing is
// read before a conversation needs lines.
func LinesOf(h *cli.IO) func() *tui.LineReader {
	return sync.OnceValue(func() *tui.LineReader {
		r := bufio.NewReaderSize(h.In, 64<<10)
		return tui.NewLineReader(func() (string, error) {
			line, err := streamjson.ReadLine(r, maxTyped)
			return string(line), err
		})
	})
}

// terminalFiles returns the terminal of the program.
func terminalFiles(c *Chat) (in, out *os.File, ok bool) {
	in, ok = c.h.In.(*os.File)
	out, ok2 := c.h.ColourOut().(*os.File)
	return in, out, ok && ok2
}

// memory is what the person has typed in this folder; nil: it is not kept.
func (c *Chat) memory() *tui.Memory {
	dir, err := c.folder()
	if err != nil {
		return nil
	}
	return tui.NewMemory(dir)
}
