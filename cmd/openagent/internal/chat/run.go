package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

// send gives a message to the agent.
func (c *Chat) send(ctx context.Context, msg ui.Message) {
	if !c.wait(ctx) {
		c.post(ui.Refused{Message: msg})
		return
	}
	images, err := c.images(msg.Images)
	if err != nil {
		c.refuse(msg, err)
		return
	}
	if msg.Steer {
		c.steer(ctx, msg, images)
		return
	}
	c.mu.Lock()
	blocks := append(images, c.blocks...)
	c.blocks = nil
	c.mu.Unlock()
	in, err := app.ExpandCommand(ctx, c.h, c.s, agent.Input{Text: msg.Text, Blocks: blocks})
	if err != nil {
		c.refuse(msg, err)
		return
	}
	if err := c.turn(ctx, c.s.Session.StreamInput(ctx, in)); err != nil {
		c.refuse(msg, err)
	}
}

// refuse gives a message back that could not be sent.
func (c *Chat) refuse(msg ui.Message, err error) {
	c.say(ui.WarnLine, "! not sent: "+c.h.OneLine(err.Error()))
	c.post(ui.Refused{Message: msg})
}

// images reads images as blocks.
func (c *Chat) images(paths []string) ([]llm.Block, error) {
	var out []llm.Block
	for _, p := range paths {
		blocks, err := attach.File(p)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return out, nil
}

// steer sends a message to the running prompt.
func (c *Chat) steer(ctx context.Context, msg ui.Message, images []llm.Block) {
	id := rand.Text()
	c.mu.Lock()
	c.sent[id] = msg.N
	c.mu.Unlock()
	blocks := append(images, app.MentionedFiles(ctx, c.h, c.s, msg.Text)...)
	_, err := c.s.Session.Steer(ctx, agent.Input{ID: id, Text: msg.Text, Blocks: blocks})
	switch {
	case errors.Is(err, agent.ErrNotRunning):
		c.post(ui.Late{Numbers: []int{msg.N}})
	case err != nil:
		c.say(ui.WarnLine, "! not sent: "+c.h.OneLine(err.Error()))
		c.post(ui.Returned{Numbers: []int{msg.N}})
	}
}

// sending notes that a message is being sent to the running prompt. Call done afterwards.
func (c *Chat) sending(n int) (done func()) {
	sent := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onTheWay[n] = sent
	return func() {
		close(sent)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.onTheWay, n)
	}
}

// takeBack takes a message to the running prompt back, unless the agent has got it.
func (c *Chat) takeBack(ctx context.Context, n int) {
	c.mu.Lock()
	sent := c.onTheWay[n]
	c.mu.Unlock()
	if sent != nil {
		<-sent
	}
	id := ""
	c.mu.Lock()
	for k, v := range c.sent {
		if v == n {
			id = k
		}
	}
	c.mu.Unlock()
	taken, err := c.s.Session.Retract(ctx, id)
	if err != nil && !errors.Is(err, agent.ErrNotRunning) {
		c.say(ui.WarnLine, "! not taken back: "+c.h.OneLine(err.Error()))
	}
	if taken {
		c.post(ui.Returned{Numbers: c.numbers([]string{id})})
	} else {
		c.post(ui.Kept{N: n})
	}
}

// numbers returns the numbers of messages with ids.
func (c *Chat) numbers(ids []string) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []int
	for _, id := range ids {
		if n, ok := c.sent[id]; ok {
			out = append(out, n)
			delete(c.sent, id)
		}
	}
	return out
}

// interrupt stops the run. Messages that the model has not seen come back.
func (c *Chat) interrupt(ctx context.Context) {
	r, err := c.s.Session.Interrupt(ctx)
	if err != nil && !errors.Is(err, agent.ErrNotRunning) {
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
	}
	if back := c.numbers(r.Cleared); len(back) > 0 {
		c.post(ui.Returned{Numbers: back})
	}
	c.commands.Lock()
	defer c.commands.Unlock()
	c.slash.TellOfJobs()
}

// start is turn for a command, which does not wait for the run: other commands may follow.
func (c *Chat) start(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	c.running.Store(true)
	c.post(ui.Started{})
	go func() {
		defer c.front.terminal().Rescue()
		if err := c.turn(ctx, events); err != nil {
			c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		}
	}()
	return nil
}

