package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/jsonfix"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// partialPause is the least time between two calls of a tool's Partial.
const partialPause = 50 * time.Millisecond

// A partialCall is a call from its first piece until it runs: the tool made for it, its
// status, and its input so far.
type partialCall struct {
	tool   tool.Tool
	board  *callStatus
	wake   chan struct{} // capacity one
	done   chan struct{} // closed when the tool has seen the last input
	mu     sync.Mutex
	input  jsonfix.Reader
	closed bool
}

// A callStatus is the status of a call, shown in snapshots.
type callStatus struct {
	x     *Executor
	id    string // the provider's id of the call
	name  string
	start time.Time // start of the call; zero before
	mu    sync.Mutex
	sum   tool.Status
}

// show merges a report and shows the snapshot.
func (b *callStatus) show(p event.ToolProgress, s tool.Status, to Signals) {
	s.Text, s.Tail = b.x.Secrets.Text(s.Text), b.x.shownTail(s.Tail)
	if !b.start.IsZero() {
		p.Elapsed = time.Since(b.start)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Params, s.Metadata = joined(b.sum.Params, s.Params), joined(b.sum.Metadata, b.x.shownMembers(s.Metadata))
	b.sum = s
	p.ID, p.Tool, p.Status, p.Seq = b.id, b.name, b.sum, b.x.snapshots.Add(1)
	to.Show(p)
}

// maxTail is how many lines of a tail are shown.
const maxTail = 5

// shownTail returns the last lines of a tail, without secrets.
func (x *Executor) shownTail(lines []string) []string {
	lines = slices.Clone(lines[max(0, len(lines)-maxTail):])
	for i := range lines {
		lines[i] = x.Secrets.Text(lines[i])
	}
	return lines
}

// shownMembers returns members without secrets.
func (x *Executor) shownMembers(members map[string]json.RawMessage) map[string]json.RawMessage {
	secrets := x.Secrets.Now()
	var out map[string]json.RawMessage
	for name, m := range members {
		if m = secrets.JSON(m); m != nil {
			if out == nil {
				out = make(map[string]json.RawMessage, len(members))
			}
			out[name] = m
		}
	}
	return out
}

// joined returns a with the members of b, which replace those of the same name.
func joined(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	if len(a) == 0 {
		return b
	}
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// begin notes that the call starts. The returned context lets the tool report its progress.
func (b *callStatus) begin(ctx context.Context, j *Input, start time.Time) context.Context {
	b.start = start
	doing, signals := event.ToolProgress{Call: j.Call.ID, Phase: fact.ToolDoing}, j.Signals
	b.show(doing, tool.Status{}, signals)
	return tool.WithProgress(ctx, func(s tool.Status) { b.show(doing, s, signals) })
}

// end shows the end of the call.
func (b *callStatus) end(j *Input, result *tool.Result) {
	p := event.ToolProgress{Call: j.Call.ID, Phase: fact.ToolSucceeded}
	if result.IsError {
		p.Phase, p.Error = fact.ToolFailed, text.FirstLine(result.Text())
	}
	b.show(p, tool.Status{}, j.Signals)
}

// partialCalls are the calls of one answer while it is written.
type partialCalls struct {
	all     map[int]*partialCall // by index of the content block
	nth     []*partialCall       // in the order of the calls; nil if the call has no draft
	signals Signals
}

// begin starts the draft of a call, if its tool takes partial input.
func (d *partialCalls) begin(ctx context.Context, x *Executor, index int, use llm.ToolUse) {
	t := x.Tool(use.Name)
	if t == nil {
		d.nth = append(d.nth, nil)
		return
	}
	made := instance(t)
	c := &partialCall{tool: made, board: &callStatus{x: x, id: use.ID, name: use.Name}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	d.nth = append(d.nth, c)
	p, ok := made.(toolrun.Partial)
	if !ok || !p.TakesPartial() {
		close(c.done)
		return
	}
	if d.all == nil {
		d.all = map[int]*partialCall{}
	}
	d.all[index] = c
	ctx = tool.WithProgress(ctx, func(s tool.Status) { c.board.show(event.ToolProgress{Phase: fact.ToolWaiting}, s, d.signals) })
	go c.follow(ctx, p)
}

// instance returns the tool for one call.
func instance(t tool.Tool) tool.Tool {
	if f, ok := t.(toolrun.Factory); ok {
		return safecall.Or(f.Make, t)
	}
	return t
}

// add passes on a piece of a call's input.
func (d *partialCalls) add(index int, text string) {
	c := d.all[index]
	if c == nil {
		return
	}
	c.mu.Lock()
	c.input.Add(text)
	c.mu.Unlock()
	c.rouse()
}

// end shows the tools the whole input and waits for them. If a tool does not return, its
// draft is dropped and the call gets a new instance.
func (d *partialCalls) end(ctx context.Context) {
	for _, c := range d.all {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.rouse()
	}
	if len(d.all) == 0 {
		return
	}
	late := time.NewTimer(Grace)
	defer late.Stop()
	for _, c := range d.all {
		select {
		case <-c.done:
			continue
		case <-ctx.Done():
		case <-late.C:
			late.Reset(0)
		}
		d.nth[slices.Index(d.nth, c)] = nil
	}
}

func (c *partialCall) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// follow shows the tool its growing input, with pauses.
func (c *partialCall) follow(ctx context.Context, p toolrun.Partial) {
	defer close(c.done)
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		input, last := json.RawMessage(bytes.Clone(c.input.JSON())), c.closed
		c.mu.Unlock()
		if len(input) > 0 {
			safecall.Or(func() struct{} { p.Partial(ctx, input); return struct{}{} }, struct{}{})
		}
		if last {
			return
		}
		select {
		case <-time.After(partialPause):
		case <-ctx.Done():
			return
		}
	}
}

// Drafts holds the calls of answers from their first piece until they run. It is safe for
// concurrent use.
type Drafts struct {
	mu      sync.Mutex
	key     string                  // key of the answer being written
	attempt *partialCalls           // its calls
	calls   map[string]*partialCall // calls of the last answer that have not run, by call id
}

// keep keeps the drafts of an attempt until its answer is on record.
func (d *Drafts) keep(key string, calls *partialCalls) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key, d.attempt = key, calls // drafts of an earlier attempt are dropped
}

// Adopt assigns the drafts of an answer to its calls.
func (d *Drafts) Adopt(key string, t *engine.Transcript) {
	d.mu.Lock()
	defer d.mu.Unlock()
	written := d.attempt
	clear(d.calls)
	d.attempt = nil
	if written == nil || d.key != key || len(written.nth) == 0 {
		return
	}
	for i, id := range t.Calls() {
		if i < len(written.nth) && written.nth[i] != nil {
			if d.calls == nil {
				d.calls = map[string]*partialCall{}
			}
			d.calls[id] = written.nth[i]
		}
	}
}

// drop drops the drafts of a tool.
func (d *Drafts) drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, c := range d.calls {
		if c.board.name == name {
			delete(d.calls, id)
		}
	}
}

// take removes and returns the draft of a call, nil if there is none.
func (d *Drafts) take(id string) *partialCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	delete(d.calls, id)
	return c
}

// drafted returns the tool for a call that is about to run, and its status. The status is
// nil without a reader.
func (x *Executor) drafted(j *Input) (tool.Tool, *callStatus) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t, b := tool.Tool(nil), (*callStatus)(nil)
	if c := x.Drafts.take(j.Call.ID); c != nil {
		t, b = c.tool, c.board
	} else {
		t = instance(x.tools[j.Call.Name])
	}
	switch {
	case !j.Signals.Watched():
		b = nil
	case b == nil:
		b = &callStatus{x: x, id: j.ID, name: j.Call.Name}
	}
	return t, b
}
