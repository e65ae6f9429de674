// Package repl is the conversation on a terminal: prompts, slash commands, permission
// questions and the output of the run.
package repl

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/slash"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/usage"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// A REPL is a line-based conversation on a terminal.
type REPL struct {
	h      *cli.IO
	s      *app.App
	screen *term.Screen
	rules  *app.SessionRules
	calls  *streamjson.Calls // calls shown on the screen
	lines  chan string       // the user's input; closed when it ends
	read   atomic.Int64      // lines read from the terminal
	taken  int64             // lines handled so far
	gone   chan struct{}
	asks   chan query
	asked  query // the question on the screen
	status *statuses
	slash  *slash.Commands
	ended  bool // the user quits

	mu   sync.Mutex        // guards sent
	sent map[string]string // texts of the messages to the running prompt, by id

	viewers atomic.Int64 // people who see the session elsewhere
	running atomic.Bool
	struck  atomic.Bool // Ctrl-C was pressed since the last prompt
}

// A query is a question to the user. It ends with the call that it belongs to.
type query interface {
	over() bool
	gone() <-chan struct{} // closed when the query is over
	pose(c *REPL)
	// take handles a line of input. It reports whether the query is answered.
	take(c *REPL, line string) bool
}

const maxTyped = 1 << 20 // maximum bytes of a line

// New returns a REPL. Run starts it.
func New(h *cli.IO) *REPL {
	return &REPL{h: h, screen: settings.NewScreen(h), calls: streamjson.NewCalls(), status: newStatuses(), sent: map[string]string{}, lines: make(chan string), gone: make(chan struct{}), asks: make(chan query)}
}