// masked is a result without secrets of the program.
func (c *Chat) masked(d event.ToolResult) event.ToolResult {
	d.Result.Title = wire.Mask(d.Result.Title, c.h.Secrets)
	for i, b := range d.Result.Content {
		if t, ok := b.(llm.Text); ok {
			if hidden := wire.Mask(t.Text, c.h.Secrets); hidden != t.Text {
				d.Result.Content = slices.Clone(d.Result.Content)
				t.Text = hidden
				d.Result.Content[i] = t
			}
		}
	}
	return d
}

// turn shows the events of a run to its end. It returns the error of a run that did not begin.
func (c *Chat) turn(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	c.runs.Add(1)
	defer c.runs.Done()
	c.running.Store(true)
	c.post(ui.Started{})
	began, stopped := false, false
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		began = true
		switch d := e.Data.(type) {
		case fact.Configured:
			c.slash.Mode.Store(d.Mode)
		case event.ModeChanged:
			c.modeChanged(d)
		case event.ToolResult:
			if mode := d.Result.Patch.Mode; mode != "" {
				c.slash.Mode.Store(mode)
			}
			c.pictures(d)
			e.Data = c.masked(d)
		case fact.Delivered:
			if got := c.numbers(d.IDs); len(got) > 0 {
				c.post(ui.Delivered{Numbers: got})
			}
		case event.RunEnd:
			stopped = d.Reason == event.Interrupted
		case event.TextDelta:
			if c.s.HasDisplayHooks() {
				continue // hooks see the whole message
			}
		case event.AssistantMessage:
			e = c.displayed(ctx, e, d)
		}
		if e.Seq > 0 {
			c.mu.Lock()
			c.last = e.Seq
			c.mu.Unlock()
		}
		c.post(e)
	}
	c.running.Store(false)
	var end *agent.EndError
	if began && failed != nil && !errors.As(failed, &end) {
		c.say(ui.WarnLine, "! "+c.h.OneLine(failed.Error()))
	}
	c.post(ui.Done{Stopped: stopped, Failed: failed != nil && !stopped})
	if !began {
		return failed
	}
	return nil
}

// modeChanged tells that the permission mode has changed, unless a command has said so.
func (c *Chat) modeChanged(d event.ModeChanged) {
	if c.slash.Mode.Swap(d.Mode) != d.Mode {
		c.say(ui.DimLine, "mode "+string(d.Mode))
	}
}

// displayed is an answer with its text as hooks want it to be shown.
func (c *Chat) displayed(ctx context.Context, e event.Event, d event.AssistantMessage) event.Event {
	if !c.s.HasDisplayHooks() {
		return e
	}
	shown := c.s.DisplayText(ctx, e.UUID(), d.Response.Message.Text())
	var content llm.Blocks
	for _, b := range d.Response.Message.Content {
		if _, ok := b.(llm.Text); !ok {
			content = append(content, b)
		}
	}
	d.Response.Message.Content = append(llm.Blocks{llm.Text{Text: shown}}, content...)
	e.Data = d
	return e
}

// command runs a command. The facts that it records are shown.
func (c *Chat) command(ctx context.Context, line string) {
	if !c.wait(ctx) {
		return
	}
	c.commands.Lock()
	defer c.commands.Unlock()
	c.slash.Run(ctx, line)
	if !c.running.Load() {
		c.catchUp(ctx)
	}
}

// catchUp shows the facts that were recorded between runs.
func (c *Chat) catchUp(ctx context.Context) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if c.s.Store == nil || last == 0 {
		return
	}
	for e, err := range c.s.Store.Read(ctx, c.s.Session.ID, last) {
		if err != nil {
			return // the next run says it
		}
		last = e.Seq
		if d, ok := e.Data.(event.ModeChanged); ok {
			c.modeChanged(d)
		}
		c.post(e)
	}
	c.mu.Lock()
	c.last = max(c.last, last)
	c.mu.Unlock()
}

// stop ends the run when the person leaves, and waits for it.
func (c *Chat) stop(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		c.runs.Wait()
		close(done)
	}()
	if c.running.Load() {
		_, _ = c.s.Session.Interrupt(ctx)
	}
	select {
	case <-done:
	case <-time.After(leaveTime):
	}
}

// leaveTime is how long a run may take to end when the person leaves.
const leaveTime = 5 * time.Second
