package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A repl is a session on a terminal, line by line.
type repl struct {
	h      *host
	s      *setup
	screen *screen
	grants *sessionRules
	calls  *calls       // those on the screen
	lines  chan string  // what the person types; closed at its end
	read   atomic.Int64 // lines that were read of the terminal
	taken  int64        // of these, those that were acted on
	gone   chan struct{}
	asks   chan query
	asked  query // what is asked on the screen
	status *statuses
	model  string // in use
	ended  bool   // the person leaves

	mode    atomic.Value // permission.Mode in force
	running atomic.Bool
	struck  atomic.Bool // Ctrl-C was pressed since the last prompt
}

// A query is something that the person is asked. It ends with the call that
// it belongs to.
type query interface {
	over() bool
	gone() <-chan struct{} // closed: it is over
	pose(c *repl)
	// take reads a line that was typed. It reports whether nothing more is asked.
	take(c *repl, line string) bool
}

const maxTyped = 1 << 20 // bytes of a line

func newConversation(h *host) *repl {
	return &repl{h: h, screen: newScreen(h), calls: newCalls(), status: newStatuses(), lines: make(chan string), gone: make(chan struct{}), asks: make(chan query)}
}

// talk goes on until the end of the input, /quit or a signal.
func (c *repl) talk(ctx context.Context, s *setup, args []string, blocks []llm.Block) error {
	h := c.h
	past, err := s.report(ctx, nil, false, func(format string, args ...any) { c.screen.line(inYellow, "! "+format, args...) })
	if err != nil {
		return startError(ctx, err)
	}
	c.s, c.grants = s, newGrants(s)
	if err := s.session.SetCanUseTool(ctx, c.decide); err != nil {
		return startError(ctx, err)
	}
	strike := func() bool { return c.onInterrupt(ctx) }
	h.interrupted.Store(&strike)
	defer h.interrupted.Store(nil)
	defer h.runMeanwhile(ctx, s, func(line string) { c.screen.line(inDim, "%s", short(h.oneLine(line), 400)) })()
	go c.readLines(ctx)
	c.model = s.provider.model.value
	c.mode.Store(cmp.Or(past.mode, permission.Mode(s.options.mode), permission.Default))
	c.screen.line(inDim, "openagent %s, %s, %s. /help lists commands.", version(), c.model, s.project)
	prompt, _ := promptArg(args)
	if err := c.recall(ctx); err != nil {
		return startError(ctx, err)
	}
	for !c.ended && ctx.Err() == nil {
		if prompt == "" {
			c.screen.ask("> ")
			prompt = c.typedPrompt(ctx)
		}
		c.struck.Store(false)
		switch prompt = strings.TrimSpace(prompt); {
		case prompt == "":
		case prompt[0] == '/' && !isServerPrompt(prompt):
			c.command(ctx, prompt)
		default:
			in, err := h.expand(ctx, s, agent.Input{Text: prompt, Blocks: blocks})
			if err != nil {
				c.screen.line(inRed, "! %s", h.oneLine(err.Error()))
				break
			}
			if err := c.turn(ctx, s.session.StreamInput(ctx, in)); err != nil {
				return err
			}
			blocks = nil
		}
		prompt = ""
	}
	if s.session.Result() != nil && !s.options.ephemeral {
		c.screen.line(inDim, "openagent --resume %s goes on from here", s.session.ID)
	}
	if ctx.Err() != nil {
		return cli.Ended(signalCode(ctx))
	}
	return nil
}