// Run runs the conversation until the end of the input, /quit or a signal.
func (c *REPL) Run(ctx context.Context, s *app.App, args []string, blocks []llm.Block) error {
	h := c.h
	past, err := streamjson.NewSessionReport(ctx, s, nil, false, func(format string, args ...any) { c.screen.Line(term.Yellow, "! "+format, args...) })
	if err != nil {
		return cli.StartError(ctx, err)
	}
	c.s, c.rules = s, app.NewSessionRules(s)
	if err := s.Session.SetCanUseTool(ctx, c.decide); err != nil {
		return cli.StartError(ctx, err)
	}
	strike := func() bool { return c.onInterrupt(ctx) }
	h.Interrupted.Store(&strike)
	defer h.Interrupted.Store(nil)
	defer automation.StartBackground(ctx, h, s, func(line string) { c.screen.Line(term.Dim, "%s", text.Runes(h.OneLine(line), 400)) })()
	go c.readLines(ctx)
	c.slash = &slash.Commands{H: h, App: s, Rules: c.rules, Screen: c.screen, Running: c.running.Load, Turn: c.turn, Leave: func() { c.ended = true }, Model: s.Provider.Model.Value}
	c.slash.PrepareLive(c.watched)
	defer func() {
		if err := c.slash.Live.Close(); err != nil {
			h.Warn("%v", err)
		}
	}()
	c.slash.Mode.Store(cmp.Or(past.Mode, permission.Mode(s.Options.Mode), permission.Default))
	c.screen.Line(term.Dim, "openagent %s, %s, %s. /help lists commands.", cli.Version(), c.slash.Model, s.Project)
	prompt, _ := cli.PromptArg(args)
	if err := c.recall(ctx); err != nil {
		return cli.StartError(ctx, err)
	}
	if s.Options.Live {
		c.slash.StartLive(ctx)
	}
	for !c.ended && ctx.Err() == nil {
		if prompt == "" {
			c.screen.Ask("> ")
			prompt = c.typedPrompt(ctx)
		}
		c.struck.Store(false)
		switch prompt = strings.TrimSpace(prompt); {
		case prompt == "":
		case prompt[0] == '/' && !app.IsServerPrompt(prompt):
			c.slash.Run(ctx, prompt)
		default:
			in, err := app.ExpandCommand(ctx, h, s, agent.Input{Text: prompt, Blocks: blocks})
			if err != nil {
				c.screen.Line(term.Red, "! %s", h.OneLine(err.Error()))
				break
			}
			if err := c.turn(ctx, s.Session.StreamInput(ctx, in)); err != nil {
				return err
			}
			blocks = nil
		}
		prompt = ""
	}
	if s.Session.Result() != nil && !s.Options.Ephemeral {
		c.screen.Line(term.Dim, "openagent --resume %s continues this conversation", s.Session.ID)
	}
	if ctx.Err() != nil {
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return nil
}

// readLines sends the user's input, line by line.
func (c *REPL) readLines(ctx context.Context) {
	defer close(c.gone)
	r := bufio.NewReaderSize(c.h.In, 64<<10)
	for {
		line, err := streamjson.ReadLine(r, maxTyped)
		if len(line) > 0 {
			c.read.Add(1)
			select {
			case c.lines <- strings.TrimRight(strings.ToValidUTF8(string(line), "�"), "\r\n"):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// typedPrompt waits for a line. The end of the input ends the conversation.
func (c *REPL) typedPrompt(ctx context.Context) string {
	select {
	case line := <-c.lines:
		c.taken++
		return line
	case <-c.gone:
		c.ended = true
		c.screen.Text("\n")
	case <-ctx.Done():
	}
	return ""
}

// onInterrupt handles Ctrl-C: the first stops the run, the second quits.
func (c *REPL) onInterrupt(ctx context.Context) bool {
	c.screen.MarkMidLine()
	if c.struck.Swap(true) {
		return false
	}
	if !c.running.Load() {
		if r, err := c.s.Session.Interrupt(ctx); err == nil && len(r.Agents) > 0 {
			c.screen.Line(term.Yellow, "stopping %s in the background", cli.Plural(len(r.Agents), "agent"))
		}
		c.slash.TellOfJobs()
		c.screen.Line(term.Dim, "press Ctrl-C again or type /quit to leave")
		c.screen.Ask("> ")
		return true
	}
	c.screen.Line(term.Yellow, "stopping; press Ctrl-C again to leave")
	go func() {
		r, err := c.s.Session.Interrupt(ctx)
		if err != nil && !errors.Is(err, agent.ErrNotRunning) {
			c.screen.Line(term.Red, "! %v", err)
		}
		c.giveBack(r.Cleared)
		c.slash.TellOfJobs()
	}()
	return true
}

// giveBack shows the messages that the agent will not see, so that they can be sent again.
func (c *REPL) giveBack(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if text, ok := c.sent[id]; ok {
			c.screen.Line(term.Yellow, "not sent: %s", text)
		}
	}
}

// recall shows the last prompt of an earlier session and how it ended.
func (c *REPL) recall(ctx context.Context) error {
	if !c.s.Existing {
		return nil
	}
	open, err := c.s.Session.CanResume(ctx)
	if err != nil {
		return err
	}
	prompt, err := c.lastPrompt(ctx)
	if err != nil {
		return err
	}
	answer := ""
	if r := c.s.Session.Result(); r != nil {
		answer = cmp.Or(r.Text, r.Partial)
	}
	said := []string{"> " + prompt, answer}
	if open { // the answer is of the prompt before
		said = []string{answer, "> " + prompt}
	}
	for _, what := range said {
		if what = strings.TrimSpace(what); what != "" && what != ">" {
			c.screen.Line(term.Dim, "%s", text.Runes(what, 1000))
		}
	}
	if open {
		c.screen.Line(term.Yellow, "The last run was interrupted; /resume continues it.")
	}
	return nil
}

// lastPrompt returns the text of the last prompt of the session, "" without one. It reads the end of
// the session only.
func (c *REPL) lastPrompt(ctx context.Context) (string, error) {
	if c.s.Store == nil {
		return "", nil
	}
	for n := 1; ; n *= 8 {
		list, err := session.Last(ctx, c.s.Store, c.s.Session.ID, n, func(typ string) bool { return typ == "user_message" })
		if err != nil {
			return "", err
		}
		for _, e := range slices.Backward(list) {
			if m, ok := e.Data.(event.UserMessage); ok && m.Delivery == fact.AsPrompt {
				return strings.TrimSpace(m.Message.Text()), nil
			}
		}
		if len(list) < n {
			return "", nil
		}
	}
}

// turn runs a prompt. Input during the run answers questions or joins the conversation.
func (c *REPL) turn(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	done := make(chan error, 1)
	c.running.Store(true)
	go func() {
		err := c.show(ctx, events)
		c.running.Store(false)
		done <- err
	}()
	gone := c.gone
	for {
		asks, over := c.asks, (<-chan struct{})(nil)
		if c.asked != nil { // one at a time: a server may ask while a permission question is open
			asks, over = nil, c.asked.gone()
		}
		select {
		case err := <-done:
			c.asked = nil
			return err
		case <-over:
			c.asked = nil
		case line := <-c.lines:
			c.taken++
			c.typed(ctx, line)
		case q := <-asks:
			c.settle(ctx)
			c.asked = q
			q.pose(c)
		case <-gone:
			c.ended, gone = true, nil
		}
	}
}

// settle keeps input typed before a question from answering it. Complete lines are handled as
// usual, and an incomplete line is dropped.
func (c *REPL) settle(ctx context.Context) {
	c.before(ctx, func(line string) { c.typed(ctx, line) })
}

// before handles the complete lines typed so far and drops the incomplete one.
func (c *REPL) before(ctx context.Context, take func(line string)) {
	for c.taken < c.read.Load() {
		select {
		case line := <-c.lines:
			c.taken++
			take(line)
		case <-ctx.Done():
			return
		}
	}
	c.h.DiscardInput()
}

// show runs a prompt and shows its events.
func (c *REPL) show(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	began, streamed := false, false
	var failed error
	var v view.State
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		began = true
		v.Apply(e)
		switch d := e.Data.(type) {
		case fact.Configured:
			c.slash.Mode.Store(d.Mode)
		case event.ModeChanged:
			c.slash.Mode.Store(d.Mode)
		case event.TextDelta:
			if c.s.HasDisplayHooks() {
				continue // hooks see the whole message
			}
			streamed = true
			c.screen.Text(d.Text)
		case event.ModelFailed:
			c.failure(e, d, streamed)
			streamed = false
		case event.AssistantMessage:
			if !streamed {
				c.screen.Text(c.s.DisplayText(ctx, e.UUID(), d.Response.Message.Text()))
			}
			streamed = false
			for i, u := range d.Response.Message.ToolUses() {
				c.screen.Line(term.Bold, "* %s %s", u.Name, preview.InputSummary(u.Input))
				c.calls.Add(streamjson.CallID(e.Seq, i), u)
			}
		case event.ToolProgress:
			if news := c.status.news(d); news != "" {
				c.screen.Line(term.Dim, "  . %s: %s (%v)", d.Tool, text.Runes(c.h.OneLine(news), 120), d.Elapsed.Round(time.Second))
			}
		case event.HookResponse:
			if text := app.HookMessage(d); text != "" {
				c.screen.Line(term.Dim, "  . %s", c.h.OneLine(text))
			}
		case fact.ModelStart:
			if d.Compacts != "" {
				c.screen.Line(term.Dim, "  . the conversation is being compacted")
			}
		case event.Compacted:
			if d.Failed != "" {
				c.screen.Line(term.Yellow, "! not compacted: %s", c.h.OneLine(d.Failed))
			} else {
				c.screen.Line(term.Dim, "  . compacted: about %d tokens are %d now", d.Before, d.After)
			}
		case event.ToolResult:
			if mode := d.Result.Patch.Mode; mode != "" {
				c.slash.Mode.Store(mode)
			}
			c.result(d)
		case event.JournalCut:
			c.screen.Line(term.Yellow, "! %s", streamjson.JournalCutText(d))
		case event.RateLimitWait:
			if d.Least >= ratelimit.MinNoticedWait {
				c.screen.Line(term.Dim, "  . %s", streamjson.WaitText(d))
			}
		case event.AgentEvent:
			c.under(d, "")
		case event.AgentEnd:
			c.screen.Line(term.Dim, "  . agent %s has ended: %s", c.h.OneLine(d.Agent), d.Reason)
		case event.RunEnd:
			c.total(d, v.Items[len(v.Items)-1])
		}
	}
	if !began {
		return cli.StartError(ctx, failed)
	}
	if failed != nil && !isEnd(failed) {
		c.screen.Line(term.Red, "! %s", c.h.OneLine(failed.Error()))
	}
	return nil
}

// shownLines is how many of the last lines of a command's output are shown.
const shownLines = 5

// result shows the result of a call: its title, or the output of a command.
func (c *REPL) result(d event.ToolResult) {
	u, _ := c.calls.Get(d.Call)
	colour, mark := term.Dim, "-"
	if d.Result.IsError {
		colour, mark = term.Red, "!"
	}
	switch title := text.Runes(c.h.OneLine(app.ResultTitle(d)), 200); {
	case u.Name == "Bash" || u.Name == "BashOutput":
		lines := strings.Split(strings.TrimRight(d.Result.Text(), "\n"), "\n")
		if more := len(lines) - shownLines; more > 0 {
			c.screen.Line(colour, "  %s (%s before)", mark, cli.Plural(more, "line"))
			lines = lines[more:]
		}
		for _, line := range lines {
			c.screen.Line(colour, "  %s %s", mark, text.Runes(c.h.OneLine(line), 160))
		}
	case d.Result.IsError:
		c.screen.Line(colour, "  %s %s: %s", mark, u.Name, title)
	case u.Name != "AskUser": // its answers are on the screen
		c.screen.Line(colour, "  %s %s", mark, cmp.Or(title, u.Name))
	}
}

func isEnd(err error) bool {
	var e *agent.EndError
	return errors.As(err, &e)
}

func (c *REPL) failure(e event.Event, f event.ModelFailed, streamed bool) {
	text := c.h.OneLine(f.Message)
	if streamed {
		text += " (the partial answer is discarded)"
	}
	if f.Retry {
		text += "; trying again in " + f.RetryAt.Sub(e.Time).Round(100*time.Millisecond).String()
	}
	c.screen.Line(term.Yellow, "! %s", text)
}

func (c *REPL) total(end event.RunEnd, last *view.Item) {
	if o := cli.Outcomes[end.Reason]; o.Subtype != cli.Success {
		c.screen.Line(term.Red, "! the run ended: %s", c.h.OneLine(app.EndText(end)))
	}
	if end, ok := last.Data.(*view.End); ok {
		c.screen.Line(term.Dim, "%s", usage.EndLine(end))
	}
}

// put asks the user a query once its call is on the screen. It reports whether a user can answer.
func (c *REPL) put(ctx context.Context, call tool.Call, q query) (there bool, err error) {
	if _, err := c.calls.Find(ctx, c.s.Session.ID, call); err != nil {
		return false, err
	}
	select {
	case c.asks <- q:
		return true, nil
	case <-c.gone:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// typed handles a line typed while a prompt runs.
func (c *REPL) typed(ctx context.Context, line string) {
	line = strings.TrimSpace(line)
	if q := c.asked; q != nil && !q.over() {
		if q.take(c, line) {
			c.asked = nil
		}
		return
	}
	switch {
	case line == "":
	case line[0] == '/':
		c.slash.Run(ctx, line)
	default:
		id, err := c.s.Session.Steer(ctx, agent.Input{Text: line, Blocks: app.MentionedFiles(ctx, c.h, c.s, line)})
		if err != nil {
			c.screen.Line(term.Yellow, "! not sent: %s", c.h.OneLine(err.Error()))
			return
		}
		c.mu.Lock()
		c.sent[id] = line
		c.mu.Unlock()
		c.screen.Line(term.Dim, "(the agent will see this after its current step)")
	}
}
