package main

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A conversation is a session on a terminal, line by line.
type conversation struct {
	h      *host
	s      *setup
	screen *screen
	grants *grants
	calls  *calls      // those on the screen
	lines  chan string // what the person types; closed at its end
	gone   chan struct{}
	asks   chan *asking
	asked  *asking // the question on the screen
	spent  float64 // USD, as far as known
	ended  bool    // the person leaves

	running atomic.Bool
	struck  atomic.Bool // Ctrl-C was pressed since the last prompt
}

// An asking is a permission question that waits for the person.
type asking struct {
	ctx     context.Context
	call    tool.Call
	verdict permission.Decision
	request event.PermissionRequest
	answer  chan permission.Decision
}

const maxTyped = 1 << 20 // bytes of a line

// converse talks with the person until the end of the input, /quit or a signal.
func (h *host) converse(ctx context.Context, s *setup, args []string, blocks []llm.Block) error {
	past, err := s.report(ctx, nil)
	if err == nil {
		err = s.temper(ctx, past)
	}
	if err != nil {
		return notBegun(ctx, err)
	}
	c := &conversation{h: h, s: s, screen: newScreen(h), grants: newGrants(s), calls: newCalls(), lines: make(chan string),
		gone: make(chan struct{}), asks: make(chan *asking)}
	s.session.SetCanUseTool(c.decide)
	strike := func() bool { return c.strike(ctx) }
	h.interrupted.Store(&strike)
	defer h.interrupted.Store(nil)
	go c.read(ctx)
	c.screen.line(inDim, "openagent %s, %s, %s. /help lists commands.", version(), s.provider.model.value, s.project)
	prompt, _ := promptArg(args)
	for !c.ended && ctx.Err() == nil {
		if prompt == "" {
			c.screen.ask("> ")
			prompt = c.typedPrompt(ctx)
		}
		c.struck.Store(false)
		switch prompt = strings.TrimSpace(prompt); {
		case prompt == "":
		case prompt[0] == '/':
			c.command(ctx, prompt)
		default:
			if err := c.turn(ctx, agent.Input{Text: prompt, Blocks: blocks}); err != nil {
				return err
			}
			blocks = nil
		}
		prompt = ""
	}
	if ctx.Err() != nil {
		return ended(signalCode(ctx))
	}
	return nil
}