// readLines sends what the person types.
func (c *repl) readLines(ctx context.Context) {
	defer close(c.gone)
	r := bufio.NewReaderSize(c.h.in, 64<<10)
	for {
		line, err := readLine(r, maxTyped)
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
func (c *repl) typedPrompt(ctx context.Context) string {
	select {
	case line := <-c.lines:
		c.taken++
		return line
	case <-c.gone:
		c.ended = true
		c.screen.text("\n")
	case <-ctx.Done():
	}
	return ""
}

// onInterrupt handles Ctrl-C: it stops what runs, and the second one leaves.
func (c *repl) onInterrupt(ctx context.Context) bool {
	c.screen.broke()
	if c.struck.Swap(true) {
		return false
	}
	if !c.running.Load() {
		if r, err := c.s.session.Interrupt(ctx); err == nil && len(r.Agents) > 0 {
			c.screen.line(inYellow, "stopping %s in the background", plural(len(r.Agents), "agent"))
		}
		c.tellOfJobs()
		c.screen.line(inDim, "Ctrl-C again leaves, and so does /quit")
		c.screen.ask("> ")
		return true
	}
	c.screen.line(inYellow, "stopping; Ctrl-C again leaves")
	go func() {
		_, err := c.s.session.Interrupt(ctx)
		if err != nil && !errors.Is(err, agent.ErrNotRunning) {
			c.screen.line(inRed, "! %v", err)
		}
		c.tellOfJobs()
	}()
	return true
}

// recall shows how an earlier session ended.
func (c *repl) recall(ctx context.Context) error {
	if !c.s.past {
		return nil
	}
	open, err := c.s.session.CanResume(ctx)
	if err != nil {
		return err
	}
	if r := c.s.session.Result(); r != nil && cmp.Or(r.Text, r.Partial) != "" {
		c.screen.line(inDim, "%s", short(strings.TrimSpace(cmp.Or(r.Text, r.Partial)), 1000))
	}
	if open {
		c.screen.line(inYellow, "The last run was cut short: /resume goes on with it.")
	}
	return nil
}

// turn runs a prompt. What is typed meanwhile answers questions, or joins the
// conversation.
func (c *repl) turn(ctx context.Context, events iter.Seq2[event.Event, error]) error {
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
		if c.asked != nil { // one after the other: a server may ask while permission is asked for
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

// settle sees to it that nothing that was typed before a question answers it: whole
// lines are what they would have been without it, and the rest is dropped.
func (c *repl) settle(ctx context.Context) {
	c.before(ctx, func(line string) { c.typed(ctx, line) })
}

// before hands over the lines that were typed before now, and drops what else was.
func (c *repl) before(ctx context.Context, take func(line string)) {
	for c.taken < c.read.Load() {
		select {
		case line := <-c.lines:
			c.taken++
			take(line)
		case <-ctx.Done():
			return
		}
	}
	c.h.dropTyped()
}

// show runs a prompt and shows what happens.
func (c *repl) show(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	began, streamed := false, false
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		began = true
		switch d := e.Data.(type) {
		case event.Configured:
			c.mode.Store(d.Mode)
		case event.ModeChanged:
			c.mode.Store(d.Mode)
		case event.TextDelta:
			if c.s.displays() {
				continue // hooks see the message as a whole
			}
			streamed = true
			c.screen.text(d.Text)
		case event.ModelFailed:
			c.failure(e, d, streamed)
			streamed = false
		case event.AssistantMessage:
			if !streamed {
				c.screen.text(c.s.displayed(ctx, e.UUID(), d.Response.Message.Text()))
			}
			streamed = false
			for i, u := range d.Response.Message.ToolUses() {
				c.screen.line(inBold, "* %s %s", u.Name, briefly(u.Input))
				c.calls.add(callID(e.Seq, i), u)
			}
		case event.ToolProgress:
			if text := c.status.news(d); text != "" {
				c.screen.line(inDim, "  . %s: %s (%v)", d.Tool, short(c.h.oneLine(text), 120), d.Elapsed.Round(time.Second))
			}
		case event.HookResponse:
			if text := hookNews(d); text != "" {
				c.screen.line(inDim, "  . %s", c.h.oneLine(text))
			}
		case event.ModelStart:
			if d.Compacts != "" {
				c.screen.line(inDim, "  . the conversation is being compacted")
			}
		case event.Compacted:
			if d.Failed != "" {
				c.screen.line(inYellow, "! not compacted: %s", c.h.oneLine(d.Failed))
			} else {
				c.screen.line(inDim, "  . compacted: about %d tokens are %d now", d.Before, d.After)
			}
		case event.ToolResult:
			if mode := d.Result.Patch.Mode; mode != "" {
				c.mode.Store(mode)
			}
			c.result(d)
		case event.JournalCut:
			c.screen.line(inYellow, "! %s", cutText(d))
		case event.RateLimitWait:
			if d.Least >= notable {
				c.screen.line(inDim, "  . %s", waitText(d))
			}
		case event.AgentEvent:
			c.under(d, "")
		case event.AgentEnd:
			c.screen.line(inDim, "  . agent %s has ended: %s", c.h.oneLine(d.Agent), d.Reason)
		case event.RunEnd:
			c.total(d)
		}
	}
	if !began {
		return startError(ctx, failed)
	}
	if failed != nil && !isEnd(failed) {
		c.screen.line(inRed, "! %s", c.h.oneLine(failed.Error()))
	}
	return nil
}

// shownLines is how many lines of a command's output are shown, the last ones.
const shownLines = 5

// result shows what came of a call: its title, or what a command wrote.
func (c *repl) result(d event.ToolResult) {
	u, _ := c.calls.get(d.Call)
	colour, mark := inDim, "-"
	if d.Result.IsError {
		colour, mark = inRed, "!"
	}
	switch text := short(c.h.oneLine(title(d)), 200); {
	case u.Name == "Bash" || u.Name == "BashOutput":
		lines := strings.Split(strings.TrimRight(d.Result.Text(), "\n"), "\n")
		if more := len(lines) - shownLines; more > 0 {
			c.screen.line(colour, "  %s (%s before)", mark, plural(more, "line"))
			lines = lines[more:]
		}
		for _, line := range lines {
			c.screen.line(colour, "  %s %s", mark, short(c.h.oneLine(line), 160))
		}
	case d.Result.IsError:
		c.screen.line(colour, "  %s %s: %s", mark, u.Name, text)
	case u.Name != "AskUser": // its answers are on the screen
		c.screen.line(colour, "  %s %s", mark, cmp.Or(text, u.Name))
	}
}

func isEnd(err error) bool {
	var e *agent.EndError
	return errors.As(err, &e)
}

func (c *repl) failure(e event.Event, f event.ModelFailed, streamed bool) {
	text := c.h.oneLine(f.Message)
	if streamed {
		text += " (what was written of the answer does not count)"
	}
	if f.Retry {
		text += "; trying again in " + f.RetryAt.Sub(e.Time).Round(100*time.Millisecond).String()
	}
	c.screen.line(inYellow, "! %s", text)
}

func (c *repl) total(end event.RunEnd) {
	if o := outcomes[end.Reason]; o.subtype != success {
		c.screen.line(inRed, "! the run ended: %s", c.h.oneLine(endText(end)))
	}
	calls := 0
	for _, u := range end.Tools {
		calls += u.Calls
	}
	c.screen.line(inDim, "%s, %s, %v, %d tokens in, %d out, %s", plural(end.Turns, "turn"), plural(calls, "call"),
		end.Duration.Round(100*time.Millisecond), end.Usage.Context(), end.Usage.Output, money(end.CostUSD))
}

// put hands a query to the person, once the call that it belongs to is on the
// screen. It reports whether somebody is there to be asked.
func (c *repl) put(ctx context.Context, call tool.Call, q query) (there bool, err error) {
	if _, err := c.calls.find(ctx, c.s.session.ID, call); err != nil {
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

// typed acts on a line that was typed while a prompt runs.
func (c *repl) typed(ctx context.Context, line string) {
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
		c.command(ctx, line)
	default:
		if _, err := c.s.session.Steer(ctx, agent.Input{Text: line, Blocks: c.h.mentionedFiles(ctx, c.s, line)}); err != nil {
			c.screen.line(inYellow, "! not sent: %s", c.h.oneLine(err.Error()))
			return
		}
		c.screen.line(inDim, "(the agent will see this after its current step)")
	}
}