// read sends what the person types.
func (c *conversation) read(ctx context.Context) {
	defer close(c.gone)
	r := bufio.NewReaderSize(c.h.in, 64<<10)
	for {
		line, err := readLine(r, maxTyped)
		if len(line) > 0 {
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
func (c *conversation) typedPrompt(ctx context.Context) string {
	select {
	case line := <-c.lines:
		return line
	case <-c.gone:
		c.ended = true
		c.screen.text("\n")
	case <-ctx.Done():
	}
	return ""
}

// strike handles Ctrl-C: it stops what runs, and the second one leaves.
func (c *conversation) strike(ctx context.Context) bool {
	if c.struck.Swap(true) {
		return false
	}
	if !c.running.Load() {
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
	}()
	return true
}

// turn runs a prompt. What is typed meanwhile answers questions, or joins the
// conversation.
func (c *conversation) turn(ctx context.Context, in agent.Input) error {
	done := make(chan error, 1)
	c.running.Store(true)
	go func() {
		err := c.show(ctx, in)
		c.running.Store(false)
		done <- err
	}()
	gone := c.gone
	for {
		select {
		case err := <-done:
			c.asked = nil
			return err
		case line := <-c.lines:
			c.typed(ctx, line)
		case q := <-c.asks:
			c.asked = q
			c.pose(q)
		case <-gone:
			c.ended, gone = true, nil
		}
	}
}

// show runs a prompt and shows what happens.
func (c *conversation) show(ctx context.Context, in agent.Input) error {
	began, streamed := false, false
	var failed error
	for e, err := range c.s.session.StreamInput(ctx, in) {
		if err != nil {
			failed = err
			continue
		}
		began = true
		switch d := e.Data.(type) {
		case event.TextDelta:
			streamed = true
			c.screen.text(d.Text)
		case event.ModelFailed:
			c.failure(e, d, streamed)
			streamed = false
		case event.AssistantMessage:
			if !streamed {
				c.screen.text(d.Response.Message.Text())
			}
			streamed = false
			for i, u := range d.Response.Message.ToolUses() {
				c.screen.line(inBold, "* %s %s", u.Name, briefly(u.Input))
				c.calls.add(callID(e.Seq, i), u)
			}
		case event.ToolResult:
			colour, mark := inDim, "-"
			if d.Result.IsError {
				colour, mark = inRed, "!"
			}
			u, _ := c.calls.get(d.Call)
			c.screen.line(colour, "  %s %s: %s", mark, u.Name, short(c.h.oneLine(title(d)), 200))
		case event.RunEnd:
			c.total(d)
		}
	}
	if !began {
		return notBegun(ctx, failed)
	}
	if failed != nil && !isEnd(failed) {
		c.screen.line(inRed, "! %s", c.h.oneLine(failed.Error()))
	}
	return nil
}

func isEnd(err error) bool {
	var e *agent.EndError
	return errors.As(err, &e)
}

func (c *conversation) failure(e event.Event, f event.ModelFailed, streamed bool) {
	text := c.h.oneLine(f.Message)
	if streamed {
		text += " (what was written of the answer does not count)"
	}
	if f.Retry {
		text += "; trying again in " + f.RetryAt.Sub(e.Time).Round(100*time.Millisecond).String()
	}
	c.screen.line(inYellow, "! %s", text)
}

func (c *conversation) total(end event.RunEnd) {
	if end.CostUSD != nil {
		c.spent += *end.CostUSD
	}
	if o := outcomes[end.Reason]; o.subtype != success {
		c.screen.line(inRed, "! the run ended: %s", c.h.oneLine(endText(end)))
	}
	c.screen.line(inDim, "%d turns, %v, %d tokens in, %d out, %s", end.Turns, end.Duration.Round(100*time.Millisecond),
		end.Usage.Context(), end.Usage.Output, money(end.CostUSD))
}

// decide is the session's CanUseTool: it has the question put on the screen.
func (c *conversation) decide(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	if c.grants.cover(call, verdict) {
		return permission.Allow(), nil
	}
	if _, err := c.calls.wait(ctx, call.ID); err != nil {
		return permission.Decision{}, err
	}
	q := &asking{ctx: ctx, call: call, verdict: verdict, answer: make(chan permission.Decision, 1)}
	pending, err := c.s.session.Pending(ctx)
	if err != nil {
		return permission.Decision{}, err
	}
	for _, p := range pending {
		if p.Call.ID == call.ID {
			q.request = p
		}
	}
	select {
	case c.asks <- q:
	case <-c.gone:
		return permission.Decision{}, nil
	case <-ctx.Done():
		return permission.Decision{}, ctx.Err()
	}
	select {
	case d := <-q.answer:
		return d, nil
	case <-c.gone:
		return permission.Decision{}, nil
	case <-ctx.Done():
		return permission.Decision{}, ctx.Err()
	}
}

// pose puts a question on the screen.
func (c *conversation) pose(q *asking) {
	c.screen.line(inYellow, "? %s %s", q.call.Name, briefly(q.call.Input))
	c.screen.diff(q.request.Preview)
	always := ""
	if len(q.request.Suggestions) > 0 {
		always = ", [a]lways in this session: " + joinRules(q.request.Suggestions)
	}
	c.screen.ask("allow? [y]es, [n]o" + always + ", [e]xplain: ")
}

func joinRules(rules []permission.Rule) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}

// typed acts on a line that was typed while a prompt runs.
func (c *conversation) typed(ctx context.Context, line string) {
	line = strings.TrimSpace(line)
	if c.asked != nil && c.asked.ctx.Err() == nil {
		c.settle(line)
		return
	}
	switch {
	case line == "":
	case line[0] == '/':
		c.command(ctx, line)
	default:
		if _, err := c.s.session.Steer(ctx, agent.Input{Text: line}); err != nil {
			c.screen.line(inYellow, "! not sent: %s", c.h.oneLine(err.Error()))
			return
		}
		c.screen.line(inDim, "(the agent will see this after its current step)")
	}
}

// settle reads the answer to the question on the screen.
func (c *conversation) settle(line string) {
	q := c.asked
	word, rest, _ := strings.Cut(line, " ")
	d := permission.Allow()
	switch word {
	case "y", "yes":
	case "a", "always":
		if len(q.request.Suggestions) == 0 {
			c.screen.ask("there is no rule for this call; [y]es or [n]o: ")
			return
		}
		c.grants.add(q.request.Suggestions...)
	case "n", "no":
		d = permission.Deny("refused by the user")
		if rest = strings.TrimSpace(rest); rest != "" {
			d.Reason += ": " + rest
		}
	case "e", "explain":
		c.screen.line(inDim, "  %s", q.verdict.Reason)
		c.screen.line(inDim, "  the whole input: %s", string(q.call.Input))
		c.screen.ask("allow? ")
		return
	default:
		c.screen.ask("answer y, n, n and a reason, a or e: ")
		return
	}
	d.Source = permission.FromPerson
	c.asked = nil
	q.answer <- d
}
